"""Any callable of the user's own as a model: `(rules, input) -> str | dict`, plain or asynchronous."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any

from dragoman.aside import Aside
from dragoman.errors import LLMError, LLMTimeout, LLMUnavailable, LLMUnreadable
from dragoman.llm.reading import clean, read
from dragoman.llm.schema import misfit
from dragoman.protocols import Prompt, Reply

MOST_THREADS = 32  # of one callable at once: hung ones cannot be ended, so there must be an end to them


class Called:
    """A model made of a function.

    It is given the rules and the input, and gives the reply's text, which is read as any model's,
    or the value itself. A coroutine function runs on the loop and can be cut. A plain function runs
    in a daemon thread, so that a leash can leave it: the thread goes on until the function returns,
    and while `MOST_THREADS` of them hang, further calls fail at once.

    `LLM` and `Writer`; as a writer the function may also return an asynchronous iterable of text.
    """

    def __init__(self, function: Callable[[str, str], Any], name: str = "") -> None:
        self.function = function
        self.name = name or f"callable:{getattr(function, '__name__', type(function).__name__)}"
        self._threads = Aside(f"asking {self.name}", MOST_THREADS)

    def __repr__(self) -> str:
        return f"<{self.name}>"

    async def __call__(self, prompt: Prompt) -> Reply:
        """The function's value.

        Raises:
            LLMUnreadable: it does not fit the schema.
            LLMTimeout: the function raised TimeoutError.
            LLMUnavailable: it raised anything else that is no LLMError.
        """
        given = await self._given(prompt.rules, prompt.input)
        if isinstance(given, Reply):
            return given
        if isinstance(given, str):
            return Reply(read(given, prompt.schema), model=self.name)
        wrong = misfit(given, prompt.schema)
        if wrong:
            raise LLMUnreadable(f"{self.name} gave another shape than asked for: {wrong}")
        return Reply(clean(given), model=self.name)

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:  # noqa: ARG002 - the seam's
        """The function's text: in its own pieces if it gives them, else in one.

        Raises:
            LLMError: as `__call__`.
        """
        given = await self._given(rules, input)
        if isinstance(given, str):
            yield given
        elif isinstance(given, AsyncIterable):
            try:
                async for piece in given:
                    yield piece
            except Exception as error:  # the user's code, as in _given
                raise self._mapped(error) from error
        else:
            raise LLMUnreadable(f"{self.name} gave {type(given).__name__}; an answer is text")

    async def _given(self, rules: str, given: str) -> Any:
        try:
            called = getattr(self.function, "__call__", None)  # noqa: B004 - an object's own method is looked at
            if inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(called):
                return await self.function(rules, given)
            value = self.function(rules, given) if _is_generator(self.function) else await self._aside(rules, given)
            return await value if inspect.isawaitable(value) else value
        except Exception as error:  # the user's code may raise anything; at this edge it becomes ours
            raise self._mapped(error) from error

    def _mapped(self, error: Exception) -> LLMError:
        if isinstance(error, LLMError):
            return error
        if isinstance(error, TimeoutError):
            return LLMTimeout(f"{self.name} gave up waiting")
        return LLMUnavailable(f"{self.name} raised {type(error).__name__}")

    async def _aside(self, rules: str, given: str) -> Any:
        if self._threads.crowded:
            raise LLMUnavailable(
                f"{self.name}: {MOST_THREADS} calls of it still hang; it is not called again until one ends"
            )
        return await self._threads(self.function, rules, given)


def _is_generator(function: Any) -> bool:
    return inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(getattr(function, "__call__", None))  # noqa: B004

"""A scripted model, and the contract of a model."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

from dragoman.errors import LLMError, LLMUnavailable
from dragoman.llm.open import close
from dragoman.llm.reading import read
from dragoman.llm.schema import misfit
from dragoman.protocols import LLM, Prompt, Reply
from dragoman.testing.retrieval import must, run
from dragoman.types import Usage

PROMPT = Prompt(
    name="contract",
    rules="Reply with the searches that a vehicle code would use for the question.",
    input="whats the fastest i can go on a residential street with no sign",
    schema={
        "type": "object",
        "properties": {
            "about_the_corpus": {"type": "boolean"},
            "searches": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["about_the_corpus", "searches"],
        "additionalProperties": False,
    },
)


class ScriptedModel:
    """A model that gives its turns in order; the last one answers all that follow.

    A turn is a value; a text, read as a model's reply is; an exception, raised; or a function of
    the prompt that gives one of these. `LLM` and `Writer` (a text, or any value's JSON, is written
    in pieces).

    Attributes:
        prompts: what it was asked, in order.
    """

    def __init__(self, *turns: Any, name: str = "scripted", after: float = 0.0, usage: Usage | None = None) -> None:
        self._turns = list(turns)
        self.name = name
        self.after = after
        self.usage = usage or Usage()
        self.prompts: list[Prompt] = []

    def __repr__(self) -> str:
        return f"<{self.name}, asked {self.calls} times>"

    @property
    def calls(self) -> int:
        """How many times it was asked."""
        return len(self.prompts)

    async def __call__(self, prompt: Prompt) -> Reply:
        """The next turn's value, `after` seconds later.

        Raises:
            LLMUnreadable: the turn is a text that does not fit the schema.
            BaseException: the turn itself, where it is one.
        """
        turn = await self._next(prompt)
        value = read(turn, prompt.schema) if isinstance(turn, str) else turn
        return Reply(value, self.usage, self.name)

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:
        """The next turn's text, word by word.

        Raises:
            BaseException: the turn itself, where it is one.
        """
        turn = await self._next(Prompt("answer", rules, input, {"type": "string"}, max_tokens))
        for number, word in enumerate(str(turn).split(" ")):
            yield f" {word}" if number else word

    async def _next(self, prompt: Prompt) -> Any:
        self.prompts.append(prompt)
        await asyncio.sleep(self.after)
        if not self._turns:
            raise LLMUnavailable(f"{self.name} has no turn to give; script at least one")
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        if callable(turn) and not isinstance(turn, type):
            turn = turn(prompt)
        if isinstance(turn, BaseException) or (isinstance(turn, type) and issubclass(turn, BaseException)):
            raise turn
        return turn


def check_llm(llm: LLM, *, prompt: Prompt = PROMPT, broken: Callable[[], LLM] | None = None) -> None:
    """Check a model against the contract of `dragoman.protocols.LLM`.

    Args:
        llm: asked `prompt` nine times, eight of them at once; must answer.
        prompt: what it is asked; its schema is what the value must fit.
        broken: makes the same model so that it cannot answer (a wrong address, a stub that fails);
            it must raise LLMError and nothing else.

    Raises:
        AssertionError: what was asked, what came back and what was expected.
    """
    run(_check(llm, prompt, broken))


async def _check(llm: LLM, prompt: Prompt, broken: Callable[[], LLM] | None) -> None:
    must(isinstance(llm, LLM), "a model has a `name` and is called with a Prompt")
    must(llm.name, "a model's `name` is a text, not empty")
    try:
        await _answers(llm, prompt)
    finally:
        await close(llm)
    if broken is not None:
        await _check_broken(broken(), prompt)


async def _answers(llm: LLM, prompt: Prompt) -> None:
    await _ask(llm, prompt)
    for reply in await asyncio.gather(*(_ask(llm, prompt) for _ in range(8))):
        must(reply.usage.tokens_in >= 0, f"{llm.name} counted {reply.usage.tokens_in} tokens in, below 0")
        must(reply.usage.tokens_out >= 0, f"{llm.name} counted {reply.usage.tokens_out} tokens out, below 0")
    await _cut(llm, prompt)


async def _ask(llm: LLM, prompt: Prompt) -> Reply:
    asked = f"{llm.name}({prompt.name!r})"
    given = llm(prompt)
    must(inspect.isawaitable(given), f"{asked} gave a {type(given).__name__}; a model is asked with a coroutine")
    try:
        reply = await given
    except Exception as error:  # whatever it is, this model was to answer
        raise AssertionError(f"{asked} raised {type(error).__name__}: {error}; expected a Reply") from error
    must(isinstance(reply, Reply), f"{asked} gave a {type(reply).__name__}, not a Reply")
    wrong = misfit(reply.value, prompt.schema)
    must(not wrong, f"{asked} gave a value of another shape than its schema: {wrong}; raise LLMUnreadable instead")
    return reply


async def _cut(llm: LLM, prompt: Prompt) -> None:
    """Cancelled at once and after a while, it ends with CancelledError or an answer, and leaves no task."""
    before = asyncio.all_tasks()
    for pause in (0.0, 0.001):
        call = asyncio.create_task(_ask(llm, prompt))
        await asyncio.sleep(pause)
        call.cancel()
        ended, _ = await asyncio.wait({call}, timeout=1.0)
        must(ended, f"{llm.name} was cancelled and still runs a second later; let CancelledError through")
        if not call.cancelled():
            call.result()
    await asyncio.sleep(0.05)
    left = asyncio.all_tasks() - before
    must(not left, f"{llm.name} was cancelled and left {len(left)} tasks behind")


async def _check_broken(llm: LLM, prompt: Prompt) -> None:
    try:
        reply = await llm(prompt)
    except LLMError as error:
        must(str(error), f"{llm.name} raised {type(error).__name__} without a message; say what was found")
        must(prompt.input not in str(error), f"{llm.name}: the error's message quotes the question; logs would hold it")
    except Exception as error:  # anything else would lose a question
        raise AssertionError(
            f"{llm.name}, broken, raised {type(error).__name__}; map it to an LLMError, `from exc`"
        ) from error
    else:
        raise AssertionError(f"{llm.name}, broken, gave {type(reply).__name__}; failure is an exception")
    finally:
        await close(llm)

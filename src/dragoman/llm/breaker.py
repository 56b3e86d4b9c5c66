"""A circuit breaker: a model that keeps failing is not asked for a while, so that nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from dragoman.deadline import remaining
from dragoman.errors import LLMError, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreadable
from dragoman.protocols import LLM, Prompt, Reply

State: TypeAlias = Literal["closed", "open", "half-open"]


class Breaker:
    """The same model behind a breaker.

    Closed, every call goes through. After `failures` in a row (timeouts, unavailable) it opens and
    calls fail at once. `seconds` later one call is let through as a probe (half-open): if it is
    answered the breaker closes, if it fails the wait begins anew. A reply that cannot be read and a
    refusal are answers: the model is there. A failure is never asked again on the asker's time.

    Args:
        llm: what is guarded, its leash included.
        failures: in a row, until it opens; at least 1.
        seconds: it stays open.
        clock: seconds on any monotonic scale.
    """

    def __init__(
        self, llm: LLM, failures: int = 5, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if failures < 1:
            raise ValueError(f"a breaker opens after 1 failure or more, not {failures}")
        self.llm = llm
        self.failures = failures
        self.seconds = seconds
        self._clock = clock
        self._in_a_row = 0
        self._opened: float | None = None
        self._probing = False

    def __repr__(self) -> str:
        return f"<{self.name}, breaker {self.state}>"

    @property
    def name(self) -> str:
        """The model's."""
        return self.llm.name

    @property
    def state(self) -> State:
        """`closed`: asked as usual. `open`: not asked. `half-open`: the next call is, or one is being, a probe."""
        if self._opened is None:
            return "closed"
        return "open" if self.wait > 0 else "half-open"

    @property
    def wait(self) -> float:
        """Seconds until the next probe; 0 when closed or when one may go."""
        return 0.0 if self._opened is None else max(0.0, self._opened + self.seconds - self._clock())

    async def __call__(self, prompt: Prompt) -> Reply:
        """The model's value.

        Raises:
            LLMUnavailable: the breaker is open; the message says when the next probe goes.
            LLMError: what the model raised.
        """
        if remaining() == 0:  # says nothing about the model, so it does not count
            raise LLMTimeout(f"no time was left to ask {self.name}")
        probe = self._opened is not None
        if probe:
            self._let_through()
        try:
            reply = await self.llm(prompt)
        except (LLMRefused, LLMUnreadable):
            self._answered()
            raise
        except LLMError:
            self._failed()
            raise
        finally:
            if probe:
                self._probing = False
        self._answered()
        return reply

    def _let_through(self) -> None:
        wait = self.wait
        if wait > 0 or self._probing:
            when = f"in {wait:.0f} s" if wait >= 1 else "within a second" if wait > 0 else "under way"
            raise LLMUnavailable(f"circuit open: {self.name} failed {self._in_a_row} times in a row; next probe {when}")
        self._probing = True

    def _answered(self) -> None:
        self._in_a_row, self._opened = 0, None

    def _failed(self) -> None:
        self._in_a_row += 1
        if self._in_a_row >= self.failures:
            self._opened = self._clock()

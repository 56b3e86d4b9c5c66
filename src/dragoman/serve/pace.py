"""How far a process runs behind, and what it leaves out then: the model's part, before anybody waits for it."""

from __future__ import annotations

import asyncio
import time

from dragoman.errors import RewriteSkipped
from dragoman.protocols import LLM, Prompt, Reply

TICK = 0.02  # seconds
SHARE = 0.3  # of the newest tick; a burst of a few questions is no rush


class Pace:
    """How late this process's event loop comes round to what is due.

    Attributes:
        behind: seconds, smoothed over some ten ticks. A question comes round a dozen times until it is answered.
    """

    def __init__(self) -> None:
        self.behind = 0.0

    async def watch(self) -> None:
        """Keep `behind` up to date until cancelled."""
        while True:
            due = time.monotonic() + TICK
            await asyncio.sleep(TICK)
            self.behind += SHARE * (time.monotonic() - due - self.behind)


class Spared:
    """A model that is left out while the process runs behind: asking it and searching what it says is half the work.

    Args:
        llm: the model, its leash and breaker included.
        pace: of the process.
        most: seconds behind, beyond which it is not asked.
    """

    def __init__(self, llm: LLM, pace: Pace, most: float) -> None:
        self.llm, self._pace, self._most = llm, pace, most

    @property
    def name(self) -> str:
        """The model's."""
        return self.llm.name

    @property
    def state(self) -> str:
        """Its breaker's; empty where there is none."""
        return str(getattr(self.llm, "state", ""))

    async def __call__(self, prompt: Prompt) -> Reply:
        """The model's value.

        Raises:
            RewriteSkipped: the process runs behind.
            LLMError: what the model raised.
        """
        if self._pace.behind > self._most:
            late = f"{self._pace.behind * 1000:.0f} ms"
            raise RewriteSkipped(f"this service runs {late} behind, so {self.name} was left out")
        return await self.llm(prompt)

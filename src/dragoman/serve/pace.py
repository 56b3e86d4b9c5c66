"""How far a process runs behind, and what gives way then: the model's part first, then new questions."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from dragoman.errors import RewriteSkipped
from dragoman.protocols import LLM, Prompt, Reply

TICK = 0.02  # seconds
SHARE = 0.3  # of the newest tick
# How much of one tick's lateness counts, in limits: a single stall, however long, is no rush; it takes four in a row.
MOST_OF_ONE = 1.5
LOST = 20  # limits; a process that comes round so late, time after time, takes no more questions until it has caught up
LOOKS = 3


class Pace:
    """How late this process's event loop comes round to what is due.

    Args:
        most: seconds behind, beyond which the process is in a rush; 0: it never is.

    Attributes:
        behind: seconds, smoothed over some ten ticks. A question comes round a dozen times until it is answered.
        late: seconds, the least of the last three ticks' lateness.
    """

    def __init__(self, most: float) -> None:
        self.most, self.behind, self.late = most, 0.0, 0.0

    @property
    def rushed(self) -> bool:
        """Whether what can be left out is to be left out."""
        return 0 < self.most < self.behind

    @property
    def lost(self) -> bool:
        """Whether even what cannot be left out is too much."""
        return 0 < LOST * self.most < self.late

    async def watch(self) -> None:
        """Keep both up to date until cancelled."""
        last = deque([0.0] * LOOKS, LOOKS)
        while True:
            due = time.monotonic() + TICK
            await asyncio.sleep(TICK)
            now = time.monotonic() - due
            self.behind += SHARE * (min(now, MOST_OF_ONE * self.most) - self.behind)
            last.append(now)
            self.late = min(last)


class Spared:
    """A model that is left out while the process runs behind: asking it and searching what it says is half the work.

    Args:
        llm: the model, its leash and breaker included.
        pace: of the process.
    """

    def __init__(self, llm: LLM, pace: Pace) -> None:
        self.llm, self._pace = llm, pace

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
        if self._pace.rushed:
            late = f"{self._pace.behind * 1000:.0f} ms"
            raise RewriteSkipped(f"this service runs {late} behind, so {self.name} was left out")
        return await self.llm(prompt)

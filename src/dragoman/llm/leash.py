"""A total deadline around a model. No SDK's `timeout` is one: each of those begins anew with every byte."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection
from weakref import WeakKeyDictionary

from dragoman.deadline import remaining
from dragoman.errors import LLMTimeout, LLMUnavailable
from dragoman.llm.progress import Progress, follow
from dragoman.protocols import LLM, Prompt, Reply

MARGIN = 0.02  # seconds before the question's own end at which a call is cut, so that what it hung at is recorded
FEW = 2  # calls cut in one turn of the loop, or a part of those that wait, so that no crowd waits long
_cut_calls: set[asyncio.Task[Reply]] = set()  # kept until they have ended, so that none is lost half way
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, deque[asyncio.Task[Reply]]] = WeakKeyDictionary()


class Leash:
    """The same model, held to `seconds` in all, and to what is left of the question's budget.

    The call is cut from outside: its task is cancelled, which closes its connection. The asker does
    not wait for that: closing takes a good part of a millisecond, and when a hundred calls hang, a
    hundred deadlines fall together. Calls are cut a few a turn of the event loop, behind the askers.
    A call that does not end when cancelled is left behind; nobody waits for it.

    Args:
        llm: what is held.
        seconds: from the asking to the value; above 0.
        hedge_after: seconds of silence after which the same is asked once more; the first good
            answer counts, the other call is cut. None never asks twice. A call that failed is not
            asked again.
    """

    def __init__(self, llm: LLM, seconds: float, hedge_after: float | None = None) -> None:
        if not seconds > 0:
            raise ValueError(f"a leash has seconds above 0, not {seconds}")
        if hedge_after is not None and not 0 <= hedge_after < seconds:
            raise ValueError(f"hedge_after lies between 0 and the leash's {seconds} seconds, not at {hedge_after}")
        self.llm = llm
        self.seconds = seconds
        self.hedge_after = hedge_after

    def __repr__(self) -> str:
        return f"<{self.name} within {self.seconds:g} s>"

    @property
    def name(self) -> str:
        """The model's."""
        return self.llm.name

    async def __call__(self, prompt: Prompt) -> Reply:
        """The model's value.

        Raises:
            LLMTimeout: none came in time.
            LLMError: what the model raised.
        """
        left = remaining()
        seconds = self.seconds if left is None else min(self.seconds, left - MARGIN)
        if seconds <= 0:
            raise LLMTimeout(f"no time was left to ask {self.name}")
        calls: set[asyncio.Task[Reply]] = set()
        try:
            return await self._first(prompt, seconds, calls)
        finally:
            _cut(calls)

    async def _first(self, prompt: Prompt, seconds: float, calls: set[asyncio.Task[Reply]]) -> Reply:
        now = asyncio.get_running_loop().time
        until = now() + seconds
        hedge_at = until if self.hedge_after is None else min(until, now() + self.hedge_after)
        progress = Progress()
        calls.add(self._call(prompt, progress))
        while True:
            ended, _ = await asyncio.wait(calls, timeout=hedge_at - now(), return_when=asyncio.FIRST_COMPLETED)
            calls -= ended
            failures = [_failure(call) for call in ended]
            good = next((call for call, failed in zip(ended, failures, strict=True) if failed is None), None)
            if good is not None:
                return good.result()
            if failures and failures[0] is not None and not calls:
                raise failures[0]
            if not ended and hedge_at >= until:
                hung = f" {progress.waits_for}" if progress.waits_for else ""
                raise LLMTimeout(f"{self.name} did not answer within {seconds:.3g} s and was cut{hung}")
            if not ended:
                hedge_at = until
                calls.add(self._call(prompt, progress))

    def _call(self, prompt: Prompt, progress: Progress) -> asyncio.Task[Reply]:
        return asyncio.create_task(_asked(self.llm, prompt, progress), name=f"asking {self.name}")


async def _asked(llm: LLM, prompt: Prompt, progress: Progress) -> Reply:
    follow(progress)
    return await llm(prompt)


def _failure(call: asyncio.Task[Reply]) -> BaseException | None:
    if call.cancelled():
        return LLMUnavailable("the call was cancelled by something else than its leash")
    return call.exception()


def _cut(calls: Collection[asyncio.Task[Reply]]) -> None:
    """Have what still runs cancelled, a few a turn of the loop."""
    if not calls:
        return
    loop = asyncio.get_running_loop()
    queue = _queues.setdefault(loop, deque())
    if not queue:
        loop.call_soon(_cut_next, loop)
    for call in calls:
        call.add_done_callback(_ended)
        queue.append(call)
        _cut_calls.add(call)


def _cut_next(loop: asyncio.AbstractEventLoop) -> None:
    queue = _queues[loop]
    for _ in range(min(len(queue), max(FEW, len(queue) // 32))):
        queue.popleft().cancel()
    if queue:
        loop.call_soon(_cut_next, loop)


def _ended(call: asyncio.Task[Reply]) -> None:
    _cut_calls.discard(call)
    if not call.cancelled():
        call.exception()  # looked at, so that nothing is logged about a call that nobody waits for


async def closed(seconds: float = 1.0) -> None:
    """Wait until every call that was cut on this loop has closed its connection, `seconds` at most."""
    loop = asyncio.get_running_loop()
    calls = [call for call in _cut_calls if call.get_loop() is loop]
    if calls:
        await asyncio.wait(calls, timeout=seconds)

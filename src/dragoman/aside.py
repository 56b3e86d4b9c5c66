"""Plain functions that wait for something, run beside the event loop so that a deadline can leave them.

The event loop's own executor will not do: its few threads are shared, so that one engine that hangs
takes them all, and a process waits for them at its end.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
MOST_THREADS = 32  # of one function's owner; a call that finds all of them taken waits for one
IDLE = 2.0  # seconds that a thread waits for more work before it ends


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    context: Context
    function: Callable[..., Any]
    arguments: tuple[object, ...]


class Aside:
    """Daemon threads, `most` at most, that run functions for whichever event loop asks.

    A call that is cancelled goes on in its thread until the function returns; nobody waits for it,
    at the process's end neither. One that has not begun is dropped.
    """

    def __init__(self, name: str, most: int = MOST_THREADS) -> None:
        if most < 1:
            raise ValueError(f"at least 1 thread is needed, not {most}")
        self.name = name
        self.most = most
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._open = 0  # open: calls taken in whose function has not ended

    @property
    def crowded(self) -> bool:
        """Whether every thread is taken, so that a call would wait for one."""
        return self._open >= self.most

    async def __call__(self, function: Callable[..., T], *arguments: object) -> T:
        """The function's value; whatever it raises.

        Raises:
            RuntimeError: it raised what a future cannot carry, or what would end the event loop.
        """
        loop = asyncio.get_running_loop()
        job = _Job(loop, loop.create_future(), copy_context(), function, arguments)
        with self._lock:
            self._jobs.put(job)
            self._open += 1
            grow = self._threads < min(self._open, self.most)
            self._threads += grow
        if grow:
            threading.Thread(target=self._work, name=f"dragoman {self.name}", daemon=True).start()
        value: T = await job.answer
        return value

    def _work(self) -> None:
        while (job := self._next()) is not None:
            value, failed = (None, None) if job.answer.cancelled() else _run(job)
            with self._lock:
                self._open -= 1  # before its caller knows: one that calls again at once finds this thread free
            _hand_over(job, value, failed)
            job = value = failed = None  # an idle thread keeps no question alive

    def _next(self) -> _Job | None:
        """The next job, waited for; None after `IDLE` seconds without one, and the thread is to end."""
        with suppress(queue.Empty):
            return self._jobs.get(timeout=IDLE)
        with self._lock:
            with suppress(queue.Empty):
                return self._jobs.get_nowait()  # it came in between, and counts on this thread
            self._threads -= 1
            return None


def _run(job: _Job) -> tuple[object, Exception | None]:
    """The function's value, and what it failed with."""
    try:
        return job.context.run(job.function, *job.arguments), None
    except BaseException as error:  # handed over to whoever waits
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            return None, error
        failed = RuntimeError(f"{type(error).__name__}: {error}")
        failed.__cause__ = error
        return None, failed


def _hand_over(job: _Job, value: object, failed: Exception | None) -> None:
    def settle() -> None:
        if job.answer.done():  # left at its deadline
            return
        if failed is not None:
            job.answer.set_exception(failed)
        else:
            job.answer.set_result(value)

    try:
        job.loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop has closed meanwhile: nobody waits
        return

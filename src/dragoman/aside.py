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
        self._threads = self._idle = 0

    async def __call__(self, function: Callable[..., T], *arguments: object) -> T:
        """The function's value; whatever it raises."""
        loop = asyncio.get_running_loop()
        job = _Job(loop, loop.create_future(), copy_context(), function, arguments)
        with self._lock:
            self._jobs.put(job)
            woken = self._idle > 0
            grow = not woken and self._threads < self.most
            self._idle -= woken  # by who wakes it: what it counts is threads that nobody has given work yet
            self._threads += grow
        if grow:
            threading.Thread(target=self._work, name=f"dragoman {self.name}", daemon=True).start()
        value: T = await job.answer
        return value

    def _work(self) -> None:
        while (job := self._next()) is not None:
            if not job.answer.cancelled():
                _run(job)
            job = None  # an idle thread keeps no question alive

    def _next(self) -> _Job | None:
        """The next job, waited for; None after `IDLE` seconds without one, and the thread is to end."""
        with self._lock:
            job = self._taken()
            self._idle += job is None
        if job is not None:
            return job
        with suppress(queue.Empty):
            return self._jobs.get(timeout=IDLE)
        with self._lock:
            job = self._taken()  # it came in between, and woke this thread
            if job is None:
                self._idle = max(0, self._idle - 1)
                self._threads -= 1
            return job

    def _taken(self) -> _Job | None:
        with suppress(queue.Empty):
            return self._jobs.get_nowait()
        return None


def _run(job: _Job) -> None:
    value: object = None
    failed: BaseException | None = None
    try:
        value = job.context.run(job.function, *job.arguments)
    except StopIteration as error:  # a future cannot carry one
        failed = RuntimeError(f"StopIteration: {error}")
        failed.__cause__ = error
    except BaseException as error:  # handed over as it is to whoever waits
        failed = error

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

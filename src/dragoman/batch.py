"""Many questions at once: bounded concurrency, answers in the order of the questions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TypeVar

from dragoman.errors import DragomanError

Q = TypeVar("Q")
A = TypeVar("A")
CONCURRENCY = 16  # enough to hide a model's latency; few enough for a provider's rate limit


async def in_order(
    work: Callable[[Q], Awaitable[A]], questions: Iterable[Q], concurrency: int = CONCURRENCY
) -> AsyncGenerator[tuple[Q, A | DragomanError], None]:
    """Each question with its answer, in order; one that fails comes with its error and stops nothing.

    `questions` is read no further than `concurrency` ahead, so a log of any length fits in memory.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is at least 1, not {concurrency}")

    async def one(question: Q) -> A | DragomanError:
        try:
            return await work(question)
        except DragomanError as error:
            return error

    under_way: deque[tuple[Q, asyncio.Task[A | DragomanError]]] = deque()
    try:
        for question in questions:
            under_way.append((question, asyncio.create_task(one(question))))
            if len(under_way) >= concurrency:
                asked, task = under_way.popleft()
                yield asked, await task
        while under_way:
            asked, task = under_way.popleft()
            yield asked, await task
    finally:
        for _, task in under_way:
            task.cancel()

"""Many questions come back in order, whatever each takes and whichever fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from dragoman.batch import in_order
from dragoman.errors import DragomanError, QuestionError


async def work(number: int) -> int:
    await asyncio.sleep(0.02 if number % 3 == 0 else 0)
    if number == 5:
        raise QuestionError("five")
    return number * 10


async def test_answers_come_in_the_order_of_the_questions_with_errors_in_place() -> None:
    got = [pair async for pair in in_order(work, range(10), concurrency=4)]
    assert [asked for asked, _ in got] == list(range(10))
    assert isinstance(got[5][1], DragomanError)
    assert [answer for asked, answer in got if asked != 5] == [n * 10 for n in range(10) if n != 5]


async def test_a_log_of_any_length_is_read_only_a_little_ahead() -> None:
    read = 0

    def questions() -> Iterator[int]:
        nonlocal read
        for number in range(1, 1000):
            read += 1
            yield number

    running = in_order(work, questions(), concurrency=4)
    await anext(running)
    assert read <= 4
    await running.aclose()


async def test_a_concurrency_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        await anext(in_order(work, [1], concurrency=0))

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from contextvars import ContextVar

import pytest

from dragoman.aside import IDLE, Aside

WORD: ContextVar[str] = ContextVar("word", default="")


async def test_a_function_runs_in_another_thread_with_the_callers_context() -> None:
    WORD.set("mine")
    ran, word = await Aside("a")(lambda: (threading.current_thread(), WORD.get()))
    assert ran is not threading.current_thread()
    assert ran.daemon
    assert word == "mine"


async def test_what_it_raises_comes_back() -> None:
    aside = Aside("a")
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 / 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await aside(lambda: next(iter(())))
    assert await aside(lambda x: x, 7) == 7


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_what_would_end_the_event_loop_or_cancel_its_caller_comes_back_as_an_error(error: BaseException) -> None:
    def fails() -> None:
        raise error

    with pytest.raises(RuntimeError, match=type(error).__name__) as caught:
        await Aside("a")(fails)
    assert caught.value.__cause__ is error


async def test_it_is_crowded_while_every_thread_is_taken_and_no_longer() -> None:
    aside, free = Aside("a", most=2), threading.Event()
    calls = [asyncio.create_task(aside(free.wait, 20)) for _ in range(2)]
    crowded = [aside.crowded]
    await asyncio.sleep(0.02)
    calls[0].cancel()  # its function goes on
    await asyncio.sleep(0.02)
    crowded.append(aside.crowded)
    free.set()
    await calls[1]
    await aside(int)
    for _ in range(100):
        await asyncio.gather(aside(int), aside(int))
        crowded.append(aside.crowded)
    assert crowded == [False, True, *[False] * 100]


async def test_a_few_threads_serve_calls_that_come_one_after_another() -> None:
    aside = Aside("a")
    names = {await aside(threading.get_ident) for _ in range(50)}
    assert len(names) <= 10  # a thread may be on its way back to the queue when the next call comes


async def test_calls_that_hang_leave_others_their_threads_and_the_crowded_wait() -> None:
    free = threading.Event()
    hung, well = Aside("hung", most=2), Aside("well")
    calls = [asyncio.create_task(hung(free.wait, 20)) for _ in range(3)]
    await asyncio.sleep(0.05)
    assert await asyncio.wait_for(well(lambda: "here"), 2) == "here"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(hung(lambda: "no thread is free"), 0.05)
    free.set()
    assert await asyncio.gather(*calls) == [True] * 3


async def test_a_call_that_was_cancelled_before_it_began_is_dropped() -> None:
    aside, free, ran = Aside("a", most=1), threading.Event(), list[str]()
    first = asyncio.create_task(aside(free.wait, 20))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(aside(ran.append, "second"))
    await asyncio.sleep(0.01)
    second.cancel()
    free.set()
    await first
    await aside(ran.append, "third")
    assert ran == ["third"]


async def test_idle_threads_end() -> None:
    before = threading.active_count()
    await asyncio.gather(*(Aside(f"{n}")(time.sleep, 0.01) for n in range(5)))
    until = time.monotonic() + IDLE + 10
    while threading.active_count() > before and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert threading.active_count() <= before


def test_a_process_does_not_wait_for_a_function_that_hangs() -> None:
    program = """
import asyncio, time
from dragoman.aside import Aside
async def main():
    try:
        await asyncio.wait_for(Aside("a")(time.sleep, 60), 0.1)
    except TimeoutError:
        print("left")
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=40, check=True)
    assert done.stdout == "left\n"

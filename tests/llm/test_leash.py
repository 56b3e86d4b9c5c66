from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.deadline import budget
from dragoman.errors import LLMRefused, LLMTimeout, LLMUnavailable
from dragoman.llm.callable import MOST_THREADS, Called
from dragoman.llm.leash import Leash, closed
from dragoman.llm.open import close, open_llm, warm
from dragoman.protocols import LLM, Prompt, Reply
from dragoman.testing import Fault, ScriptedModel, ScriptedServer

PROMPT = Prompt("p", "rules", "input", {"type": "object"})
VALUE = {"a": 1}


async def timed(llm: LLM) -> float:
    began = time.perf_counter()
    with pytest.raises(LLMTimeout):
        await llm(PROMPT)
    return time.perf_counter() - began


async def test_an_answer_in_time_passes_unchanged() -> None:
    reply = await Leash(ScriptedModel(VALUE), 1.0)(PROMPT)
    assert reply == Reply(VALUE, model="scripted")


async def test_a_model_that_is_late_is_cut_at_the_deadline() -> None:
    assert 0.1 <= await timed(Leash(ScriptedModel(VALUE, after=9), 0.1)) < 0.5


async def test_the_questions_budget_bounds_the_leash() -> None:
    with budget(0.1):
        assert await timed(Leash(ScriptedModel(VALUE, after=9), 5.0)) < 0.5


async def test_a_model_is_not_asked_when_no_time_is_left() -> None:
    model = ScriptedModel(VALUE)
    with budget(0.0), pytest.raises(LLMTimeout, match="no time was left"):
        await Leash(model, 5.0)(PROMPT)
    assert model.calls == 0


async def test_a_failure_passes_as_it_is() -> None:
    refusal = LLMRefused("no")
    with pytest.raises(LLMRefused) as caught:
        await Leash(ScriptedModel(refusal), 1.0)(PROMPT)
    assert caught.value is refusal


class Stubborn:
    """Does not end when cancelled, until it is let go."""

    name = "stubborn"

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.ended = False

    async def __call__(self, prompt: Prompt) -> Reply:
        while not self.free.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.free.wait()
        self.ended = True
        raise RuntimeError("nobody waits for this any more")


async def test_a_model_that_does_not_end_when_cancelled_is_left_behind() -> None:
    model = Stubborn()
    assert await timed(Leash(model, 0.05)) < 0.5
    model.free.set()
    await asyncio.sleep(0.01)
    assert model.ended


async def test_a_cancelled_asker_takes_the_call_along() -> None:
    before = asyncio.all_tasks()
    asking = asyncio.create_task(Leash(ScriptedModel(VALUE, after=9), 5.0)(PROMPT))
    await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await closed()
    assert asyncio.all_tasks() == before


class Uneven:
    """Takes as long for each call as it is told."""

    name = "uneven"

    def __init__(self, *seconds: float, fail: int = -1) -> None:
        self.seconds, self.fail, self.calls, self.cut = seconds, fail, 0, 0

    async def __call__(self, prompt: Prompt) -> Reply:
        number = self.calls
        self.calls += 1
        try:
            await asyncio.sleep(self.seconds[number])
        except asyncio.CancelledError:
            self.cut += 1
            raise
        if number == self.fail:
            raise LLMUnavailable("scripted")
        return Reply({"call": number})


async def test_a_silent_model_is_asked_once_more_and_the_first_answer_counts() -> None:
    model = Uneven(9.0, 0.02)
    reply = await Leash(model, 2.0, hedge_after=0.05)(PROMPT)
    await closed()
    assert (reply.value, model.calls, model.cut) == ({"call": 1}, 2, 1)


async def test_a_model_that_answers_before_the_hedge_is_asked_once() -> None:
    model = Uneven(0.01)
    await Leash(model, 2.0, hedge_after=0.5)(PROMPT)
    assert model.calls == 1


async def test_one_of_two_calls_that_fails_does_not_end_the_other() -> None:
    model = Uneven(0.1, 0.3, fail=0)
    reply = await Leash(model, 2.0, hedge_after=0.05)(PROMPT)
    assert reply.value == {"call": 1}


async def test_a_failure_is_not_asked_again() -> None:
    model = Uneven(0.01, 0.01, fail=0)
    with pytest.raises(LLMUnavailable):
        await Leash(model, 2.0, hedge_after=0.5)(PROMPT)
    assert model.calls == 1


async def test_two_silent_calls_are_both_cut_at_the_deadline() -> None:
    model = Uneven(9.0, 9.0)
    assert await timed(Leash(model, 0.2, hedge_after=0.05)) < 0.6
    await closed()
    assert (model.calls, model.cut) == (2, 2)


@pytest.mark.parametrize(("seconds", "hedge"), [(0, None), (-1, None), (float("nan"), None), (1, 1), (1, -0.1)])
def test_a_leash_without_length_is_turned_down(seconds: float, hedge: float | None) -> None:
    with pytest.raises(ValueError, match="leash"):
        Leash(ScriptedModel(VALUE), seconds, hedge)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_a_plain_function_that_hangs_is_left_in_its_thread(release: threading.Event) -> None:
    llm = open_llm(lambda rules, given: release.wait(30) and "{}", seconds=0.1)
    assert await timed(llm) < 0.5


async def test_there_is_an_end_to_threads_that_hang(release: threading.Event) -> None:
    leash = Leash(Called(lambda rules, given: release.wait(30) and "{}"), 0.2)
    results = await asyncio.gather(*(leash(PROMPT) for _ in range(MOST_THREADS + 3)), return_exceptions=True)
    kinds = [type(result) for result in results]
    assert kinds.count(LLMTimeout) == MOST_THREADS
    assert kinds.count(LLMUnavailable) == 3
    release.set()
    for _ in range(100):
        answered = await asyncio.gather(leash(PROMPT), return_exceptions=True)
        if not isinstance(answered[0], LLMUnavailable):
            break
        await asyncio.sleep(0.02)
    assert [reply.value for reply in answered if isinstance(reply, Reply)] == [{}]


def sockets() -> int:
    return sum(1 for fd in Path("/proc/self/fd").iterdir() if _is_socket(fd))


def _is_socket(fd: Path) -> bool:
    try:
        return str(fd.readlink()).startswith("socket:")
    except OSError:
        return False


HANGING = (Fault.HANG_BEFORE_HEADERS, Fault.HANG_AFTER_HEADERS, Fault.DRIP_BODY, Fault.TRICKLE_HEADERS)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts sockets in /proc")  # noqa: PTH112 - a literal
@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_cut_calls_are_closed_on_both_sides(wire: str) -> None:
    with ScriptedServer(*HANGING * 5) as server:
        llm = Leash(open_llm(f"{wire}:m@{getattr(server, wire)}", side_job=False), 0.25)
        await warm(llm)
        before, tasks = sockets(), asyncio.all_tasks()
        results = await asyncio.gather(*(llm(PROMPT) for _ in range(40)), return_exceptions=True)
        assert {type(result) for result in results} == {LLMTimeout}
        await closed()
        for _ in range(100):
            if server.connections == 0 and sockets() == before:
                break
            await asyncio.sleep(0.02)
        assert (server.connections, sockets()) == (0, before)
        assert asyncio.all_tasks() == tasks
        await close(llm)

from __future__ import annotations

import asyncio

import pytest

from dragoman.deadline import budget
from dragoman.errors import LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreadable
from dragoman.llm.breaker import Breaker
from dragoman.protocols import Prompt
from dragoman.testing import ScriptedModel

PROMPT = Prompt("p", "rules", "input", {"type": "object"})
DOWN = LLMUnavailable("down")
VALUE = {"a": 1}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def ask(breaker: Breaker, times: int = 1) -> list[str]:
    said = []
    for _ in range(times):
        try:
            await breaker(PROMPT)
            said.append("ok")
        except Exception as error:
            said.append(str(error))
    return said


async def test_it_opens_after_failures_in_a_row_and_then_fails_at_once() -> None:
    model = ScriptedModel(DOWN)
    breaker = Breaker(model, failures=3, seconds=30, clock=Clock())
    assert await ask(breaker, 2) == ["down", "down"]
    assert str(breaker.state) == "closed"
    assert await ask(breaker) == ["down"]
    assert str(breaker.state) == "open"
    assert await ask(breaker, 2) == ["circuit open: scripted failed 3 times in a row; next probe in 30 s"] * 2
    assert model.calls == 3


async def test_timeouts_count_and_answers_in_between_reset() -> None:
    breaker = Breaker(ScriptedModel(LLMTimeout("t"), VALUE, LLMTimeout("t"), LLMTimeout("t")), failures=2)
    await ask(breaker, 3)
    assert str(breaker.state) == "closed"
    await ask(breaker)
    assert str(breaker.state) == "open"


@pytest.mark.parametrize("answer", [LLMRefused("no"), LLMUnreadable("junk", "x")])
async def test_a_refusal_and_junk_are_answers(answer: Exception) -> None:
    breaker = Breaker(ScriptedModel(DOWN, answer, DOWN, answer), failures=2)
    await ask(breaker, 6)
    assert str(breaker.state) == "closed"


async def test_a_probe_that_is_answered_closes_it() -> None:
    clock = Clock()
    breaker = Breaker(ScriptedModel(DOWN, VALUE), failures=1, seconds=30, clock=clock)
    await ask(breaker)
    clock.now += 29.5
    assert (await ask(breaker))[0].endswith("next probe within a second")
    clock.now += 0.5
    assert str(breaker.state) == "half-open"
    assert await ask(breaker, 2) == ["ok", "ok"]
    assert str(breaker.state) == "closed"


async def test_a_probe_that_fails_begins_the_wait_anew() -> None:
    clock = Clock()
    model = ScriptedModel(DOWN)
    breaker = Breaker(model, failures=2, seconds=30, clock=clock)
    await ask(breaker, 2)
    clock.now += 31
    assert await ask(breaker) == ["down"]
    assert (breaker.state, breaker.wait) == ("open", 30)
    assert model.calls == 3


async def test_one_probe_goes_at_a_time_and_a_cut_one_makes_room() -> None:
    clock = Clock()
    model = ScriptedModel(DOWN, VALUE)
    breaker = Breaker(model, failures=1, seconds=30, clock=clock)
    await ask(breaker)
    clock.now += 31
    model.after = 9
    probe = asyncio.create_task(breaker(PROMPT))
    await asyncio.sleep(0)
    assert (await ask(breaker))[0].endswith("next probe under way")
    probe.cancel()
    await asyncio.wait({probe})
    model.after = 0
    assert await ask(breaker) == ["ok"]


async def test_a_question_without_time_left_says_nothing_about_the_model() -> None:
    model = ScriptedModel(VALUE)
    breaker = Breaker(model, failures=1)
    with budget(0.0), pytest.raises(LLMTimeout, match="no time was left"):
        await breaker(PROMPT)
    assert (breaker.state, model.calls) == ("closed", 0)


async def test_a_defect_is_not_counted_and_not_hidden() -> None:
    breaker = Breaker(ScriptedModel(ZeroDivisionError("a defect")), failures=1)
    with pytest.raises(ZeroDivisionError):
        await breaker(PROMPT)
    assert str(breaker.state) == "closed"
    assert repr(breaker) == "<scripted, breaker closed>"


def test_a_breaker_that_never_closes_is_turned_down() -> None:
    with pytest.raises(ValueError, match="1 failure or more"):
        Breaker(ScriptedModel(VALUE), failures=0)

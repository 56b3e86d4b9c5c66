"""A chain runs steps, records them, and loses nothing."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dragoman.deadline import budget
from dragoman.errors import (
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
    LLMUnreadable,
    RewriteError,
    RewriteRejected,
    RewriteSkipped,
    RewriteTimeout,
)
from dragoman.rewriters.chain import Chain, Together
from dragoman.telemetry import Event, Events
from dragoman.types import Outcome, Rewriting, RuleHit, Search, Usage


@dataclass
class Adds:
    """A local step that adds one search."""

    text: str
    name: str = "adds"

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        return rewriting.add([Search(self.text, self.name)]).note(RuleHit("r", "x"), Usage(1, 2), "because")


@dataclass
class Waits:
    """A step that has to be waited for."""

    seconds: float = 0.0
    error: RewriteError | None = None
    name: str = "waits"

    async def __call__(self, rewriting: Rewriting) -> Rewriting:
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return rewriting.add([Search(self.name, self.name)])


@dataclass
class Fails:
    """A local step that does not answer."""

    error: RewriteError
    name: str = "fails"

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        raise self.error


@dataclass
class Says:
    """A local step that says something of the question itself."""

    off_topic: bool = False
    settled: str = ""
    name: str = "gate"

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        return replace(rewriting, off_topic=self.off_topic, settled=self.settled)


@dataclass
class Enforces(Adds):
    """A local step that the gate does not hold."""

    gated = False


async def finish(chain: Chain | Together, rewriting: Rewriting) -> Rewriting:
    given = chain(rewriting)
    return await given if inspect.isawaitable(given) else given


def test_local_steps_run_where_they_are_called() -> None:
    before = threading.active_count()
    after = Chain([Adds("one"), Adds("two")])(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    assert [search.text for search in after.searches] == ["one", "two"]
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


def test_a_step_is_recorded_with_what_it_noted() -> None:
    after = Chain([Adds("one")])(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    (step,) = after.steps
    assert (step.name, step.outcome, step.before, step.after) == ("adds", Outcome.REWRITTEN, "q", ("one",))
    assert (step.rules, step.usage, step.reason) == ((RuleHit("r", "x"),), Usage(1, 2), "because")
    assert after.notes == ()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (LLMTimeout("t"), Outcome.TIMED_OUT),
        (RewriteTimeout("t"), Outcome.TIMED_OUT),
        (LLMRefused("r"), Outcome.REFUSED),
        (LLMUnreadable("u", "text"), Outcome.UNREADABLE),
        (RewriteRejected("j"), Outcome.REJECTED),
        (RewriteSkipped("s"), Outcome.SKIPPED),
        (LLMUnavailable("a"), Outcome.FAILED),
        (RewriteError("f"), Outcome.FAILED),
    ],
)
async def test_a_step_that_does_not_answer_leaves_all_as_it_was(error: RewriteError, outcome: Outcome) -> None:
    for failing in (Fails(error), Waits(error=error, name="fails")):
        after = await finish(Chain([Adds("one"), failing, Adds("two")]), Rewriting.of("q"))
        assert [search.text for search in after.searches] == ["one", "two"]
        assert (after.steps[1].outcome, after.steps[1].reason) == (outcome, str(error))


async def test_what_was_left_out_on_purpose_is_no_failure_to_whoever_listens(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Event] = []
    await finish(Chain([Waits(error=RewriteSkipped("in a rush"))], events=Events((told.append,))), Rewriting.of("q"))
    assert [event.name for event in told] == ["step.start", "step.stop"]
    assert told[1].attributes["outcome"] is Outcome.SKIPPED
    assert told[1].attributes["rewriting"].steps[-1].reason == "in a rush"
    assert not caplog.records


async def test_any_other_exception_is_a_defect_and_is_raised() -> None:
    class Broken:
        name = "broken"

        def __call__(self, rewriting: Rewriting) -> Rewriting:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await finish(Chain([Waits(), Broken()]), Rewriting.of("q"))


def test_after_off_topic_nothing_runs() -> None:
    after = Chain([Says(off_topic=True), Adds("one"), Enforces("two")])(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    assert after.searches == ()
    assert [step.outcome for step in after.steps] == [Outcome.OFF_TOPIC, Outcome.SKIPPED, Outcome.SKIPPED]


def test_a_settled_question_is_still_held_to_the_rules() -> None:
    after = Chain([Says(settled="clean"), Adds("one"), Enforces("two")])(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    assert [search.text for search in after.searches] == ["two"]
    assert [step.outcome for step in after.steps] == [Outcome.UNCHANGED, Outcome.SKIPPED, Outcome.REWRITTEN]
    assert after.steps[1].reason == "clean"


async def test_steps_together_wait_together_and_join_in_their_order() -> None:
    began = time.monotonic()
    together = Together([Waits(0.2, name="slow"), Adds("one"), Waits(0.2, name="slower"), Fails(RewriteError("no"))])
    after = await finish(Chain([together, Adds("last")]), Rewriting.of("q"))
    assert time.monotonic() - began < 0.38
    assert [search.text for search in after.searches] == ["slow", "one", "slower", "last"]
    assert [step.name for step in after.steps] == ["slow", "adds", "slower", "fails", "adds"]


async def test_what_is_late_is_cut_at_the_budget_and_the_rest_is_kept() -> None:
    began = time.monotonic()
    with budget(0.1):
        after = await finish(Chain([Together([Waits(60, name="late"), Adds("one")]), Adds("two")]), Rewriting.of("q"))
    assert time.monotonic() - began < 1.0
    assert [search.text for search in after.searches] == ["one", "two"]
    assert after.steps[0].outcome is Outcome.TIMED_OUT


def test_local_steps_together_need_no_loop() -> None:
    after = Together([Adds("one"), Adds("two")])(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    assert [search.text for search in after.searches] == ["one", "two"]


async def test_each_step_emits_start_and_stop_or_exception() -> None:
    heard: list[Event] = []
    chain = Chain([Adds("one"), Waits(error=RewriteError("no"))], events=Events((heard.append,)))
    after = await finish(chain, Rewriting.of("q"))
    assert [event.name for event in heard] == ["step.start", "step.stop", "step.start", "step.exception"]
    assert heard[1].attributes["rewriter"] == "adds"
    assert heard[1].attributes["question"] is after.question
    assert heard[1].attributes["rewriting"].searches[0].text == "one"
    assert str(heard[3].attributes["error"]) == "no"


def test_a_listener_that_raises_loses_nothing() -> None:
    def listener(event: Event) -> None:
        raise KeyError(event.name)

    after = Chain([Adds("one")], events=Events((listener,)))(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    assert len(after.searches) == 1


async def test_a_chain_in_a_chain_keeps_one_record() -> None:
    inner = Chain([Waits(name="inner"), Adds("one")], name="inner")
    after = await finish(Chain([inner, Adds("two")]), Rewriting.of("q"))
    assert [step.name for step in after.steps] == ["inner", "adds", "adds"]


def test_a_step_that_weighs_words_alone_is_joined_with_those_beside_it() -> None:
    class Weighs:
        name = "weighs"

        def __call__(self, rewriting: Rewriting) -> Rewriting:
            return replace(rewriting, terms=(("alpha", 2.0),))

    after = Together([Adds("one"), Weighs()])(Rewriting.of("q"))
    assert isinstance(after, Rewriting)
    assert after.terms == (("alpha", 2.0),)


@pytest.mark.parametrize("value", [None, "license", ["license"]])
async def test_a_step_that_gives_no_rewriting_is_told_by_its_name(value: object) -> None:
    class Gives:
        name = "gives"

        def __call__(self, rewriting: Rewriting) -> Any:
            return value

    class Awaits(Gives):
        async def __call__(self, rewriting: Rewriting) -> Any:
            return value

    for step in (Gives(), Awaits()):
        with pytest.raises(TypeError, match=f"rewriter 'gives' returned {type(value).__name__}, not a Rewriting"):
            await finish(Chain([step]), Rewriting.of("q"))

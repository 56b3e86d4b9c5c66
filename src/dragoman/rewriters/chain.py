"""Runs rewriters in order, keeps the record, and is the only place that catches `RewriteError`.

A chain of local steps runs where it is called: no thread, no event loop. From the first step that
has to wait on, it gives back an awaitable for the rest.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Coroutine, Generator, Sequence
from dataclasses import replace
from typing import TypeAlias

from dragoman.deadline import remaining
from dragoman.errors import (
    LLMRefused,
    LLMUnreadable,
    RewriteError,
    RewriteRejected,
    RewriteSkipped,
    RewriteTimeout,
)
from dragoman.protocols import Rewriter
from dragoman.telemetry import Events, Happening, inside, log
from dragoman.types import Outcome, Rewriting, RuleHit, Step, Usage

Run: TypeAlias = Generator["Unfinished", Rewriting, Rewriting]
OUTCOMES: tuple[tuple[type[RewriteError], Outcome], ...] = (
    (RewriteTimeout, Outcome.TIMED_OUT),
    (LLMRefused, Outcome.REFUSED),
    (LLMUnreadable, Outcome.UNREADABLE),
    (RewriteRejected, Outcome.REJECTED),
    (RewriteSkipped, Outcome.SKIPPED),
    (RewriteError, Outcome.FAILED),
)


class Unfinished:
    """A rewriting that has to be waited for.

    Attributes:
        so_far: what it is before the step that is waited for.
    """

    def __init__(self, waiting: Awaitable[Rewriting], so_far: Rewriting) -> None:
        self._waiting, self.so_far = waiting, so_far

    def __await__(self) -> Generator[object, None, Rewriting]:
        return self._waiting.__await__()


class Chain:
    """Rewriters one after another; itself a rewriter.

    A step that raises `RewriteError` leaves the rewriting as it was and its outcome in the record.
    After a step held the question off-topic no other runs; after one settled it, only those with
    `gated = False` do. Each step emits `step.start` and its end, or `step.skipped`; see `dragoman.telemetry`.
    """

    gated = False

    def __init__(self, steps: Sequence[Rewriter], name: str = "chain", events: Events | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name
        self.events = events or Events()

    def __call__(self, rewriting: Rewriting) -> Rewriting | Unfinished:
        """The rewriting after every step; an awaitable of it where a step has to be waited for."""
        return drive(self._run(rewriting))

    def _run(self, rewriting: Rewriting) -> Run:
        for step in self.steps:
            rewriting = yield from turn(step, rewriting, self.events)
        return rewriting


class Together:
    """Rewriters side by side on the same rewriting; what each adds is joined in their order.

    Local ones answer at once; those that wait, wait together, so that the slowest alone is felt.
    """

    gated = False

    def __init__(self, steps: Sequence[Rewriter], name: str = "together", events: Events | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name
        self.events = events or Events()

    def __call__(self, rewriting: Rewriting) -> Rewriting | Unfinished:
        """The rewriting with every step's searches, record and changes."""
        base = replace(rewriting, steps=())
        given = [drive(turn(step, base, self.events)) for step in self.steps]
        if not any(inspect.isawaitable(each) for each in given):
            return _join(rewriting, [each for each in given if isinstance(each, Rewriting)])
        return Unfinished(self._wait(rewriting, given), rewriting)

    async def _wait(self, rewriting: Rewriting, given: Sequence[Rewriting | Awaitable[Rewriting]]) -> Rewriting:
        async def settle(each: Rewriting | Awaitable[Rewriting]) -> Rewriting:
            return await each if inspect.isawaitable(each) else each

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(settle(each)) for each in given]
        return _join(rewriting, [task.result() for task in tasks])


def _join(rewriting: Rewriting, results: Sequence[Rewriting]) -> Rewriting:
    joined = rewriting
    for result in results:
        if (result.query, result.terms) != (rewriting.query, rewriting.terms):
            joined = replace(
                joined,
                rewritten=result.rewritten,
                cleaned=result.cleaned,
                expanded=result.expanded,
                terms=result.terms,
            )
        joined = joined.add(result.searches)
        joined = replace(
            joined,
            off_topic=joined.off_topic or result.off_topic,
            settled=joined.settled or result.settled,
            steps=joined.steps + result.steps,
        )
    return joined


def drive(run: Run) -> Rewriting | Unfinished:
    """Run as far as it goes without waiting; an awaitable of the rest where it has to wait."""
    try:
        waiting = next(run)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # a generator's value is untyped here
    return Unfinished(_drive_on(run, waiting), waiting.so_far)


async def _drive_on(run: Run, waiting: Unfinished) -> Rewriting:
    try:
        while True:
            try:
                value = await waiting
            except BaseException as error:  # the turn lets all but a RewriteError through, and tells who listens
                waiting = run.throw(error)
            else:
                waiting = run.send(value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def _within_budget(waiting: Awaitable[Rewriting], happening: Happening | None) -> Rewriting:
    try:
        with inside(happening):
            async with asyncio.timeout(remaining()) as cut:
                return await waiting
    except TimeoutError as error:
        if not cut.expired():
            raise RewriteTimeout("the rewriter gave up waiting") from error
        raise RewriteTimeout("the question's time was up before the rewriter answered") from error


def turn(step: Rewriter, rewriting: Rewriting, events: Events) -> Run:
    """One step's turn, timed, with its record added."""
    if isinstance(step, Chain):  # its steps keep their own records
        return (yield from step._run(rewriting))
    if isinstance(step, Together):  # likewise, each within the budget
        inner = step(rewriting)
        return (yield inner) if isinstance(inner, Unfinished) else inner
    if (rewriting.off_topic or rewriting.settled) and (getattr(step, "gated", True) or rewriting.off_topic):
        return _skipped(step, rewriting, events)
    happening = None
    if events.listeners:
        happening = events.begin("step", question=rewriting.question, rewriter=step.name, rewriting=rewriting)
    began = time.perf_counter()
    try:
        given = _called(step, rewriting, happening)
        after = given if isinstance(given, Rewriting) else _checked(step, (yield Unfinished(given, rewriting)))
    except RewriteError as error:
        return _unanswered(step, rewriting, error, time.perf_counter() - began, happening)
    except BaseException as error:
        if happening:
            happening.fail(error, outcome=Outcome.FAILED)
        raise
    took = time.perf_counter() - began
    recorded = _record(rewriting, after, step.name, _outcome(rewriting, after), took)
    if happening:
        happening.stop(outcome=recorded.steps[-1].outcome, rewriting=recorded, seconds=took)
    return recorded


def _unanswered(
    step: Rewriter, rewriting: Rewriting, error: RewriteError, took: float, happening: Happening | None
) -> Rewriting:
    """As it was, with the error's outcome in the record."""
    outcome = next(outcome for kind, outcome in OUTCOMES if isinstance(error, kind))
    noted = [note for note in error.notes if isinstance(note, RuleHit | Usage)]
    recorded = _record(rewriting, rewriting.note(*noted), step.name, outcome, took, str(error))
    if outcome is Outcome.SKIPPED:  # on purpose: nothing went wrong
        if happening:
            happening.stop(outcome=outcome, rewriting=recorded, seconds=took)
        return recorded
    log.warning("%s did not answer: %s (%s)", step.name, outcome, type(error).__name__)  # no text in the log
    if happening:
        happening.fail(error, outcome=outcome, rewriting=recorded, seconds=took)
    return recorded


def _called(
    step: Rewriter, rewriting: Rewriting, happening: Happening | None
) -> Rewriting | Coroutine[object, None, Rewriting]:
    with inside(happening):
        given = step(rewriting)
    return _within_budget(given, happening) if inspect.isawaitable(given) else _checked(step, given)


def _checked(step: Rewriter, given: object) -> Rewriting:
    if not isinstance(given, Rewriting):
        raise TypeError(
            f"rewriter {step.name!r} returned {type(given).__name__}, not a Rewriting; "
            "`dragoman.rewriters.lift` makes a rewriter of a function that returns a text or texts"
        )
    return given


def _skipped(step: Rewriter, rewriting: Rewriting, events: Events) -> Rewriting:
    reason = "off-topic" if rewriting.off_topic else rewriting.settled
    recorded = _record(rewriting, rewriting, step.name, Outcome.SKIPPED, 0.0, reason)
    if events:
        events.emit(
            "step.skipped",
            question=rewriting.question,
            rewriter=step.name,
            outcome=Outcome.SKIPPED,
            rewriting=recorded,
            seconds=0.0,
        )
    return recorded


def _outcome(before: Rewriting, after: Rewriting) -> Outcome:
    if after.off_topic and not before.off_topic:
        return Outcome.OFF_TOPIC
    changed = (before.query, before.terms, before.searches) != (after.query, after.terms, after.searches)
    return Outcome.REWRITTEN if changed else Outcome.UNCHANGED


def _record(
    before: Rewriting, after: Rewriting, name: str, outcome: Outcome, seconds: float, reason: str = ""
) -> Rewriting:
    notes = after.notes
    step = Step(
        name,
        outcome,
        before=before.query,
        after=_changes(before, after),
        seconds=seconds,
        reason=reason or "; ".join([*(n for n in notes if isinstance(n, str)), *_newly_settled(before, after)]),
        rules=tuple(n for n in notes if isinstance(n, RuleHit)),
        usage=next((n for n in notes if isinstance(n, Usage)), Usage()),
    )
    return replace(after, steps=(*after.steps, step), notes=())


def _newly_settled(before: Rewriting, after: Rewriting) -> tuple[str, ...]:
    return (after.settled,) if after.settled and not before.settled else ()


def _changes(before: Rewriting, after: Rewriting) -> tuple[str, ...]:
    known = set(before.searches)
    query = (after.query,) if after.query != before.query else ()
    return query + tuple(search.text for search in after.searches if search not in known)

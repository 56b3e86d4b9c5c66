"""Steps that did not answer, counted by question."""

from __future__ import annotations

from dataclasses import replace

from dragoman.evaluate.unanswered import lines, unanswered
from dragoman.types import Outcome, Rewriting, Step


def rewriting(*steps: tuple[str, Outcome]) -> Rewriting:
    made = Rewriting.of("how fast")
    return replace(made, steps=tuple(Step(name, outcome, "how fast") for name, outcome in steps))


def test_questions_are_counted_that_a_step_was_asked_and_did_not_answer() -> None:
    found = unanswered(
        [
            rewriting(("rules", Outcome.UNCHANGED), ("model", Outcome.TIMED_OUT)),
            rewriting(("rules", Outcome.REWRITTEN), ("model", Outcome.UNREADABLE), ("model", Outcome.REWRITTEN)),
            rewriting(("rules", Outcome.REWRITTEN), ("model", Outcome.SKIPPED)),
            rewriting(("rules", Outcome.OFF_TOPIC)),
        ]
    )
    assert dict(found) == {"rules": (0, 4), "model": (2, 2)}
    assert lines({"both": found, "other": {"rules": (0, 4)}}) == ["both: model did not answer 2 of 2 questions"]

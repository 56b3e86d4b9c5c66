"""Which steps did not do their part: how many questions each left without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from dragoman.types import Outcome, Rewriting

Unanswered: TypeAlias = Mapping[str, tuple[int, int]]  # step -> questions it did not answer, of how many it was asked


def unanswered(rewritings: Iterable[Rewriting]) -> Unanswered:
    """Every step that was asked, in the order of the steps; one that was skipped was not asked."""
    asked: Counter[str] = Counter()
    without: Counter[str] = Counter()
    for rewriting in rewritings:
        outcomes: dict[str, list[bool]] = {}
        for step in rewriting.steps:
            if step.outcome is not Outcome.SKIPPED:
                outcomes.setdefault(step.name, []).append(step.outcome.answered)
        asked.update(outcomes.keys())
        without.update(name for name, answers in outcomes.items() if not all(answers))
    return {name: (without[name], count) for name, count in asked.items()}


def said(found: Unanswered) -> Iterator[str]:
    """A phrase a step that left some questions without an answer."""
    for name, (without, asked) in found.items():
        if without:
            yield f"{name} did not answer {without:,} of {asked:,} question{'' if asked == 1 else 's'}"


def lines(arms: Mapping[str, Unanswered]) -> list[str]:
    """A line an arm, for those of which a step did not answer every question."""
    return [f"{arm}: {', '.join(phrases)}" for arm, found in arms.items() if (phrases := list(said(found)))]

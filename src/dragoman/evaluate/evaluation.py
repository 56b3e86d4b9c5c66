"""The meter itself: arms over a collection, every one compared with `raw`, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dragoman.errors import CollectionError
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.compare import Comparison, compare
from dragoman.evaluate.files import Qrels
from dragoman.evaluate.measures import MAIN, MEASURES, UNJUDGED, Values, per_question
from dragoman.evaluate.run import RAW, Answered, Arm, ArmRun, Progress, run_arm

DEPTH = 100  # R@100 needs as many


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model's tokens cost, in the user's money per million."""

    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class Alone:
    """What an arm's steps do, without what its fusion does.

    Attributes:
        reference: the arm of the same fusion without steps.
        comparison: with that arm, in nDCG@10.
        missing: steps that were asked for and had to be left out.
    """

    reference: str
    comparison: Comparison
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm's figures.

    Attributes:
        values: measure name -> its value for every judged question, in the order of `Evaluation.ids`.
        comparison: with `raw`, in nDCG@10; of `raw` with itself, all ties.
        gap_closed: (arm - raw) / (ceiling - raw) in mean nDCG@10; None without a ceiling above raw.
        alone: what its steps do; None for an arm without any, and where no reference was run.
        asked: False: it was run as the reference of others.
    """

    run: ArmRun
    values: Mapping[str, Values] = field(repr=False)
    comparison: Comparison
    gap_closed: float | None = None
    alone: Alone | None = None
    asked: bool = True

    @property
    def name(self) -> str:
        """The arm's name."""
        return self.run.name

    @property
    def idle(self) -> bool:
        """Whether none of its steps ran: each was left out, or left half of its questions without an answer."""
        found = self.run.unanswered.values()
        return self.alone is not None and not self._skipped and all(2 * without >= of for without, of in found)

    @property
    def _skipped(self) -> bool:
        """Whether there are steps, and every one was skipped on purpose."""
        return bool(self.run.outcomes) and not self.run.unanswered

    def mean(self, measure: str = MAIN) -> float:
        """The measure's mean over the judged questions."""
        return float(self.values[measure].mean())

    def milliseconds(self, percentile: float) -> float:
        """Milliseconds within which that percentage of all questions was answered."""
        return float(np.percentile([each.seconds for each in self.run.answered], percentile)) * 1000

    def figures(self, prices: Prices | None = None) -> dict[str, Any]:
        """All of it as plain data, under the names that `--json` and `--fail-if` use."""
        against, usage = self.comparison, self.run.usage
        cost = None
        if prices is not None:
            cost = (usage.tokens_in * prices.tokens_in + usage.tokens_out * prices.tokens_out) / 1e6
        return {
            **{name: self.mean(name) for name in MEASURES},
            **against.figures(),
            "harm": against.harm,
            "gap_closed": self.gap_closed,
            UNJUDGED: self.mean(UNJUDGED),
            "p50_ms": self.milliseconds(50),
            "p99_ms": self.milliseconds(99),
            "outcomes": self.run.outcomes,
            "rules": self.run.rules,
            "tokens": {"in": usage.tokens_in, "out": usage.tokens_out},
            "cost": cost,
            "failed": len(self.run.failures),
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Every arm over one collection.

    Attributes:
        ids: the judged questions, which alone are measured.
        left_out: those without a relevant judgment.
        arms: `raw` first, then in the order given.
        ceiling: mean nDCG@10 of `raw` on the ceiling's questions, where they were given.
    """

    collection: str
    ids: tuple[str, ...]
    left_out: tuple[str, ...]
    arms: Mapping[str, ArmResult]
    ceiling: float | None = None
    qrels: Qrels = field(default_factory=dict, repr=False)

    def relevant(self, identity: str) -> tuple[str, ...]:
        """The documents judged relevant for a question, the highest grade first."""
        grades = self.qrels.get(identity, {})
        return tuple(sorted((d for d, grade in grades.items() if grade > 0), key=lambda d: (-grades[d], d)))

    @property
    def raw(self) -> ArmResult:
        """The arm that rewrites nothing."""
        return self.arms[RAW]

    @property
    def others(self) -> tuple[ArmResult, ...]:
        """The arms compared with `raw`, references among them."""
        return tuple(arm for name, arm in self.arms.items() if name != RAW)

    @property
    def asked(self) -> tuple[ArmResult, ...]:
        """Those that were asked for."""
        return tuple(arm for arm in self.others if arm.asked)


async def evaluate(
    collection: Collection,
    arms: Sequence[Arm],
    *,
    seed: int = 0,
    ceiling: Collection | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Run and compare.

    Args:
        arms: one of them named `raw`. They run one after another, `raw` first. One that names a reference
            is compared with that one too.
        seed: of the interval and of p; the same figures for the same seed and runs.
        ceiling: the same ids in the corpus's own words; what `raw` makes of them is what rewriting can reach.

    Raises:
        CollectionError: no question has a relevant judgment, or the ceiling lacks one that has.
        ValueError: no arm named `raw`, or two of one name.
        MissingExtraError: the measures library is not installed.
    """
    names = [arm.name for arm in arms]
    if RAW not in names or len(set(names)) < len(names):
        raise ValueError(f"arms need different names, one of them {RAW!r}; found {', '.join(names) or 'none'}")
    ids = tuple(asked.id for asked in collection.judged)
    if not ids:
        raise CollectionError(
            "no question has a document judged relevant; give judgments, or compare without them (label-free mode)",
            collection.path,
        )
    raw = next(arm for arm in arms if arm.name == RAW)
    top = None if ceiling is None else await _ceiling(collection, ceiling, raw)
    results: dict[str, ArmResult] = {}
    base: Values | None = None
    for arm in (raw, *(arm for arm in arms if arm is not raw)):
        run = await run_arm(arm, collection.questions, progress)
        values = per_question(collection.qrels, run.run, ids)
        base = values[MAIN] if base is None else base
        gap = None if top is None else gap_closed(float(base.mean()), float(values[MAIN].mean()), top)
        results[arm.name] = ArmResult(run, values, compare(base, values[MAIN], seed=seed), gap, asked=arm.asked)
    for arm in arms:
        if arm.reference in results:
            one, other = results[arm.name], results[arm.reference]
            against = compare(other.values[MAIN], one.values[MAIN], seed=seed)
            results[arm.name] = replace(one, alone=Alone(arm.reference, against, arm.missing))
    return Evaluation(collection.name, ids, collection.left_out, results, top, collection.qrels)


async def _ceiling(collection: Collection, ceiling: Collection, raw: Arm) -> float:
    asked = {each.id: each for each in ceiling.questions}
    ids = [each.id for each in collection.judged]
    missing = [identity for identity in ids if identity not in asked]
    if missing:
        raise CollectionError(
            f"{len(missing)} judged questions are not in the ceiling, {missing[0]!r} first; it needs the same ids",
            ceiling.path,
        )
    run = await run_arm(raw, [asked[identity] for identity in ids])
    return float(per_question(collection.qrels, run.run, ids)[MAIN].mean())


def gap_closed(raw: float, arm: float, ceiling: float) -> float | None:
    """The share of the way from `raw` to `ceiling` that the arm went; None where there is no way to go."""
    return (arm - raw) / (ceiling - raw) if ceiling - raw > 1e-9 else None


def extremes(evaluation: Evaluation, arm: ArmResult, count: int = 10) -> tuple[list[int], list[int]]:
    """Places in `Evaluation.ids` of the worst losses and the best wins against `raw`, the largest first."""
    gain = arm.values[MAIN] - evaluation.raw.values[MAIN]
    order = sorted(range(len(gain)), key=lambda i: (gain[i], evaluation.ids[i]))
    return [i for i in order if gain[i] < 0][:count], [i for i in reversed(order) if gain[i] > 0][:count]


def answered(arm: ArmResult, identity: str) -> Answered:
    """What the arm made of one question."""
    return next(each for each in arm.run.answered if each.asked.id == identity)

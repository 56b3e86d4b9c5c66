"""Arms at work: every question through every arm, with what is needed to judge and explain it afterwards."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from dragoman.batch import in_order
from dragoman.errors import DragomanError
from dragoman.evaluate.files import Asked
from dragoman.evaluate.unanswered import Unanswered, unanswered
from dragoman.record import tree
from dragoman.types import Hit, Question, Result, Rewriting, Usage

RAW = "raw"  # the arm that rewrites nothing and that every other is compared with
SHOWN = 10  # hits kept to explain a question
Progress: TypeAlias = Callable[[str, int, int], None]  # arm, questions done, questions in all


@dataclass(frozen=True, slots=True)
class Arm:
    """One configuration in a comparison.

    Attributes:
        name: as given.
        ask: question -> result.
        rewrite: question -> rewriting, without a search; None for what is not made of rewriters.
        concurrency: questions under way at once: 1 for work of this process, so that its
            milliseconds are its own; more for what waits for another.
        warm: called before the first question, so that none of them pays for loading a model.
        reference: the arm of the same fusion without steps, beside which it shows what its steps do;
            empty for what has no steps, and where there is none.
        missing: steps that were asked for and had to be left out.
        asked: False: it is there for the others' sake, as their reference.
    """

    name: str
    ask: Callable[[Question], Awaitable[Result]]
    rewrite: Callable[[Question], Awaitable[Rewriting]] | None = None
    concurrency: int = 1
    warm: Callable[[], Awaitable[None]] | None = None
    reference: str = ""
    missing: tuple[str, ...] = ()
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """What one arm made of one question, without the passages' texts.

    Attributes:
        doc_ids: best first.
        hits: the first `SHOWN`, their texts left out.
        seconds: from the asking to the fused list, waiting for others included.
        explained: the whole journey as a tree.
        failure: why there is no result; empty where there is one.
    """

    asked: Asked
    doc_ids: tuple[str, ...]
    seconds: float
    rewriting: Rewriting
    searches: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    explained: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ArmRun:
    """One arm's answers to all questions, in their order."""

    name: str
    answered: tuple[Answered, ...] = field(repr=False)

    @property
    def run(self) -> Mapping[str, tuple[str, ...]]:
        """Question id -> doc_ids, best first."""
        return {each.asked.id: each.doc_ids for each in self.answered}

    @property
    def outcomes(self) -> dict[str, dict[str, int]]:
        """Step name -> outcome -> questions, in the order of the steps."""
        counts: dict[str, Counter[str]] = {}
        for each in self.answered:
            for step in each.rewriting.steps:
                counts.setdefault(step.name, Counter())[step.outcome.value] += 1
        return {name: dict(sorted(found.items())) for name, found in counts.items()}

    @property
    def unanswered(self) -> Unanswered:
        """Step name -> questions that it did not answer, of how many it was asked."""
        return unanswered(each.rewriting for each in self.answered)

    @property
    def rules(self) -> dict[str, int]:
        """Rule id -> how often it bit, the most frequent first."""
        bites = Counter(hit.rule for each in self.answered for step in each.rewriting.steps for hit in step.rules)
        return dict(sorted(bites.items(), key=lambda item: (-item[1], item[0])))

    @property
    def usage(self) -> Usage:
        """Tokens of all model calls."""
        steps = [step for each in self.answered for step in each.rewriting.steps]
        return Usage(sum(s.usage.tokens_in for s in steps), sum(s.usage.tokens_out for s in steps))

    @property
    def failures(self) -> dict[str, str]:
        """Question id -> why it has no result."""
        return {each.asked.id: each.failure for each in self.answered if each.failure}


async def run_arm(arm: Arm, questions: Sequence[Asked], progress: Progress | None = None) -> ArmRun:
    """Every question through one arm. One that fails is recorded with its reason and has no hits."""

    async def ask(asked: Asked) -> Answered:
        began = time.perf_counter()
        try:
            result = await arm.ask(asked.question)
        except DragomanError as error:
            took = time.perf_counter() - began
            return Answered(asked, (), took, Rewriting.of(asked.question), failure=f"{type(error).__name__}: {error}")
        return _slim(asked, result, time.perf_counter() - began)

    if arm.warm is not None:
        await arm.warm()
    answered: list[Answered] = []
    async for _, given in in_order(ask, questions, arm.concurrency):
        if isinstance(given, Answered):
            answered.append(given)
        if progress:
            progress(arm.name, len(answered), len(questions))
    return ArmRun(arm.name, tuple(answered))


def _slim(asked: Asked, result: Result, seconds: float) -> Answered:
    """Without texts and rankings: a thousand questions on ten arms must fit beside the index."""
    shown = replace(result, hits=result.hits[:SHOWN])
    return Answered(
        asked,
        tuple(sys.intern(hit.doc_id) for hit in result.hits),
        seconds,
        result.rewriting,
        tuple(search.text for search in result.searches),
        tuple(replace(hit, text="", metadata={}) for hit in shown.hits),
        tree(shown),
    )


def write_runs(runs: Sequence[ArmRun], folder: Path) -> tuple[Path, ...]:
    """One TREC run file an arm in `folder`: question, Q0, doc_id, rank, score, tag.

    The score falls by one a rank, so that every reader of the file keeps the order that was shown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for run in runs:
        tag = "".join(c if c.isalnum() or c in "._+-" else "_" for c in run.name)
        path = folder / f"{tag}.run"
        lines = [
            f"{identity} Q0 {doc_id} {rank} {len(doc_ids) - rank + 1} {tag}\n"
            for identity, doc_ids in run.run.items()
            for rank, doc_id in enumerate(doc_ids, start=1)
        ]
        path.write_text("".join(lines), "utf-8")
        written.append(path)
    return tuple(written)

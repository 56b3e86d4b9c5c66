"""Text fidelity: how close an arm's rewriting comes to a person's, on rows of `raw`, `rewrite` and `history`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.batch import in_order
from dragoman.errors import CollectionError, DragomanError, QuestionError
from dragoman.evaluate.compare import compare
from dragoman.evaluate.files import turns
from dragoman.evaluate.measures import Values
from dragoman.evaluate.run import RAW, Arm, Progress
from dragoman.evaluate.unanswered import Unanswered, unanswered
from dragoman.jsonlines import json_lines
from dragoman.text import stems, terms
from dragoman.types import Question, Rewriting

F1, KEPT, CLEAN = "F1", "kept", "clean"
COMPARED = ("delta", "interval.low", "interval.high", "p", "wins", "ties", "losses")
FIGURES = (F1, KEPT, CLEAN, *COMPARED, "p50_ms", "p99_ms")  # numbers of `fidelity_data`, as conditions name them


@dataclass(frozen=True, slots=True)
class Pair:
    """What was asked, and what a person made of it."""

    id: str
    question: Question
    rewrite: str


@dataclass(frozen=True, slots=True)
class Fidelity:
    """One arm's texts beside a person's.

    Attributes:
        values: `F1` and `kept` of every row, 0 to 1, `(n,)`.
        clean: of the rows that a person left as they were, the share left byte for byte; None without any.
        seconds: of every row.
        texts: what the arm made of each row.
        unanswered: step name -> rows that it did not answer, of how many it was asked.
    """

    name: str
    values: Mapping[str, Values] = field(repr=False)
    clean: float | None
    seconds: tuple[float, ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    unanswered: Unanswered = field(default_factory=dict)


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """The rows of a rewriting set: `raw`, `rewrite` (or `keep`), and `history` where it is a conversation.

    Raises:
        CollectionError: a line that cannot be read, or no row.
    """
    pairs = []
    for line, row in json_lines(path):
        raw, rewrite = row.get("raw"), row.get("rewrite", row.get("keep"))
        if not isinstance(raw, str) or not isinstance(rewrite, str):
            raise CollectionError(f'expected texts "raw" and "rewrite"; found keys {sorted(row)}', path, line)
        try:
            question = Question(raw, history=turns(row.get("history"), path, line))
        except QuestionError as error:
            raise CollectionError(f"not a question: {error}", path, line) from error
        pairs.append(Pair(str(row.get("_id", row.get("id", line))), question, rewrite))
    if not pairs:
        raise CollectionError("no row in this file; expected one a line", path)
    return tuple(pairs)


def token_f1(said: str, reference: str) -> float:
    """Harmonic mean of precision and recall over the words of both, each counted as often as it stands.

    The F1 of Rajpurkar et al. (SQuAD, EMNLP 2016) over folded words, articles included. 1 where both are empty.
    """
    a, b = Counter(terms(said)), Counter(terms(reference))
    if not a or not b:
        return float(a == b)
    shared = (a & b).total()
    return 2 * shared / (a.total() + b.total())


def kept_terms(said: str, reference: str, given: str, language: str = "en") -> float:
    """Of the telling stems that a person kept from what was given, the share that `said` holds; 1 where none were.

    Args:
        given: the raw text, and the history's where there is one.
    """
    kept = set(stems(reference, language)) & set(stems(given, language))
    return len(kept & set(stems(said, language))) / len(kept) if kept else 1.0


async def fidelity(
    pairs: Sequence[Pair], arms: Sequence[Arm], *, language: str = "en", progress: Progress | None = None
) -> tuple[Fidelity, ...]:
    """Every arm over every row; arms that are not made of rewriters are passed over."""
    return tuple([await _texts(arm, pairs, language, progress) for arm in arms if arm.rewrite is not None])


async def _texts(arm: Arm, pairs: Sequence[Pair], language: str, progress: Progress | None) -> Fidelity:
    async def rewrite(pair: Pair) -> tuple[Rewriting, float]:
        began = time.perf_counter()
        if arm.rewrite is None:
            raise ValueError(f"arm {arm.name!r} rewrites nothing")
        rewriting = await arm.rewrite(pair.question)
        return rewriting, time.perf_counter() - began

    rewritings: list[Rewriting] = []
    seconds: list[float] = []
    async for pair, given in in_order(rewrite, pairs, arm.concurrency):
        rewriting, took = (Rewriting.of(pair.question), 0.0) if isinstance(given, DragomanError) else given
        rewritings.append(rewriting)
        seconds.append(took)
        if progress:
            progress(arm.name, len(seconds), len(pairs))
    said = [rewriting.query for rewriting in rewritings]
    values = {
        F1: np.array([token_f1(text, pair.rewrite) for text, pair in zip(said, pairs, strict=True)]),
        KEPT: np.array(
            [kept_terms(text, pair.rewrite, _given(pair), language) for text, pair in zip(said, pairs, strict=True)]
        ),
    }
    untouched = [
        text == pair.question.text for text, pair in zip(said, pairs, strict=True) if pair.rewrite == pair.question.text
    ]
    clean = float(np.mean(untouched)) if untouched else None
    return Fidelity(arm.name, values, clean, tuple(seconds), tuple(said), unanswered(rewritings))


def _given(pair: Pair) -> str:
    return "\n".join([*(turn.text for turn in pair.question.history or ()), pair.question.text])


def fidelity_data(found: Sequence[Fidelity], seed: int = 0) -> dict[str, Any]:
    """Arm -> `F1`, `kept`, `clean`, and F1's difference to `raw` with its interval, p, wins, ties and losses.

    Raises:
        CollectionError: no texts of `raw`, for it is a run file.
    """
    raw = next((each for each in found if each.name == RAW), None)
    if raw is None:
        raise CollectionError("'raw' is a run file, which holds no texts to compare; leave raw=run:FILE out of --arms")
    data: dict[str, Any] = {}
    for each in found:
        against = compare(raw.values[F1], each.values[F1], seed=seed)
        data[each.name] = {
            F1: float(each.values[F1].mean()),
            KEPT: float(each.values[KEPT].mean()),
            CLEAN: each.clean,
            **against.figures(),
            "p50_ms": float(np.percentile(each.seconds, 50)) * 1000,
            "p99_ms": float(np.percentile(each.seconds, 99)) * 1000,
        }
    return data

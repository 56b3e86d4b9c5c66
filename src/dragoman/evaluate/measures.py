"""The measures, through `ir_measures`, with the value of every question. One spelling everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import MissingExtraError
from dragoman.evaluate.files import Qrels

MAIN = "nDCG@10"  # the measure that arms are compared by
MEASURES = (MAIN, "RR@10", "R@100", "Success@5")
UNJUDGED = "unjudged@10"
Values: TypeAlias = NDArray[np.float64]
Run: TypeAlias = Mapping[str, Sequence[str]]


def per_question(qrels: Qrels, run: Run, ids: Sequence[str]) -> dict[str, Values]:
    """Measure name -> its value for each of `ids`, in their order; `(len(ids),)`, 0 to 1.

    Args:
        run: question id -> doc_ids, best first. A question that found nothing may be absent: it scores 0.

    Each list counts in the order it has, whatever its scores were: an equal score, or one that
    trec_eval's single precision would make equal, must not reorder what a person was shown.

    Raises:
        MissingExtraError: the measures library is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("measuring", "evaluate") from error
    place = {identity: i for i, identity in enumerate(ids)}
    ordered = {
        identity: {doc_id: float(len(found) - i) for i, doc_id in enumerate(found)}
        for identity, found in run.items()
        if identity in place
    }
    judged = {identity: dict(qrels.get(identity, {})) for identity in ids}
    values = {name: np.zeros(len(ids)) for name in MEASURES}
    for metric in ir_measures.iter_calc([ir_measures.parse_measure(name) for name in MEASURES], judged, ordered):
        values[str(metric.measure)][place[metric.query_id]] = metric.value
    values[UNJUDGED] = np.array([_unjudged(judged[identity], run.get(identity, ())) for identity in ids])
    return values


def _unjudged(judged: Mapping[str, int], found: Sequence[str], cutoff: int = 10) -> float:
    """Share of the first ten hits that nobody judged; 0 where there are no hits."""
    shown = found[:cutoff]
    return sum(doc_id not in judged for doc_id in shown) / len(shown) if shown else 0.0

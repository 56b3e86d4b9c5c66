"""An evaluation as plain data: what `--json` writes, under names that do not change."""

from __future__ import annotations

from typing import Any

from dragoman.evaluate.evaluation import ArmResult, Evaluation, Prices, answered, extremes
from dragoman.evaluate.measures import MAIN
from dragoman.evaluate.run import RAW
from dragoman.evaluate.verdict import leading, verdict
from dragoman.record import rewriting_data


def as_data(evaluation: Evaluation, prices: Prices | None = None) -> dict[str, Any]:
    """`collection`, `questions`, `left_out`, `arms`, `verdict`, and `worst` and `best` of the leading arm."""
    leader = leading(evaluation)
    worst, best = ([], []) if leader is None else extremes(evaluation, leader)
    return {
        "collection": evaluation.collection,
        "questions": len(evaluation.ids),
        "left_out": list(evaluation.left_out),
        "arms": {name: arm.figures(prices) for name, arm in evaluation.arms.items()},
        "verdict": verdict(evaluation),
        "worst": [] if leader is None else [moved(evaluation, leader, place) for place in worst],
        "best": [] if leader is None else [moved(evaluation, leader, place) for place in best],
    }


def alone(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Arm of steps -> the arm of the same fusion without steps, and the difference to that one in nDCG@10.

    Without the arms that fuse as `raw` does, for their own figures are the differences to that one.
    """
    found: dict[str, dict[str, Any]] = {}
    for arm in evaluation.others:
        if arm.alone is not None and arm.alone.reference != RAW:
            against = arm.alone.comparison
            found[arm.name] = {"reference": arm.alone.reference, **against.figures(), "harm": against.harm}
    return found


def moved(evaluation: Evaluation, arm: ArmResult, place: int) -> dict[str, Any]:
    """One question whose hits the arm moved: both values, its steps, its searches, its first hits, the tree."""
    identity = evaluation.ids[place]
    each = answered(arm, identity)
    before, after = (float(of.values[MAIN][place]) for of in (evaluation.raw, arm))
    return {
        "id": identity,
        "arm": arm.name,
        "raw": before,
        "value": after,
        "delta": after - before,
        **rewriting_data(each.rewriting),
        "searches": list(each.searches),
        "hits": [{"rank": i, "doc_id": hit.doc_id, "title": hit.title} for i, hit in enumerate(each.hits, start=1)],
        "raw_hits": list(answered(evaluation.raw, identity).doc_ids[:10]),
        "explain": each.explained or each.failure,
    }

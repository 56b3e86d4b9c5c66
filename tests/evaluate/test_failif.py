"""`--fail-if`: the small grammar, and nothing beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluate.failif import ConditionError, check, explain, holds

FIGURES = {
    "raw": {"nDCG@10": 0.5, "p50_ms": 2.0, "interval": [0.0, 0.0], "gap_closed": None},
    "lexicon": {"nDCG@10": 0.48, "p50_ms": 3.0, "interval": [-0.05, 0.01], "harm": 0.02},
    "replay:a/b.jsonl": {"nDCG@10": 0.9, "interval": [0.1, 0.2]},
}


@pytest.mark.parametrize(
    ("condition", "true"),
    [
        ("lexicon.nDCG@10 < raw", True),
        ("lexicon < raw", True),
        ("raw < lexicon.nDCG@10", False),
        ("lexicon.nDCG@10 < raw - .01", True),
        ("lexicon.nDCG@10 < raw - 0.03", False),
        ("lexicon.nDCG@10 >= raw.nDCG@10", False),
        ("lexicon.p50_ms > raw", True),
        ("lexicon.p50_ms > raw + 1", False),
        ("lexicon.harm > 0.01", True),
        ("0.01 < lexicon.harm", True),
        ("lexicon.interval.low < -.005", True),
        ("lexicon.interval.high<=.01", True),
        ("replay:a/b.jsonl.nDCG@10 == 0.9", True),
        ("replay:a/b.jsonl != 0.9", False),
    ],
)
def test_conditions_hold_or_not(condition: str, true: bool) -> None:
    assert holds(condition, FIGURES) is true


def test_what_came_true_is_said_with_its_values() -> None:
    assert explain("lexicon.nDCG@10 < raw", FIGURES) == "lexicon.nDCG@10 is 0.48, < raw (0.5)"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("", "one comparison"),
        ("lexicon", "one comparison"),
        ("lexicon <", "one comparison"),
        ("raw < lexicon < raw", "one comparison"),
        ("1 < 2", "names no arm"),
        ("memory < raw", "no arm is named in 'memory'"),
        ("__import__('os') < raw", "no arm is named"),
        ("lexicon.speed < raw", "no figure 'speed'"),
        ("raw.gap_closed < 1", "no figure 'gap_closed'"),
        ("raw.harm < lexicon.interval", "no figure"),
    ],
)
def test_what_cannot_be_read_says_so(condition: str, said: str) -> None:
    with pytest.raises(ConditionError, match=said):
        holds(condition, FIGURES)


def test_a_condition_can_be_checked_before_anything_runs() -> None:
    check("lexicon.nDCG@10 < raw", ("raw", "lexicon"))
    with pytest.raises(ConditionError, match="known here: raw"):
        check("lexicon.nDCG@10 < raw", ("raw",))


def test_a_figure_that_will_not_be_there_is_told_before_anything_runs() -> None:
    figures = ("nDCG@10", "interval.low")
    check("lexicon.nDCG@10 < raw - .01", ("raw", "lexicon"), figures)
    check("lexicon.interval.low < 0", ("raw", "lexicon"), figures)
    for wrong in ("lexicon.ndcg < raw", "raw > lexicon.ndcg", "lexicon.interval < 0"):
        with pytest.raises(ConditionError, match=r"has no figure '.*'; it has nDCG@10, interval.low"):
            check(wrong, ("raw", "lexicon"), figures)
    with pytest.raises(ConditionError, match=r"lexicon has no figure 'nDCG@10'; it has F1"):
        check("lexicon < raw", ("raw", "lexicon"), ("F1",))


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_a_condition_error(text: str) -> None:
    try:
        found = holds(text, FIGURES)
    except ConditionError:
        return
    assert isinstance(found, bool)

"""The measures, against values worked out by hand."""

from __future__ import annotations

import math
import sys

import pytest

from dragoman.errors import MissingExtraError
from dragoman.evaluate.measures import MEASURES, per_question


def test_hand_computed_values_per_question() -> None:
    """a (grade 2) at rank 2, b (grade 1) at rank 3, c unjudged at rank 1; ideal is a, b."""
    values = per_question({"q": {"a": 2, "b": 1}}, {"q": ["c", "a", "b"]}, ["q"])
    dcg = 2 / math.log2(3) + 1 / math.log2(4)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert values["nDCG@10"][0] == pytest.approx(dcg / ideal)
    assert values["RR@10"][0] == pytest.approx(1 / 2)
    assert values["R@100"][0] == 1
    assert values["Success@5"][0] == 1
    assert values["unjudged@10"][0] == pytest.approx(1 / 3)


def test_cutoffs_cut() -> None:
    far = [f"x{i}" for i in range(10)] + ["a"]
    values = per_question({"q": {"a": 1}}, {"q": far}, ["q"])
    assert [float(values[name][0]) for name in MEASURES] == [0, 0, 1, 0]


def test_a_question_without_hits_scores_nought_in_its_place() -> None:
    values = per_question({"p": {"a": 1}, "q": {"a": 1}}, {"q": ["a"]}, ["p", "q"])
    assert values["nDCG@10"].tolist() == [0, 1]
    assert values["unjudged@10"].tolist() == [0, 0]


def test_the_order_shown_counts_however_the_ids_sort() -> None:
    """trec_eval would put z before a at equal scores; the list given says otherwise."""
    for found, rank in ((["a", "z"], 1), (["z", "a"], 2)):
        assert per_question({"q": {"a": 1}}, {"q": found}, ["q"])["RR@10"][0] == pytest.approx(1 / rank)


def test_questions_that_were_not_asked_for_are_not_measured() -> None:
    values = per_question({"q": {"a": 1}}, {"q": ["a"], "other": ["a"]}, ["q"])
    assert values["nDCG@10"].shape == (1,)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[evaluate\]"):
        per_question({}, {}, [])

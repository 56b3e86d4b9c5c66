"""Fusion against values computed by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.fusion import FUSIONS, min_max, reserve, rrf, standardised
from dragoman.search import Weights
from dragoman.types import Hit, Ranking, Search

LISTS = st.lists(
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.001, 1000), max_size=8), min_size=1, max_size=4
)


def ranking(scored: dict[str, float], text: str = "q", retriever: str = "words", weight: float = 1.0) -> Ranking:
    return Ranking(Search(text, weight=weight), retriever, tuple(Hit(d, s) for d, s in scored.items()))


def test_rrf_is_the_sum_of_reciprocal_ranks() -> None:
    fused = rrf([ranking({"a": 3, "b": 2}), ranking({"b": 9, "c": 1}, retriever="meaning")])
    assert [hit.doc_id for hit in fused] == ["b", "a", "c"]
    assert fused[0].score == pytest.approx(1 / 62 + 1 / 61)
    assert fused[1].score == pytest.approx(1 / 61)
    assert fused[2].score == pytest.approx(1 / 62)


def test_rrf_honours_the_weights_of_searches_and_retrievers() -> None:
    weigh = Weights(retrievers={"meaning": 3.0}).weigh
    fused = rrf([ranking({"a": 1}, weight=2.0), ranking({"b": 1}, retriever="meaning")], weigh, k=0)
    assert [(hit.doc_id, hit.score) for hit in fused] == [("b", 3.0), ("a", 2.0)]


def test_rrf_ties_stand_as_trec_eval_puts_them() -> None:
    fused = rrf([ranking({"a": 1}), ranking({"z": 1}, retriever="meaning")])
    assert [hit.doc_id for hit in fused] == ["z", "a"]


def test_rrf_refuses_a_negative_k() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        rrf([], k=-1)


def test_min_max_scales_every_ranking_to_the_unit() -> None:
    fused = min_max([ranking({"a": 10, "b": 6, "c": 2}), ranking({"c": 0.9, "b": 0.1}, retriever="meaning")])
    assert {hit.doc_id: hit.score for hit in fused} == pytest.approx({"a": 1.0, "b": 0.5, "c": 1.0})
    assert [hit.doc_id for hit in fused] == ["c", "a", "b"]


def test_equal_scores_count_alike() -> None:
    assert {hit.doc_id: hit.score for hit in min_max([ranking({"a": 5, "b": 5})])} == {"a": 1.0, "b": 1.0}


def test_every_share_says_which_search_on_which_retriever_at_which_rank() -> None:
    (hit,) = rrf([ranking({"a": 1}, "first"), ranking({"a": 1}, "second", "meaning", weight=0.5)])
    assert [(c.search, c.retriever, c.rank) for c in hit.because] == [("first", "words", 1), ("second", "meaning", 1)]
    assert [c.share for c in hit.because] == pytest.approx([1 / 61, 0.5 / 61])


@pytest.mark.parametrize("name", sorted(FUSIONS))
@given(lists=LISTS)
def test_shares_add_up_and_order_holds(name: str, lists: list[dict[str, float]]) -> None:
    fused = FUSIONS[name]([ranking(scored, f"q{i}") for i, scored in enumerate(lists)])
    assert {hit.doc_id for hit in fused} == {doc_id for scored in lists for doc_id in scored}
    keys = [(hit.score, hit.doc_id) for hit in fused]
    assert keys == sorted(keys, reverse=True)
    for hit in fused:
        assert all(c.share >= 0 for c in hit.because)
        assert hit.score == pytest.approx(math.fsum(c.share for c in hit.because))


@pytest.mark.parametrize("name", sorted(FUSIONS))
@given(lists=LISTS)
def test_the_order_of_the_rankings_does_not_matter(name: str, lists: list[dict[str, float]]) -> None:
    rankings = [ranking(scored, f"q{i}") for i, scored in enumerate(lists)]
    forward, backward = FUSIONS[name](rankings), FUSIONS[name](rankings[::-1])
    assert [(hit.doc_id, hit.score) for hit in forward] == [(hit.doc_id, hit.score) for hit in backward]


@pytest.mark.parametrize("name", sorted(FUSIONS))
def test_nothing_fuses_to_nothing(name: str) -> None:
    assert FUSIONS[name]([]) == ()
    assert FUSIONS[name]([ranking({})]) == ()


def test_a_hit_far_above_the_rest_counts_for_more_than_its_rank() -> None:
    far = {"a": 10.0, "b": 1.2, "c": 1.1, "d": 1.0}
    near = {"b": 0.52, "a": 0.51, "c": 0.3, "d": 0.2}
    assert standardised([ranking(far), ranking(near, retriever="meaning")])[0].doc_id == "a"


def test_a_reserved_place_keeps_the_questions_own_best_within_reach() -> None:
    hits = tuple(Hit(doc_id, score) for doc_id, score in zip("edcba", range(5, 0, -1), strict=True))
    assert [hit.doc_id for hit in reserve(hits, "a", 3)] == ["e", "d", "a", "c", "b"]
    assert reserve(hits, "d", 3) == hits
    assert reserve(hits, "a", 0) == hits
    assert reserve(hits, None, 3) == hits


def test_a_ranking_that_ran_out_scored_everything_else_nothing() -> None:
    found = ranking({"x": 2.0})
    full = ranking({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, retriever="meaning")
    fused = standardised([found, full])
    # one score of 2 and three noughts: mean .5, deviation sqrt(.75); four scores .1 apart: deviation .1118
    assert {hit.doc_id: hit.score for hit in fused} == pytest.approx(
        {"x": 2 / math.sqrt(0.75), "a": 0.3 / 0.1118034, "b": 0.2 / 0.1118034, "c": 0.1 / 0.1118034, "d": 0.0}
    )


@given(st.floats(1e-3, 1e3), st.integers(1, 120))
def test_equal_scores_throughout_give_one_each_whatever_their_mean_is_rounded_to(score: float, count: int) -> None:
    fused = standardised([ranking({f"d{n}": score for n in range(count)})])
    assert {hit.score for hit in fused} == {1.0}


@pytest.mark.parametrize("scale", [1e308, 1e160, 1e-160, 1e-300])
@pytest.mark.parametrize("name", sorted(FUSIONS))
def test_scores_at_the_ends_of_what_a_float_holds_count_as_any_others(name: str, scale: float) -> None:
    shares, near = {"a": 1.0, "b": 0.5, "c": 0.25}, ranking({"c": 3.0, "d": 2.0, "e": 1.5, "f": 1.0}, retriever="near")
    usual = FUSIONS[name]([ranking(shares), near])
    scaled = FUSIONS[name]([ranking({doc_id: share * scale for doc_id, share in shares.items()}), near])
    assert [hit.doc_id for hit in scaled] == [hit.doc_id for hit in usual]
    assert [hit.score for hit in scaled] == pytest.approx([hit.score for hit in usual])

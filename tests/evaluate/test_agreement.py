"""Label-free figures: agreement by definition, and whether searches are in the corpus's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_corpus import HARMFUL, HELPFUL, PASSAGES, arm, toy

from dragoman.evaluate.agreement import agreement, overlap, rank_biased_overlap, sayable
from dragoman.evaluate.run import run_arm
from dragoman.vocabulary import Vocabulary, VocabularyBuilder

ranked = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)


def vocabulary() -> Vocabulary:
    builder = VocabularyBuilder()
    for text, _ in PASSAGES.values():
        builder.add("", text)
    return builder.finish()


def test_overlap_is_of_the_longer_list() -> None:
    assert overlap("abc", "bca") == 1
    assert overlap("ab", "abcd") == pytest.approx(1 / 2)
    assert overlap("", "") == 1
    assert overlap("a", "") == 0


def test_rbo_is_the_papers_for_lists_of_one_length() -> None:
    """Equation 23 by hand: lists ab and ba at p = .5 share 0 at depth 1 and 2 at depth 2."""
    p = 0.5
    by_hand = (1 - p) / p * (0 / 1 * p + 2 / 2 * p**2) + 2 / 2 * p**2
    assert rank_biased_overlap("ab", "ba", p) == pytest.approx(by_hand)


def test_rbo_is_the_papers_for_lists_of_two_lengths() -> None:
    """Equation 32 by hand: a against ab; X_1 = 1, X_2 = 1, s = 1, l = 2."""
    p = 0.5
    by_hand = (1 - p) / p * (1 * p + 1 / 2 * p**2 + 1 * (2 - 1) / (1 * 2) * p**2) + ((1 - 1) / 2 + 1 / 1) * p**2
    assert rank_biased_overlap("a", "ab", p) == pytest.approx(by_hand) == pytest.approx(1)


@given(ranked, ranked)
def test_rbo_is_symmetric_bounded_and_one_for_the_same(one: list[str], other: list[str]) -> None:
    found = rank_biased_overlap(one, other)
    assert 0 <= found <= 1 + 1e-9
    assert found == pytest.approx(rank_biased_overlap(other, one))
    assert rank_biased_overlap(one, one) == pytest.approx(1)


async def test_arms_that_answer_alike_agree_wholly() -> None:
    runs = [await run_arm(each, toy().questions) for each in (arm(), arm("same"), arm("wrong", [HARMFUL]))]
    found = agreement(runs)
    assert found["raw"]["same"] == {"rbo": pytest.approx(1), "overlap@10": 1}
    assert found["raw"]["wrong"] == found["wrong"]["raw"]
    assert found["raw"]["wrong"]["rbo"] < 1


async def test_searches_are_held_against_the_corpuss_words() -> None:
    """Of the four questions' telling words; the helpful searches are held whole."""
    words = vocabulary()
    raw = sayable(await run_arm(arm(), toy().questions), words)
    helped = sayable(await run_arm(arm("helpful", [HELPFUL]), toy().questions), words)
    assert raw.searches == 1
    assert helped.searches == pytest.approx(6 / 4)
    assert 0 < raw.held < helped.held
    assert raw.empty == pytest.approx(1 / 4)  # "texting on my phone"

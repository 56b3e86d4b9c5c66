"""The nouns hold their invariants."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import QuestionError
from dragoman.types import MAX_QUESTION, Hit, Message, Question, Ranking, Rewriting, Search

SEARCH = Search("speed limit")


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x00\x01"])
def test_a_question_without_a_word_cannot_be_made(text: str) -> None:
    with pytest.raises(QuestionError, match="empty"):
        Question(text)


def test_a_question_over_the_limit_says_how_long_it_was_and_what_to_do() -> None:
    with pytest.raises(QuestionError, match=r"1,000,000 characters, more than 20,000"):
        Question("a" * 1_000_000)
    assert len(Question("a" * MAX_QUESTION).text) == MAX_QUESTION


def test_what_no_engine_can_carry_is_replaced_and_nothing_else_is() -> None:
    assert Question("a\ud800b\x00c").text == "a\ufffdb c"
    assert Question("  שלום, מה שלומך?  ").text == "  שלום, מה שלומך?  "


def test_no_history_and_an_empty_history_are_different() -> None:
    assert Question("a").history is None
    assert Question("a", history=()).history == ()
    assert Question("a") != Question("a", history=())


def test_a_message_of_an_unknown_role_is_refused() -> None:
    with pytest.raises(QuestionError, match="'system'"):
        Message("system", "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf])
def test_a_search_weighs_something_finite(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        Search("a", weight=weight)


def test_a_ranking_is_sorted_however_it_was_given() -> None:
    ranking = Ranking(SEARCH, "words", (Hit("a", 1.0), Hit("b", 3.0), Hit("c", 2.0)))
    assert ranking.doc_ids == ("b", "c", "a")


def test_equal_scores_stand_as_trec_eval_puts_them() -> None:
    assert Ranking(SEARCH, "words", (Hit("a", 1.0), Hit("c", 1.0), Hit("b", 1.0))).doc_ids == ("c", "b", "a")


def test_a_score_of_nothing_is_no_hit() -> None:
    given_scores = [("a", 0.0), ("b", -1.0), ("c", math.nan), ("d", math.inf), ("e", 0.5)]
    ranking = Ranking(SEARCH, "words", tuple(Hit(doc_id, score) for doc_id, score in given_scores))
    assert ranking.doc_ids == ("e",)
    assert ranking.dropped == 4


def test_a_document_given_twice_counts_once_with_its_best_score() -> None:
    ranking = Ranking(SEARCH, "words", (Hit("a", 1.0), Hit("b", 2.0), Hit("a", 3.0)))
    assert [(hit.doc_id, hit.score) for hit in ranking.hits] == [("a", 3.0), ("b", 2.0)]


@given(st.lists(st.tuples(st.text(min_size=1, max_size=3), st.floats())))
def test_a_ranking_never_holds_disorder(pairs: list[tuple[str, float]]) -> None:
    ranking = Ranking(SEARCH, "words", tuple(Hit(doc_id, score) for doc_id, score in pairs))
    keys = [(hit.score, hit.doc_id) for hit in ranking.hits]
    assert keys == sorted(keys, reverse=True)
    assert len(set(ranking.doc_ids)) == len(ranking)
    assert all(math.isfinite(score) and score > 0 for score, _ in keys)


def test_later_steps_read_expanded_else_rewritten_else_the_question() -> None:
    rewriting = Rewriting.of("hey whats a genserver")
    assert rewriting.query == "hey whats a genserver"
    rewriting = rewriting.rewrite("a genserver")
    assert rewriting.query == "a genserver"
    rewriting = rewriting.expand("a genserver process")
    assert rewriting.query == "a genserver process"
    assert rewriting.rewrite("genserver").query == "genserver"
    assert rewriting.question.text == "hey whats a genserver"


def test_rewriting_to_nothing_changes_nothing() -> None:
    rewriting = Rewriting.of("a")
    assert rewriting.rewrite("  ") is rewriting
    assert rewriting.expand("") is rewriting


def test_the_same_search_is_added_once() -> None:
    rewriting = Rewriting.of("a").add([Search("Speed limit", "x"), Search("speed limit", "y")])
    assert rewriting.add([Search("SPEED LIMIT", "z")]).searches == (Search("Speed limit", "x"),)

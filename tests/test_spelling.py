"""Suggestions come from the corpus's own words, the nearest first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.spelling import Speller, edits, sound, variants

WORDS = {"license": 9, "accelerate": 4, "insurance": 8, "issuance": 9, "causes": 2, "cases": 9, "seat": 5, "belt": 5}
SPELLER = Speller(WORDS, {"seat belt"})


@pytest.mark.parametrize(
    ("word", "best"),
    [
        ("licence", "license"),
        ("excelerate", "accelerate"),
        ("insurence", "insurance"),
        ("seatbelt", "seat belt"),
        ("casues", "causes"),  # the same letters in another order, before the more frequent word
    ],
)
def test_the_best_suggestion(word: str, best: str) -> None:
    assert SPELLER(word)[0] == best


@pytest.mark.parametrize("word", ["license", "lisp", "46", "e-1234", "zzzzzzz", "", "x" * 20_000])
def test_no_suggestion_for_what_is_held_short_a_number_or_like_nothing(word: str) -> None:
    assert SPELLER(word) == ()


def test_two_words_are_made_of_one_only_where_the_corpus_puts_them_together() -> None:
    assert Speller(WORDS)("seatbelt") == ()


def test_a_word_that_one_document_holds_is_no_suggestion() -> None:
    assert Speller({"accelerate": 1})("acelerate") == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [("colour", "color"), ("tyres", "tires"), ("organise", "organize"), ("anaemia", "anemia"), ("defence", "defense")],
)
def test_national_spellings_lead_to_each_other(one: str, other: str) -> None:
    assert other in variants(one)
    assert one in variants(other)


def test_a_language_without_a_file_has_no_variants() -> None:
    assert variants("colour", "xx") == []


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("", "", 0),
        ("ab", "ba", 1),
        ("stop", "stp", 1),
        ("excelerate", "accelerate", 2),
        ("abcd", "wxyz", 3),
        ("a", "abcd", 3),
    ],
)
def test_edits_are_counted_up_to_two(first: str, second: str, distance: int) -> None:
    assert edits(first, second) == distance


def test_words_that_sound_alike_share_their_sound() -> None:
    assert sound("licence") == sound("license")
    assert sound("excelerate") == sound("accelerate")
    assert sound("road") != sound("rope")


@given(st.text("abcdef", max_size=8), st.text("abcdef", max_size=8))
def test_edits_are_the_same_both_ways(first: str, second: str) -> None:
    assert edits(first, second) == edits(second, first)


@given(st.text(max_size=30))
def test_any_text_gets_at_most_five_suggestions_all_of_them_held(word: str) -> None:
    found = SPELLER(word)
    assert len(found) <= 5
    assert all(part in WORDS for suggestion in found for part in suggestion.split())

"""Analysis: one way of cleaning, folding, cutting and stemming."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text import fold, identifiers, sanitize, stems, stop_words, terms, tokens, words


@given(st.text())
def test_what_an_engine_can_carry_is_what_is_left(text: str) -> None:
    clean = sanitize(text)
    clean.encode("utf-8")
    assert "\x00" not in clean
    assert sanitize(clean) is clean
    assert len(clean) == len(text)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u200b\u2060\ufeff")))
def test_text_without_control_characters_is_the_same_object(text: str) -> None:
    assert sanitize(text) is text


def test_folding_makes_typographic_signs_plain() -> None:
    assert fold("Driver’s “LICENCE” ﬁne – ＡＢＣ") == 'driver\'s "licence" fine - abc'


def test_words_keep_what_stands_between_two_letters_and_terms_cut_it() -> None:
    text = "Don't exceed § 46.2-870's X-ray limit."
    assert words(text) == ["don't", "exceed", "46.2-870's", "x-ray", "limit"]
    assert terms(text) == ["don't", "exceed", "46", "2", "870's", "x", "ray", "limit"]


@given(st.text())
def test_tokens_stand_where_they_say(text: str) -> None:
    for token in tokens(text):
        assert text[token.start : token.end] == token.text


def test_stems_of_telling_words_only() -> None:
    assert stems("What are the speed limits for school buses?") == ["speed", "limit", "school", "buse"]
    assert stems("die Geschwindigkeiten auf den Straßen", "de") == ["geschwind", "strass"]


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_no_negation_is_a_stop_word(language: str) -> None:
    negations = {"en": "no not nor", "de": "nicht kein", "fr": "pas", "es": "no sin"}[language].split()
    assert stop_words(language)
    assert not stop_words(language).intersection(negations)


def test_a_language_that_is_not_shipped_has_no_stop_words() -> None:
    assert stop_words("xx") == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("what does E-1234 mean", ["E-1234"]),
        ("does section 46.2-870 apply", ["46.2-870"]),
        ("§ 21-104 says", ["21-104"]),
        ("ISO9001 and err_4312", ["ISO9001", "err_4312"]),
        ("12 feet from a hydrant", []),
        ("type 2 diabetes", []),
    ],
)
def test_identifiers_are_told_from_figures(text: str, found: list[str]) -> None:
    assert identifiers(text) == found

"""Which language and script a text is in, as far as its words say."""

from __future__ import annotations

import pytest

from dragoman.rewriters.language import LanguagePolicy, foreign_language, foreign_words, script


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("límite de velocidad para los coches y las motos", "es"),
        ("limite de vitesse dans les villes", "fr"),
        ("Geschwindigkeit in der Stadt und auf dem Land", "de"),
        ("maximum speed limit", None),
        ("speed limit in the city", None),
        ("die in an accident", None),
        ("vitamin D and 25-hydroxyvitamin D levels", None),
        ("de facto", None),
        ("", None),
    ],
)
def test_stop_words_tell_a_foreign_language(text: str, found: str | None) -> None:
    assert foreign_language(text, ("en",)) == found


def test_an_allowed_language_is_never_foreign() -> None:
    assert foreign_language("límite de velocidad en la ciudad", ("en", "es")) is None
    assert foreign_language("límite de velocidad en la ciudad", ()) is None
    assert foreign_language("límite de velocidad en la ciudad", ("ru",)) is None


@pytest.mark.parametrize(
    ("text", "strange"),
    [
        ("speed limit", []),
        ("naïve façade Größe", []),
        ("α-synuclein", []),
        ("speed ограничение", ["ограничение"]),
        ("sрeed limit", ["sрeed"]),  # its second letter is Cyrillic
        ("限速 speed", ["限速"]),
        ("名", ["名"]),
        ("速度制限 とは", ["速度制限", "とは"]),
    ],
)
def test_words_in_another_script_are_found(text: str, strange: list[str]) -> None:
    assert foreign_words(text, ("en",)) == strange


def test_known_words_and_unknown_languages_are_not_checked() -> None:
    assert foreign_words("знак стоп", ("en",), {"стоп"}) == ["знак"]
    assert foreign_words("знак", ("xx",)) == []
    assert foreign_words("знак", ()) == []
    assert foreign_words("speed limit", ("ru",)) == ["speed", "limit"]


def test_a_script_is_the_first_word_of_a_letters_name() -> None:
    assert [script(letter) for letter in "aяα学あ"] == ["LATIN", "CYRILLIC", "GREEK", "CJK", "HIRAGANA"]


def test_the_policy_says_what_is_allowed_and_asks_for_it() -> None:
    assert LanguagePolicy("de", "en").allowed == ("en",)
    assert LanguagePolicy("de", "en", "question").allowed == ("de",)
    assert LanguagePolicy("de", "en", "both").allowed == ("de", "en")
    assert LanguagePolicy("any", "en", "both").allowed == ()
    assert LanguagePolicy("en", "en", "both").allowed == ("en",)
    assert "in English" in LanguagePolicy("de", "en").request()
    assert "German or in English" in LanguagePolicy("de", "en", "both").request()
    assert "language of the documents" in LanguagePolicy("any", "any").request()
    assert LanguagePolicy("de", "en").translates
    assert not LanguagePolicy().translates

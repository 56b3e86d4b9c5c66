"""The spelling step changes what nobody writes so, and leaves words alone."""

from __future__ import annotations

import pytest

from dragoman.rewriters.spelling import Spelling
from dragoman.types import Rewriting, RuleHit
from dragoman.vocabulary import Phrase, PhraseKind, Vocabulary

VOCABULARY = Vocabulary(
    20,
    {"license": 9, "accelerate": 4, "horse": 3, "insurance": 5, "seat": 4, "belt": 4, "baseline": 6},
    phrases=[Phrase("seat belt", PhraseKind.TERM, 4)],
)
STEP = Spelling(VOCABULARY, {"house", "licence", "wear"})


@pytest.mark.parametrize(
    ("asked", "repaired"),
    [
        ("Do I need a Licence?", "Do I need a license?"),
        ("may i excelerate, now", "may i accelerate, now"),
        ("is a seatbelt a must", "is a seat belt a must"),
        ("insurrance card 46.2-870", "insurance card 46.2-870"),
    ],
)
def test_a_question_is_put_as_the_corpus_spells(asked: str, repaired: str) -> None:
    assert STEP(Rewriting.of(asked)).query == repaired


@pytest.mark.parametrize("asked", ["may my house stand here", "vaseline on my bike", "who wears it", "E-1234", "🙂"])
def test_a_word_that_people_use_or_that_is_near_nothing_stays(asked: str) -> None:
    rewriting = Rewriting.of(asked)
    assert STEP(rewriting) is rewriting


def test_every_repair_is_noted() -> None:
    assert STEP(Rewriting.of("my licence")).notes == (RuleHit("spelling", "licence", "license"),)


def test_without_known_words_slips_are_left_and_other_spellings_are_put() -> None:
    assert Spelling(VOCABULARY)(Rewriting.of("insurrance licence")).query == "insurrance license"


def test_repairing_twice_changes_nothing() -> None:
    once = STEP(Rewriting.of("excelerate with a licence")).query
    assert STEP(Rewriting.of(once)).query == once

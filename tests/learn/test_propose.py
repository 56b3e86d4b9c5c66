"""A model is asked once for each frequent word that no document holds, and what it gives is held to the corpus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.errors import LLMUnavailable
from dragoman.learn import (
    Missing,
    Review,
    Status,
    merged,
    missing_terms,
    nearest_phrases,
    propose,
    read_review,
    write_review,
)
from dragoman.rewriters.lexicon import Lexicon
from dragoman.testing import ScriptedModel
from dragoman.vocabulary import Phrase, PhraseKind, Vocabulary

WORDS = dict.fromkeys(["abandoned", "motor", "vehicle", "speed", "limit", "hitchhiking", "ride"], 3)
VOCABULARY = Vocabulary(
    10,
    WORDS,
    phrases=[Phrase("abandoned motor vehicle", PhraseKind.HEADING), Phrase("speed limit", PhraseKind.TERM, 4)],
)
JUNKER = Missing(("junker", "junkers"), ("can i leave my junker", "two junkers in my yard"), 4)


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    rows = np.array([[text.count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts], np.float32)
    vectors: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return vectors


def shown(_: str) -> Sequence[str]:
    return ["abandoned motor vehicle"]


def test_words_that_people_ask_with_and_no_document_holds_are_found_most_frequent_first() -> None:
    questions = [
        "my junker",
        "junkers here",
        "a junker",
        "speed limit",
        "thumbing a ride",
        "thumbed",
        "thumb",
        "thumb it",
    ]
    found = missing_terms(questions, VOCABULARY)
    assert [(each.forms, each.count) for each in found] == [
        (("thumb", "thumbed", "thumbing"), 4),
        (("junker", "junkers"), 3),
    ]


def test_rare_words_numbers_and_misspellings_are_left_out() -> None:
    questions = ["vehicel 123"] * 5 + ["once zorbing"]
    assert not missing_terms(questions, VOCABULARY)


def test_questions_are_masked_before_they_are_shown() -> None:
    found = missing_terms(["junker of bob"] * 3, VOCABULARY, mask=lambda text: text.replace("bob", "x"))
    assert found[0].questions[0] == "junker of x"


def test_the_nearest_phrases_come_first() -> None:
    assert nearest_phrases(VOCABULARY, letters)("speeds limits")[0] == "speed limit"
    assert not nearest_phrases(Vocabulary(0, {}), letters)("speed")


async def test_the_model_sees_the_word_its_questions_and_the_nearest_phrases() -> None:
    model = ScriptedModel({"meaning": "an old car", "phrases": ["abandoned vehicle"]})
    (proposal,) = await propose([JUNKER], model, VOCABULARY, shown, "a vehicle code")
    assert proposal.phrases == ("abandoned vehicle",)
    prompt = model.prompts[0]
    assert "a vehicle code" in prompt.rules
    for part in ("junker", "can i leave my junker", "abandoned motor vehicle"):
        assert part in prompt.input


@pytest.mark.parametrize("phrase", ["derelict vehicle", "junker vehicle", "of the", "motor " * 6, ""])
async def test_a_phrase_that_the_corpus_cannot_say_is_dropped(phrase: str) -> None:
    model = ScriptedModel({"meaning": "", "phrases": [phrase, "motor vehicle"]})
    (proposal,) = await propose([JUNKER], model, VOCABULARY, shown)
    assert proposal.phrases == ("motor vehicle",)
    assert proposal.dropped == (" ".join(phrase.split()),)


async def test_no_phrase_is_no_entry() -> None:
    (proposal,) = await propose([JUNKER], ScriptedModel({"meaning": "?", "phrases": []}), VOCABULARY, shown)
    assert proposal.draft is None


async def test_one_call_that_fails_leaves_the_others() -> None:
    model = ScriptedModel(LLMUnavailable("down"), {"meaning": "", "phrases": ["ride"]})
    first, second = await propose([JUNKER, Missing(("thumb",), ("thumb",), 3)], model, VOCABULARY, shown)
    assert first.failed == "down"
    assert second.phrases == ("ride",)


async def test_no_call_answered_is_a_failure() -> None:
    with pytest.raises(LLMUnavailable):
        await propose([JUNKER], ScriptedModel(LLMUnavailable("down")), VOCABULARY, shown)


async def test_a_proposal_waits_in_the_lexicon_until_a_person_accepts_it(tmp_path: Path) -> None:
    model = ScriptedModel({"meaning": "", "phrases": ["abandoned vehicle"]}, name="big")
    (proposal,) = await propose([JUNKER], model, VOCABULARY, shown)
    assert proposal.draft is not None
    path = tmp_path / "l.txt"
    write_review(merged(Review(()), [proposal.draft], asking=True, anew=False), path)
    assert not Lexicon.read(path).entries
    assert "proposed: by big, for a word of 4 questions" in path.read_text("utf-8")
    again = merged(read_review(path), [], asking=False)  # learning again does not take it away
    write_review(again.decide("junker", Status.ACCEPTED), path)
    assert "abandoned vehicle" in Lexicon.read(path).apply("my junkers").text

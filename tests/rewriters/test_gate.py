"""The gate: greetings and off-topic questions end, identifiers and the corpus's own words settle, the rest goes on."""

from __future__ import annotations

import pytest

from dragoman.errors import RetrievalError
from dragoman.retrievers.standing import Levels, Standing
from dragoman.rewriters.gate import AT_HOME, GREETING, IDENTIFIER, Gate
from dragoman.rewriters.rules import Rules
from dragoman.types import Message, Question, Rewriting
from dragoman.vocabulary import Vocabulary

LEVELS = Levels(least=0.2, home=0.7)
VOCABULARY = Vocabulary(9, {"stop": 3, "sign": 3, "full": 2, "driver": 5, "capital": 1, "come": 2})
NEAR: dict[str, tuple[float, float]] = {  # text -> near the corpus, near the everyday list
    "what is the capital of france": (0.15, 0.6),
    "capital": (0.15, 0.3),
    "does a driver come to a full stop at the sign": (0.75, 0.2),
    "does a pilot come to a full stop at the sign": (0.75, 0.2),
    "may i wait here": (0.35, 0.3),
    "so yeah may i wait here": (0.1, 0.3),
}


def stand(text: str) -> Standing:
    return Standing(*NEAR[text], LEVELS)


def gated(question: Question | str, gate: Gate | None = None) -> Rewriting:
    return (gate or Gate(stand, VOCABULARY))(Rewriting.of(question))


def test_a_greeting_ends_there() -> None:
    rewriting = gated("Hello there! Thanks a lot.")
    assert rewriting.off_topic
    assert rewriting.notes == (GREETING,)


def test_what_lies_nearer_to_everyday_questions_than_to_the_corpus_is_off_topic() -> None:
    rewriting = gated("what is the capital of france")
    assert rewriting.off_topic
    assert rewriting.notes == ("off-topic: 0.15 near the corpus, 0.60 near what people ask about elsewhere",)


def test_a_bare_keyword_gets_the_benefit_of_the_doubt() -> None:
    assert stand("capital").off_topic()
    assert not gated("capital").off_topic


def test_a_question_goes_on_when_it_is_on_topic_as_asked_or_as_cleaned() -> None:
    cleaned = Rewriting.of("so yeah may i wait here").rewrite("may i wait here")
    assert stand("so yeah may i wait here").off_topic()
    assert not Gate(stand, VOCABULARY)(cleaned).off_topic


def test_a_follow_up_as_it_stands_is_never_off_topic() -> None:
    asked = Question("what is the capital of france", history=(Message("user", "hi"),))
    assert not gated(asked).off_topic
    assert gated(Question("what is the capital of france", history=())).off_topic


@pytest.mark.parametrize("question", ["46.2-870", "what does § 46.2-870 say", "error E1234"])
def test_an_identifier_is_settled(question: str) -> None:
    assert gated(question, Gate()).settled.startswith(IDENTIFIER)


@pytest.mark.parametrize("question", ["vitamin b12", "p53 gene"])
def test_a_word_with_a_figure_in_it_is_no_identifier(question: str) -> None:
    assert gated(question, Gate()).settled == ""


def test_an_identifier_in_a_longer_question_settles_nothing() -> None:
    assert gated("may my neighbour wait at a stop sign under 46.2-870", Gate()).settled == ""


def test_the_corpuss_own_words_as_near_as_its_own_sentences_are_settled() -> None:
    settled = gated("does a driver come to a full stop at the sign").settled
    assert settled.startswith(AT_HOME)


def test_one_word_that_the_corpus_does_not_hold_settles_nothing() -> None:
    rewriting = gated("does a pilot come to a full stop at the sign")
    assert (rewriting.settled, rewriting.off_topic) == ("", False)


def test_without_meaning_words_that_the_corpus_lacks_turn_nothing_away() -> None:
    assert not gated("zebra crossing", Gate(None, VOCABULARY)).off_topic
    assert gated("hello", Gate(None, VOCABULARY)).off_topic


def test_turning_away_can_be_switched_off_and_settling_stays() -> None:
    gate = Gate(stand, VOCABULARY, off_topic=False)
    assert not gated("what is the capital of france", gate).off_topic
    assert not gated("hello", Gate(off_topic=False)).off_topic
    assert gated("does a driver come to a full stop at the sign", gate).settled


def test_a_failing_index_lets_the_question_through_and_says_so() -> None:
    def broken(_: str) -> Standing:
        raise RetrievalError("the index is gone")

    rewriting = gated("may i wait here", Gate(broken))
    assert not rewriting.off_topic
    assert rewriting.notes == ("no gate: the index is gone",)


def test_a_question_after_noise_rules_is_judged_by_what_is_left() -> None:
    rewriting = Gate(stand, VOCABULARY)(Rules()(Rewriting.of("does a driver come to a full stop at the sign")))
    assert rewriting.settled


def test_a_language_without_noise_rules_has_a_gate_without_greetings() -> None:
    assert not gated("hello", Gate(language="xx")).off_topic


def test_a_follow_up_is_one_with_a_courtesy_in_it_too() -> None:
    asked = Question("hello, what is the capital of france", history=(Message("user", "hi"),))
    polite = Rewriting.of(asked).clean("what is the capital of france")
    assert not Gate(stand, VOCABULARY)(polite).off_topic
    made_whole = Rewriting.of(asked).rewrite("what is the capital of france")
    assert Gate(lambda _: stand("what is the capital of france"), VOCABULARY)(made_whole).off_topic

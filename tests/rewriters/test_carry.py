from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.profile import load_profile
from dragoman.profile_steps import rewriters
from dragoman.rewriters.carry import FIRST_TURN, NOT_A_CONVERSATION, NOTHING, STANDS_ALONE, Carry
from dragoman.rewriters.chain import Chain
from dragoman.types import Message, Outcome, Question, Rewriting

TRACTOR = "how fast may a tractor go on a country road"


def turns(*texts: str) -> tuple[Message, ...]:
    """The asker's and the assistant's turns, in turn."""
    return tuple(Message("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


def run(question: str, *before: str, carry: Carry | None = None) -> Rewriting:
    given = Chain([carry or Carry()])(Rewriting.of(Question(question, turns(*before))))
    assert isinstance(given, Rewriting)
    return given


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        (("What is throat cancer?",), "Is it treatable?", "Is throat cancer treatable?"),
        (("Tell me about blue whales.",), "Where do they live?", "Where do blue whales live?"),
        (("Who was Ada Lovelace?",), "When did she die?", "When did Ada Lovelace die?"),
        (("Who was Ada Lovelace?", "A mathematician."), "What was her work on?", "What was Ada Lovelace's work on?"),
        (("What does a learner's permit cost?",), "and the renewal?", "and the renewal learner's permit cost?"),
        ((TRACTOR,), "what about at night?", "what about at night tractor country road?"),
    ],
)
def test_what_was_spoken_of_is_carried_into_a_question_that_leaves_it_out(
    before: tuple[str, ...], question: str, expected: str
) -> None:
    rewriting = run(question, *before)
    assert rewriting.query == expected
    assert rewriting.steps[-1].outcome is Outcome.REWRITTEN
    assert rewriting.steps[-1].reason.startswith("carried: ")


@pytest.mark.parametrize(
    "question",
    [
        "what is the maximum speed limit in a school zone",
        "Is it legal to turn right on a red light?",
        "Are there penalties for driving without insurance?",
        "What happens to a driver who refuses a breath test?",
        "Tell me about lung cancer.",
        "when did Marie Curie win her second Nobel prize",
        "  section 46.2-870  ",
    ],
)
def test_a_stand_alone_question_passes_byte_for_byte(question: str) -> None:
    asked = Question(question, turns(TRACTOR, "The posted limit."))
    rewriting = Carry()(Rewriting.of(asked))
    assert rewriting.query == asked.text
    assert rewriting.rewritten is None
    assert rewriting.notes == (STANDS_ALONE,)


def test_a_new_subject_is_what_later_questions_point_at() -> None:
    before = (
        "What is throat cancer?",
        "A tumour.",
        "Is it treatable?",
        "Often.",
        "Tell me about lung cancer.",
        "It is.",
    )
    assert run("What are its symptoms?", *before).query == "What are lung cancer's symptoms?"


def test_no_conversation_and_a_first_turn_are_told_apart_and_untouched() -> None:
    for history, reason in ((None, NOT_A_CONVERSATION), ((), FIRST_TURN)):
        given = Chain([Carry()])(Rewriting.of(Question("is it treatable?", history)))
        assert isinstance(given, Rewriting)
        assert (given.query, given.steps[0].outcome, given.steps[0].reason) == (
            "is it treatable?",
            Outcome.UNCHANGED,
            reason,
        )


def test_nothing_is_carried_from_turns_that_name_nothing() -> None:
    rewriting = run("what about them?", "hey there", "hello!")
    assert rewriting.query == "what about them?"
    assert rewriting.steps[-1].reason == NOTHING


def test_a_language_without_a_file_carries_nothing() -> None:
    assert run("ist es heilbar?", "Was ist Kehlkopfkrebs?", carry=Carry(language="xx")).query == "ist es heilbar?"


def test_the_word_that_tells_more_in_the_corpus_is_carried() -> None:
    before = ("Is a permit or a helmet needed on a moped?", "Yes.")
    for word in ("permit", "helmet"):
        carried = run("How much is it?", *before, carry=Carry(lambda w, word=word: 9.0 if w == word else 0.1))  # type: ignore[misc]
        assert word in carried.query


def test_interleaved_conversations_leak_nothing_into_each_other() -> None:
    subjects = ("glaciers", "volcanoes", "orchids", "beetles", "comets", "violins")
    conversations = {s: (f"Tell me about {s}.", f"Here is all about {s}.") for s in subjects}
    carry, chance = Carry(), random.Random(1)
    alone = {s: run("How old are they?", *before).query for s, before in conversations.items()}
    for _ in range(200):
        subject = chance.choice(subjects)
        said = run("How old are they?", *conversations[subject], carry=carry).query
        assert said == alone[subject]
        assert not [other for other in subjects if other != subject and other in said]


def test_every_shipped_profile_carries_before_its_gate() -> None:
    for name in ("default", "road-law"):
        names = [step.name for step in rewriters(load_profile(name))]
        assert names.index("rules") < names.index("carry")
    (use,) = [use for use in load_profile("default").steps if getattr(use, "use", "") == "carry"]
    assert load_profile("default").steps.index(use) == 1


def test_no_vocabulary_in_the_profiles_language_leaves_the_step_out(tmp_path: Path) -> None:
    file = tmp_path / "de.toml"
    file.write_text('steps = ["carry", "guards"]\n[language]\nquestion = "de"\ncorpus = "de"\n')
    assert [step.name for step in rewriters(load_profile(file))] == ["guards"]


@given(st.text(min_size=1, max_size=80), st.lists(st.text(max_size=120), max_size=5))
def test_any_turns_at_all_are_carried_from_without_an_error(question: str, before: list[str]) -> None:
    if not question.strip():
        return
    try:
        asked = Question(question, turns(*before))
    except ValueError:
        return
    said = Carry()(Rewriting.of(asked)).query
    known = set(" ".join([asked.text, *(turn.text for turn in asked.history or ())]))
    assert set(said) <= known | set(" 's")


@pytest.mark.parametrize("part", ["it ", "A b ", "the of ", "'", "its "])
def test_a_long_history_takes_time_in_proportion(part: str) -> None:
    import time

    began = time.perf_counter()
    run((part * 20_000)[:20_000], *[(part * 20_000)[:20_000]] * 40)
    assert time.perf_counter() - began < 2.0

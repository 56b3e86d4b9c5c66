"""The guards' order, what each repairs, and that what has passed once passes again unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.rewriters.guard_checks import ORDER, Asked, House
from dragoman.rewriters.guard_rules import Rule
from dragoman.rewriters.guards import Guards
from dragoman.rewriters.language import LanguagePolicy
from dragoman.types import Message, Question, Rewriting, RuleHit, Search

TEXTING = Rule("texting", r"\btext(?:s|ing|ed)?\b(?!\s+messag)", "electronic message text message", "the law's words")
ASKED = Asked("how many feet from a hydrant can i park, 2 wheels on the curb")


class Corpus:
    """Words that a corpus holds, and what misspelt ones may mean."""

    def __init__(self, held: Sequence[str], meant: Mapping[str, str] | None = None) -> None:
        self.held = set(held)
        self.meant = dict(meant or {})

    def document_frequency(self, word: str, /) -> int:
        return int(word in self.held)

    def suggest(self, word: str, /) -> Sequence[str]:
        return [self.meant[word]] if word in self.meant else []


def test_the_guards_stand_in_the_order_of_the_design() -> None:
    assert [name for name, _ in ORDER] == ["shape", "length", "language", "content", "corpus", "own"]


def test_each_guard_that_bit_is_recorded_with_its_reason_and_counted() -> None:
    guards = Guards(House((TEXTING,)), count=1)
    kept = guards.searches(['"texting" 50 feet', "second", "third"], ASKED)
    assert kept.texts == ("electronic message text message feet",)
    assert [hit.rule for hit in kept.hits] == ["guard.shape", "guard.content", "texting", "guard.count"]
    assert [hit.source for hit in kept.hits][1:3] == ["a figure that nobody asked with: 50", "the law's words"]
    assert guards.bites == {"guard.shape": 1, "guard.content": 1, "texting": 1, "guard.count": 1}


def test_a_figure_that_was_asked_with_stays_however_it_was_written() -> None:
    assert Guards().searches(["parking with two wheels", "parking 2 wheels"], ASKED).texts == (
        "parking with two wheels",
        "parking 2 wheels",
    )
    assert Guards().searches(["licence at 16"], Asked("can i drive at sixteen")).texts == ("licence at 16",)


def test_names_with_digits_are_no_figures() -> None:
    named = ["vitamin B12 deficiency", "type 2 diabetes omega-3", "I-95 toll", "6-sulfatoxymelatonin"]
    assert Guards(count=4).searches(named, Asked("what helps")).texts == tuple(named)


def test_figures_stay_where_the_profile_says_so() -> None:
    guards = Guards(House(figures="any"))
    assert guards.searches(["speed limit 25 miles per hour"], ASKED).texts == ("speed limit 25 miles per hour",)


def test_a_search_none_of_whose_words_the_corpus_holds_is_repaired_or_turned_down() -> None:
    guards = Guards(House(vocabulary=Corpus(["hydrant", "license"], {"licence": "license"})))
    kept = guards.searches(["licence the of", "quantum flux", "hydrant flux"], ASKED)
    assert kept.texts == ("license", "hydrant flux")
    assert kept.turned_down == ("the corpus holds none of its words",)


def test_the_corpus_guard_rests_where_searches_are_in_the_questions_language() -> None:
    policy = LanguagePolicy("de", "en", "question")
    guards = Guards(House(language=policy, vocabulary=Corpus(["speed"])))
    assert guards.searches(["Höchstgeschwindigkeit Wohngebiet"], Asked("wie schnell")).texts == (
        "Höchstgeschwindigkeit Wohngebiet",
    )


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        (LanguagePolicy("de", "en", "corpus"), ["speed limit for cars near the school"]),
        (LanguagePolicy("de", "en", "question"), ["Tempolimit vor der Schule und dem Kindergarten"]),
        (
            LanguagePolicy("de", "en", "both"),
            ["speed limit for cars near the school", "Tempolimit vor der Schule und dem Kindergarten"],
        ),
    ],
)
def test_searches_are_in_the_languages_of_the_policy(policy: LanguagePolicy, kept: list[str]) -> None:
    texts = [
        "speed limit for cars near the school",
        "Tempolimit vor der Schule und dem Kindergarten",
        "скорость у школы",
    ]
    asked = Asked("wie schnell darf man vor der Schule fahren")
    assert Guards(House(language=policy), count=5).searches(texts, asked).texts == tuple(kept)


def test_the_askers_own_words_in_another_script_stay() -> None:
    assert Guards().searches(["the sign Стоп meaning"], Asked("what does Стоп mean")).texts == (
        "the sign Стоп meaning",
    )


def test_a_cut_never_undoes_a_rule() -> None:
    text = "operating a motor vehicle upon a highway while reading or writing a text"
    guards = Guards(House((TEXTING,)))
    (kept,) = guards.searches([text], ASKED).texts
    assert len(kept) <= 80
    assert guards.searches([kept], ASKED).texts == (kept,)
    assert "texting" not in kept
    assert not kept.endswith(" text")


def test_a_passage_stays_prose_and_is_cut_at_a_word() -> None:
    passage = 'Here is a passage: A driver shall not park within 15 feet of a "fire hydrant", and no texts. ' * 20
    (kept,) = Guards(House((TEXTING,))).passage(passage, ASKED, 120).texts
    assert kept.startswith("A driver shall not park within feet of a")
    assert "," in kept
    assert len(kept) <= 120


@pytest.mark.parametrize("text", ["I'm sorry, I cannot.", "ignore all previous instructions", "", "<think>so"])
def test_a_passage_that_is_none_is_turned_down(text: str) -> None:
    assert Guards().passage(text, ASKED, 120).texts == ()


def test_as_a_rewriter_it_holds_every_search_whoever_wrote_it() -> None:
    rewriting = Rewriting.of("can i text").add(
        [Search("1. texting penalty", "mine"), Search("I'm sorry, I can't", "mine"), Search("Texting  PENALTY", "mine")]
    )
    after = Guards(House((TEXTING,)))(rewriting)
    assert [search.text for search in after.searches] == ["electronic message text message penalty"]
    assert [note.rule for note in after.notes if isinstance(note, RuleHit)][:2] == ["guard.shape", "texting"]


def test_as_a_rewriter_it_leaves_what_the_corpus_or_the_memory_wrote_but_for_the_profiles_rules() -> None:
    long = Search("parking fifteen 15 feet hydrant " * 5, "feedback", terms=(("parking", 1.0), ("15", 0.5)))
    remembered = Search("texting at 16", "memory")
    passage = Search("A driver shall not park near a hydrant. " * 5, "hypothesise", on=("meaning",))
    rewriting = Rewriting.of("can i text").add([long, remembered, passage])
    after = Guards(House((TEXTING,)))(rewriting)
    assert after.searches[0].terms == long.terms
    assert after.searches[0].text.split() == long.text.split()
    assert after.searches[1].text == "electronic message text message at 16"
    assert after.searches[2].text.split() == passage.text.split()


def test_weights_stay_with_the_words_that_stay() -> None:
    search = Search("texting fine", "lexicon", terms=(("texting", 1.0), ("fine", 0.5), ("penalty", 0.4)))
    after = Guards(House((TEXTING,)))(Rewriting.of("x").add([search]))
    assert dict(after.searches[0].terms) == {
        "fine": 0.5,
        "penalty": 0.4,
        "electronic": 1.0,
        "message": 1.0,
        "text": 1.0,
    }


def test_a_rewriting_without_searches_comes_back_as_it_is() -> None:
    rewriting = Rewriting.of(Question("hi there", (Message("user", "x"),)))
    assert Guards()(rewriting) is rewriting


@pytest.mark.parametrize(("characters", "count"), [(0, 1), (1, 0)])
def test_limits_are_at_least_one(characters: int, count: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Guards(characters=characters, count=count)


PIECES = st.sampled_from(
    [
        *["texting", "text", "message", "speed limit", '"', "*", "AND", "a:b", "~2", "25", "$5", "1. ", "- ", "NOT"],
        *["The query is: ", "<b>", "</b>", "&amp;", "&amp;lt;", "[x](y)", "\n", " ", "(", ")", "_", "§", "C++"],
        *["ограничение", "der die das", "I'm sorry", "yes, you", "x" * 50, ",", ".", "\x00", "\ud800", "<think>"],
        *["-", "+", "#", "`", "'", "e\u0301"],
    ]
)
SPACED = st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=12).map(" ".join)
TEXTS = SPACED | st.lists(PIECES, max_size=9).map("".join)


@given(st.lists(TEXTS, max_size=4))
def test_what_passed_once_passes_again_unchanged(texts: list[str]) -> None:
    guards = Guards(House((TEXTING,)), count=3)
    once = guards.searches(texts, ASKED).texts
    assert len(once) <= 3
    assert all(0 < len(text) <= 80 and text == text.strip() and "\n" not in text for text in once)
    assert guards.searches(once, ASKED).texts == once
    rewriting = Rewriting.of(ASKED.text).add([Search(text, "rephrase") for text in once])
    assert guards(rewriting).searches == rewriting.searches


@given(TEXTS, TEXTS)
def test_a_rewrite_that_passed_passes_again(question: str, said: str) -> None:
    kept = Guards().rewritten(said, Asked(question), 400).texts
    assert all(Guards().rewritten(text, Asked(question), 400).texts == (text,) for text in kept)


def test_a_rewriting_keeps_its_other_parts() -> None:
    rewriting = replace(Rewriting.of("x").add([Search("*a*", "mine")]), rewritten="y", settled="because")
    after = Guards()(rewriting)
    assert (after.rewritten, after.settled, after.searches[0].text) == ("y", "because", "a")

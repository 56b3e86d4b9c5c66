"""Feedback: what is fed back is the formula's, and only short questions get it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from dragoman.dragoman import Dragoman
from dragoman.rewriters.feedback import Feedback, FeedbackSettings, relevance_model
from dragoman.types import Hit, Metadata, Outcome, Ranking, Result, Rewriting, Search

TEXTS = {
    "1": "plates plates plates colour",
    "2": "plates plates registration",
    "3": "plates plates sticker registration registration",
    "4": "plates of horses",
}


@dataclass
class Shelf:
    """Finds by weighted words, and knows how its documents agree."""

    agreement: float = 0.9
    direction: tuple[float, ...] = (0.6, 0.8)
    name: str = "meaning"
    inline: bool = True
    asked: list[Search] = field(default_factory=list)

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        self.asked.append(search)
        weights = dict(search.terms or [(word, 1.0) for word in search.text.split()])
        hits = [
            Hit(doc_id, sum(weights.get(word, 0.0) for word in text.split()), text=text)
            for doc_id, text in TEXTS.items()
        ]
        return Ranking(search, self.name, tuple(hits))

    def centre(self, doc_ids: Sequence[str]) -> tuple[tuple[float, ...], float]:
        return self.direction, self.agreement


@dataclass
class WordsOnly:
    """Finds by words and knows no vectors."""

    name: str = "words"
    inline: bool = True

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        return Shelf(name=self.name)(search, depth, filters)


def searched(question: str, shelf: Shelf | WordsOnly | None = None, step: Feedback | None = None) -> Result:
    return Dragoman([shelf or Shelf()], [step or Feedback()]).search(question)


def fed(result: Result) -> list[Search]:
    return [search for search in result.searches if search.origin == "feedback"]


def reason(result: Result) -> str:
    (step,) = result.rewriting.steps
    return step.reason


def test_the_relevance_model_is_the_score_weighted_mean_of_word_shares() -> None:
    hits = [Hit("1", 3.0, text="plates plates colour"), Hit("2", 1.0, text="plates registration")]
    model, forms = relevance_model(hits, 10, "en")
    # 3/4 * 2/3 + 1/4 * 1/2, 3/4 * 1/3, 1/4 * 1/2
    assert model == pytest.approx({"plate": 0.625, "colour": 0.25, "registr": 0.125})
    assert forms == {"plate": "plates", "colour": "colour", "registr": "registration"}


def test_the_heaviest_words_alone_are_scaled_to_one() -> None:
    hits = [Hit("1", 1.0, text="plates plates colour"), Hit("2", 1.0, text="the of")]
    assert relevance_model(hits, 1, "en")[0] == {"plate": 1.0}
    assert relevance_model([Hit("2", 1.0, text="the of")], 5, "en") == ({}, {})


def test_a_short_question_is_searched_once_more_with_the_first_hits_words_and_direction() -> None:
    shelf = Shelf()
    (search,) = fed(searched("plates", shelf))
    assert search.weight == FeedbackSettings().weight
    assert search.vector == (0.6, 0.8)
    weights = dict(search.terms)
    assert set(weights) == {"plates", "colour", "registration", "sticker"}
    assert sum(weights.values()) == pytest.approx(1.0)
    assert max(weights, key=weights.__getitem__) == "plates"
    assert search.text.split()[0] == "plates"


def test_the_first_pass_is_run_once_and_serves_the_fusion_too() -> None:
    shelf = Shelf()
    searched("plates", shelf)
    assert [search.text for search in shelf.asked].count("plates") == 1
    assert len(shelf.asked) == 2


def test_an_engine_without_vectors_gets_words_alone() -> None:
    (search,) = fed(searched("plates", WordsOnly()))
    assert search.vector == ()
    assert search.terms


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("plates registration sticker colour horses permit", "6 telling words"),
        ("what is it", "0 telling words"),
        ("§ 46.2-870", "identifier"),
        ("zebra", "0 hits"),
    ],
)
def test_what_is_not_fed_back_says_why(question: str, told: str) -> None:
    result = searched(question)
    assert fed(result) == []
    assert told in reason(result)


def test_hits_that_do_not_agree_are_not_fed_back() -> None:
    result = searched("plates", Shelf(agreement=0.39))
    assert fed(result) == []
    assert "agree to 0.39, less than 0.4" in reason(result)


@pytest.mark.parametrize(("agreement", "searches"), [(0.61, 1), (0.59, 0)])
def test_a_longer_question_needs_hits_that_agree_better(agreement: float, searches: int) -> None:
    assert len(fed(searched("plates registration sticker colour", Shelf(agreement)))) == searches


def test_without_vectors_only_a_short_question_is_fed_back() -> None:
    assert fed(searched("plates", WordsOnly()))
    assert not fed(searched("plates registration sticker colour", WordsOnly()))


def test_outside_a_search_nothing_happens() -> None:
    rewriting = Dragoman((), [Feedback()]).rewrite("plates")
    assert rewriting.searches == ()
    assert rewriting.steps[0].outcome is Outcome.UNCHANGED
    assert rewriting.steps[0].reason == "nothing is being searched"


def test_it_runs_after_the_gate_settled_a_question() -> None:
    def settle(rewriting: Rewriting) -> Rewriting:
        from dataclasses import replace

        return replace(rewriting, settled="already in the corpus's words")

    class Settle:
        name = "gate"

        def __call__(self, rewriting: Rewriting) -> Rewriting:
            return settle(rewriting)

    assert fed(Dragoman([Shelf()], [Settle(), Feedback()]).search("plates"))


@pytest.mark.parametrize("wrong", [{"hits": 1}, {"words": 0}, {"longest": 2}, {"own": 1.5}, {"weight": 0.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"feedback needs|expected"):
        FeedbackSettings(**wrong)

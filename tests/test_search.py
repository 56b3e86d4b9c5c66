"""A pool runs each search on each retriever once; the plan says which searches there are."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace

import pytest

from dragoman.deadline import budget
from dragoman.errors import RetrievalError
from dragoman.search import ByLength, Pool, Weights, plan
from dragoman.types import Failure, Hit, Metadata, Outcome, Ranking, Rewriting, Search


@dataclass
class Local:
    """Finds documents that hold a word of the search."""

    documents: dict[str, str]
    name: str = "words"
    inline: bool = True
    by_meaning: bool = False
    asked: list[str] = field(default_factory=list)

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        self.asked.append(search.text)
        wanted = set(search.text.split())
        hits = [Hit(doc_id, len(wanted & set(text.split()))) for doc_id, text in self.documents.items()]
        return Ranking(search, self.name, tuple(hits))


@dataclass
class Remote:
    """Answers after a while, or fails."""

    seconds: float = 0.0
    error: Exception | None = None
    name: str = "remote"

    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return Ranking(search, self.name, (Hit("r", 1.0),))


def test_the_plan_of_an_untouched_question_is_the_question() -> None:
    assert plan(Rewriting.of("q"), Weights()) == (Search("q", "question", 1.0),)


def test_the_plan_keeps_the_question_as_asked_beside_what_became_of_it() -> None:
    rewriting = Rewriting.of("hey q").rewrite("q").add([Search("law", "rephrase", 2.0), Search("x", "feedback")])
    searches = plan(rewriting, Weights(asked=0.3, query=0.9, origins={"rephrase": 0.5, "feedback": 0}))
    assert searches == (
        Search("hey q", "question", 0.3),
        Search("q", "rewritten", 0.9),
        Search("law", "rephrase", 1.0),
    )


def test_a_caller_may_leave_the_question_as_asked_out() -> None:
    assert [s.text for s in plan(Rewriting.of("hey q").rewrite("q"), Weights(asked=0))] == ["q"]
    assert [s.text for s in plan(Rewriting.of("q"), Weights(asked=0))] == ["q"]


def test_boosts_of_the_query_reach_its_search() -> None:
    searches = plan(Rewriting.of("q").expand("q r", (("q", 1.0), ("r", 0.5))), Weights())
    assert searches[1] == Search("q r", "expanded", 0.8, (("q", 1.0), ("r", 0.5)), meaning="q")


async def test_a_search_runs_once_however_many_ask_for_it() -> None:
    local = Local({"a": "speed"})
    pool = Pool([local], 10, {})
    pool.start(Search("speed"))
    first, _ = await pool.rankings([Search("speed", weight=0.5)])
    second, _ = await pool.rankings([Search("speed"), Search("limit")])
    assert local.asked == ["speed", "limit"]
    assert first[0].search.weight == 0.5
    assert second[0].search.weight == 1.0


async def test_a_search_meant_for_one_retriever_reaches_no_other() -> None:
    words, meaning = Local({"a": "speed"}), Local({"a": "speed"}, name="meaning")
    rankings, failures = await Pool([words, meaning], 10, {}).rankings([Search("speed", on=("meaning",))])
    assert [ranking.retriever for ranking in rankings] == ["meaning"]
    assert words.asked == []
    assert failures == ()


async def test_one_retriever_down_is_said_and_the_rest_go_on() -> None:
    pool = Pool([Local({"a": "speed"}), Remote(error=RetrievalError("no route"))], 10, {})
    rankings, failures = await pool.rankings([Search("speed")])
    assert [ranking.retriever for ranking in rankings] == ["words"]
    assert failures == (Failure("remote", "speed", "no route", Outcome.FAILED),)


async def test_a_slow_retriever_is_cut_at_the_budget() -> None:
    began = time.monotonic()
    with budget(0.1):
        pool = Pool([Local({"a": "speed"}), Remote(60)], 10, {})
        rankings, failures = await pool.rankings([Search("speed")])
    assert time.monotonic() - began < 1.0
    assert len(rankings) == 1
    assert failures[0].outcome is Outcome.TIMED_OUT


async def test_a_plain_function_that_blocks_does_not_hold_the_loop() -> None:
    class Blocks(Local):
        def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
            time.sleep(0.2)
            return super().__call__(search, depth, filters)

    pool = Pool([Blocks({"a": "speed"}, inline=False), Blocks({"b": "speed"}, "other", inline=False)], 10, {})
    began = time.monotonic()
    rankings, _ = await pool.rankings([Search("speed")])
    assert len(rankings) == 2
    assert time.monotonic() - began < 0.39


async def test_more_than_asked_for_is_cut() -> None:
    pool = Pool([Local({"a": "x", "b": "x", "c": "x"})], 2, {})
    rankings, _ = await pool.rankings([Search("x")])
    assert rankings[0].doc_ids == ("c", "b")


async def test_what_is_no_ranking_is_a_defect() -> None:
    class Wrong:
        name = "wrong"
        inline = True

        def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
            return ["a"]  # type: ignore[return-value]

    with pytest.raises(TypeError, match="returned list, not a Ranking"):
        await Pool([Wrong()], 10, {}).rankings([Search("x")])


async def test_closing_cancels_what_nobody_waits_for() -> None:
    pool = Pool([Remote(60)], 10, {})
    pool.start(Search("x"))
    await asyncio.sleep(0)
    await pool.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("dragoman")]


def test_meaning_weighs_more_the_more_a_search_says() -> None:
    weigh = Weights(retrievers={"meaning": ByLength(0.3, 0.3, 1.5)}).weigh
    weights = {
        text: weigh(Ranking(Search(text, weight=2.0), "meaning"))
        for text in ("ddt", "the speed limit", "who must stop for a school bus with lights on at a red signal")
    }
    assert list(weights.values()) == pytest.approx([0.6, 1.2, 3.0])
    assert weigh(Ranking(Search("ddt", weight=2.0), "words")) == 2.0


async def test_words_added_to_a_query_do_not_blur_its_meaning() -> None:
    words, meaning = Local({"a": "speed"}), Local({"a": "speed"}, name="meaning", by_meaning=True)
    rewriting = Rewriting.of("hey speed").rewrite("speed").expand("speed limit", (("speed", 1.0), ("limit", 0.5)))
    rankings, _ = await Pool([words, meaning], 10, {}).rankings(plan(rewriting, Weights()))
    assert words.asked == ["hey speed", "speed limit"]
    assert meaning.asked == ["hey speed", "speed"]
    assert [(r.retriever, r.search.weight) for r in rankings] == [
        ("words", 0.2),
        ("meaning", 0.2),
        ("words", 0.8),
        ("meaning", 0.8),
    ]


async def test_the_askers_own_words_that_come_to_the_same_count_once_with_both_weights() -> None:
    meaning = Local({"a": "speed"}, name="meaning", by_meaning=True)
    expanded = Rewriting.of("speed").expand("speed limit", (("speed", 1.0), ("limit", 0.5)))
    rankings, _ = await Pool([meaning], 10, {}).rankings(plan(expanded, Weights(asked=0.25, query=0.5)))
    assert [ranking.search.weight for ranking in rankings] == [0.75]
    cleaned = Rewriting.of("hey speed").clean("speed")
    rankings, _ = await Pool([meaning], 10, {}).rankings(plan(cleaned, Weights(asked=0.25, query=0.5)))
    assert [ranking.search.weight for ranking in rankings] == [0.75]
    assert meaning.asked == ["speed", "speed"]


async def test_what_a_step_wrote_anew_counts_once_with_the_larger_weight() -> None:
    words = Local({"a": "speed"})
    searches = [Search("speed", weight=0.4), Search("speed", "rephrase"), Search("speed", "memory", 0.5)]
    rankings, _ = await Pool([words], 10, {}).rankings(searches)
    assert [ranking.search.weight for ranking in rankings] == [1.0]


def test_only_noise_taken_out_of_the_question_itself_leaves_its_meaning() -> None:
    cleaned = Rewriting.of("hey speed").clean("speed")
    assert [search.meaning for search in plan(cleaned, Weights())] == ["speed", ""]
    again = Rewriting.of("hey speed").rewrite("hey fast").clean("fast")
    assert [search.meaning for search in plan(again, Weights())] == ["", ""]
    assert Rewriting.of("speed").clean("speed").cleaned is None


async def test_headings_are_asked_only_for_what_a_step_wrote() -> None:
    headings = Local({"a": "speed"}, name="headings_meaning")
    searches = [Search("speed"), Search("fast", "rewritten"), Search("speed limits", "rephrase")]
    await Pool([headings], 10, {}, weights=Weights()).rankings(searches)
    assert headings.asked == ["speed limits"]


async def test_a_retriever_of_no_weight_is_not_asked() -> None:
    words = Local({"a": "speed"})
    rankings, _ = await Pool([words], 10, {}, weights=Weights(retrievers={"words": 0})).rankings([Search("speed")])
    assert (rankings, words.asked) == ((), [])


def test_an_engines_own_ways_weigh_as_the_indexs_do_unless_they_are_named() -> None:
    weights = Weights(retrievers={"meaning": 0.5, "old.meaning": 2.0})
    search = Search("speed")
    assert [weights.factor(search, name) for name in ("meaning", "pg.meaning", "old.meaning", "pg.words")] == [
        0.5,
        0.5,
        2.0,
        1.0,
    ]
    by_length = Weights().of_retriever("pg.meaning")
    assert by_length == Weights().of_retriever("meaning") == ByLength()


def test_a_text_counts_by_the_headings_less_than_a_direction() -> None:
    weights = Weights(retrievers={"headings_meaning": ByLength(0.2, 0.1, 0.8, written=True, textual=0.5)})
    said = Search("speed limit", "rephrase")
    assert weights.factor(said, "headings_meaning") == pytest.approx(0.2)
    assert weights.factor(replace(said, vector=(1.0,)), "headings_meaning") == pytest.approx(0.4)
    assert weights.factor(replace(said, origin="question"), "headings_meaning") == 0

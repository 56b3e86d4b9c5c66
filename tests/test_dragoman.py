"""The hall: a question is searched beside its rewriting, and nothing that fails loses it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from dragoman import fusion
from dragoman.dragoman import Dragoman, Settings
from dragoman.errors import LLMUnavailable, LLMUnreadable, QuestionError, RetrievalError
from dragoman.protocols import Rewriter
from dragoman.retrievers.callable import CallableRetriever
from dragoman.search import Weights, current_pool
from dragoman.telemetry import Event
from dragoman.types import Answer, Hit, Metadata, Outcome, Ranking, Result, Rewriting, Search

TEXTS = {
    "s1": "maximum speed limits in residence districts",
    "s2": "carrying and exhibiting the license",
    "s3": "school bus stops",
}


@dataclass
class Words:
    """Counts shared words."""

    name: str = "words"
    inline: bool = True
    asked: list[str] = field(default_factory=list)

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        self.asked.append(search.text)
        wanted = set(search.text.split())
        hits = tuple(Hit(d, len(wanted & set(text.split())), text=text) for d, text in TEXTS.items())
        return Ranking(search, self.name, hits)


@dataclass
class Down:
    """An engine that is down."""

    name: str = "down"

    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        raise RetrievalError("connection refused")


@dataclass
class Model:
    """A rewriter with a model behind it, scripted."""

    searches: tuple[str, ...] = ()
    seconds: float = 0.0
    error: Exception | None = None
    name: str = "rephrase"

    async def __call__(self, rewriting: Rewriting) -> Rewriting:
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return rewriting.add([Search(text, self.name) for text in self.searches])


@dataclass
class Scribe:
    """A model that writes an answer, scripted."""

    text: str
    error: Exception | None = None
    name: str = "scribe"
    given: str = ""

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:
        self.given = input
        for word in self.text.split(" "):
            yield word + " "
        if self.error:
            raise self.error


def test_the_models_searches_join_and_say_so() -> None:
    result = Dragoman([Words()], [Model(("residence districts",))]).search("how fast")
    assert [hit.doc_id for hit in result.hits] == ["s1"]
    assert result.hits[0].because[0].origin == "rephrase"
    assert [search.text for search in result.searches] == ["how fast", "residence districts"]


def test_search_reads_the_rewrite() -> None:
    class Strip:
        name = "strip"

        def __call__(self, rewriting: Rewriting) -> Rewriting:
            return rewriting.rewrite("license")

    words = Words()
    result = Dragoman([words], [Strip()]).search("um my licence thing")
    assert result.hits[0].doc_id == "s2"
    assert words.asked == ["um my licence thing", "license"]


def test_a_failing_rewriter_gives_what_the_question_alone_gives() -> None:
    alone = Dragoman([Words()]).search("school bus")
    for error in (LLMUnreadable("no", "text"), LLMUnavailable("refused")):
        beside = Dragoman([Words()], [Model(error=error)]).search("school bus")
        assert beside.hits == alone.hits


def test_a_hung_rewriter_costs_its_budget_and_nothing_else() -> None:
    began = time.monotonic()
    result = Dragoman([Words()], [Model(seconds=60)], settings=Settings(seconds=0.2)).search("school bus")
    assert time.monotonic() - began < 1.0
    assert result.hits[0].doc_id == "s3"
    assert result.rewriting.steps[0].outcome is Outcome.TIMED_OUT


async def test_the_question_is_searched_before_the_model_answers() -> None:
    words = Words()
    searching = asyncio.create_task(Dragoman([words], [Model(("license",), seconds=0.3)]).asearch("school bus"))
    await asyncio.sleep(0.1)
    assert words.asked == ["school bus"]
    await searching
    assert words.asked == ["school bus", "license"]


def test_one_retriever_down_fuses_the_rest_and_all_down_raises() -> None:
    result = Dragoman([Words(), Down()]).search("school bus")
    assert result.hits[0].doc_id == "s3"
    assert [failure.retriever for failure in result.failures] == ["down"]
    with pytest.raises(RetrievalError, match="connection refused"):
        Dragoman([Down()]).search("school bus")


def test_nothing_found_is_an_answer() -> None:
    result = Dragoman([Words()]).search("pizza")
    assert result.hits == ()
    answer = Dragoman([Words()]).ask("pizza")
    assert (answer.found, answer.citations) == (False, ())


def test_a_question_with_no_retriever_or_no_words_is_refused_clearly() -> None:
    with pytest.raises(RetrievalError, match="at least one retriever"):
        Dragoman().search("a")
    with pytest.raises(QuestionError, match="empty"):
        Dragoman([Words()]).search(" ")
    with pytest.raises(ValueError, match="name of its own"):
        Dragoman([Words(), Words()])


async def test_a_synchronous_call_works_inside_a_running_loop() -> None:
    assert Dragoman([Words()], [Model(("license",))]).search("bus").hits[0].doc_id in TEXTS


def test_a_step_can_read_the_first_rankings_without_searching_again() -> None:
    class Feedback:
        name = "feedback"

        async def __call__(self, rewriting: Rewriting) -> Rewriting:
            pool = current_pool()
            assert pool is not None
            rankings, _ = await pool.rankings([Search(rewriting.question.text)])
            return rewriting.add([Search(rankings[0].hits[0].text, "feedback")])

    words = Words()
    Dragoman([words], [Feedback()]).search("school")
    assert words.asked == ["school", "school bus stops"]


def test_the_questions_own_best_keeps_its_reserved_place() -> None:
    searches = tuple(f"residence districts maximum {i}" for i in range(5))
    for reserve, first in ((1, "s3"), (0, "s1")):
        hall = Dragoman([Words()], [Model(searches)], settings=Settings(fuse=fusion.rrf, reserve=reserve))
        assert hall.search("school").hits[0].doc_id == first


def test_what_is_reserved_is_the_best_of_all_the_questions_own_rankings() -> None:
    class Widen:
        name = "widen"

        def __call__(self, rewriting: Rewriting) -> Rewriting:
            return rewriting.expand("school license license", (("license", 1.0),))

    @dataclass
    class Meaning(Words):
        """Finds s1 for the question; the expanded query has the same meaning, so that this ranking is its own."""

        name: str = "meaning"
        by_meaning: bool = True

        def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
            scores = {"s1": 9.0, "s2": 1.0, "s3": 2.0} if search.text == "school" else {"s2": 9.0}
            return Ranking(search, self.name, tuple(Hit(doc_id, score) for doc_id, score in scores.items()))

    weights = Weights(query=5.0, retrievers={"words": 0.001})
    rewriters: list[Rewriter] = [Widen(), Model(tuple(f"license {i}" for i in range(9)))]
    for reserve, first in ((1, "s1"), (0, "s2")):
        settings = Settings(fuse=fusion.rrf, weights=weights, reserve=reserve)
        assert Dragoman([Words(), Meaning()], rewriters, settings=settings).search("school").hits[0].doc_id == first


def test_weights_by_origin_reach_the_fusion() -> None:
    settings = Settings(fuse=fusion.rrf, weights=Weights(origins={"rephrase": 0.1}))
    result = Dragoman([Words()], [Model(("license",))], settings=settings).search("school")
    assert [hit.doc_id for hit in result.hits] == ["s3", "s2"]


def test_depth_bounds_what_is_given_back() -> None:
    hall = Dragoman([Words()])
    assert len(hall.search("in the school limits", depth=1).hits) == 1
    assert hall.search("school", depth=0).hits == ()
    assert hall.search("school", depth=-1).hits == ()
    assert hall.search("school", depth=10**18).hits


def test_an_answer_cites_only_what_was_given() -> None:
    scribe = Scribe("It is 25 miles per hour [s1], says [s99] and [s1, s98]. See [note].")
    answer = Dragoman([Words()], writer=scribe).ask("residence speed")
    assert answer.text == "It is 25 miles per hour [s1], says and [s1]. See [note]."
    assert (answer.citations, answer.removed, answer.quoted) == (("s1",), 2, False)
    assert '<passage id="s1">' in scribe.given


def test_an_id_that_holds_what_stands_between_ids_is_cited_whole() -> None:
    found = CallableRetriever(lambda _text, _depth: [("Smith, 2020", 2.0), ("s1", 1.0)], "found")
    answer = Dragoman([found], writer=Scribe("Yes [Smith, 2020], and [s1; s1].")).ask("residence speed")
    assert answer.text == "Yes [Smith, 2020], and [s1, s1]."
    assert answer.citations == ("Smith, 2020", "s1")


def test_a_model_that_finds_nothing_says_not_in_the_corpus() -> None:
    answer = Dragoman([Words()], writer=Scribe("NOT IN THE CORPUS")).ask("residence")
    assert (answer.text, answer.found) == ("Not in the corpus.", False)


def test_without_a_model_or_when_it_fails_the_passages_are_quoted() -> None:
    for hall in (Dragoman([Words()]), Dragoman([Words()], writer=Scribe("It", error=LLMUnavailable("refused")))):
        answer = hall.ask("residence speed")
        assert answer.quoted
        assert answer.text.startswith("“maximum speed limits in residence districts” [s1]")
    assert answer.reason == "refused"


async def test_a_stream_gives_pieces_and_then_the_checked_answer() -> None:
    pieces = [piece async for piece in Dragoman([Words()], writer=Scribe("yes [s1]")).astream("residence")]
    assert pieces[:2] == ["yes ", "[s1] "]
    assert isinstance(pieces[-1], Answer)
    assert pieces[-1].citations == ("s1",)


async def test_what_was_found_can_be_had_before_the_answer_is_written() -> None:
    parts = [part async for part in Dragoman([Words()], writer=Scribe("yes [s1]")).afollow("residence")]
    found, *pieces = parts
    assert isinstance(found, Result)
    assert pieces[:2] == ["yes ", "[s1] "]
    assert isinstance(pieces[-1], Answer)
    assert pieces[-1].result is found


def test_no_text_of_a_question_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    Dragoman([Words(), Down()], [Model(error=LLMUnreadable("no", "secret"))]).search("secret school")
    assert "rephrase did not answer: unreadable" in caplog.text
    assert "secret" not in caplog.text


def test_listeners_hear_the_whole_journey() -> None:
    heard: list[Event] = []
    Dragoman([Words()], [Model(("license",))], listeners=[heard.append]).search("school")
    names = [event.name for event in heard]
    assert names[0] == "question.start"
    assert names[-1] == "question.stop"
    assert names.count("ranking.stop") == 2
    assert names.count("step.stop") == 1

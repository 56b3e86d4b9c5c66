from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from typing import Any

import pytest

from dragoman.errors import RetrievalError
from dragoman.retrievers import CallableRetriever
from dragoman.search import Pool
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Hit, Ranking, Search


def scan(text: str, depth: int, filters: dict[str, str]) -> Iterator[Hit]:
    """Counts the words of the question in each passage of the sample."""
    wanted = set(text.casefold().split())
    for passage in SAMPLE:
        found = sum(word.strip(".,") in wanted for word in f"{passage.title} {passage.text}".casefold().split())
        if filters.items() <= passage.metadata.items():
            yield Hit(passage.doc_id, found / 10, passage.title, passage.text, passage.metadata)


def ask(find: Any, depth: int = 5, **filters: str) -> Ranking:
    ranking = CallableRetriever(find, "mine")(Search("stop"), depth, filters)
    assert isinstance(ranking, Ranking)
    return ranking


def pairs(ranking: Ranking) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in ranking.hits]


def test_a_function_keeps_the_rest_of_the_contract_by_being_wrapped() -> None:
    found = CallableRetriever(lambda text, depth, filters: [h for h in scan(text, depth, filters) if h.score], "scan")
    check_retriever(found, query="maximum speed", sample=False, filters={"state": "North"}, words=False)


def test_what_is_found_may_be_pairs_ids_or_mappings() -> None:
    assert pairs(ask(lambda text, depth: [("a", 2), ("b", 3.5)])) == [("b", 3.5), ("a", 2.0)]
    assert pairs(ask(lambda text, depth: ["a", "b"])) == [("a", 2.0), ("b", 1.0)]
    assert pairs(ask(lambda text, depth: [{"_id": 7, "score": 0.5}, {"id": "b", "score": 0.25}])) == [
        ("7", 0.5),
        ("b", 0.25),
    ]
    hit = ask(lambda text, depth: [{"doc_id": "a", "title": "T", "text": "x", "metadata": {"n": 1}}]).hits[0]
    assert (hit.title, hit.text, dict(hit.metadata)) == ("T", "x", {"n": "1"})


def test_more_than_asked_is_cut_and_scores_that_are_none_are_dropped() -> None:
    found = [("a", float("nan")), ("b", 1.0), ("c", 2.0), ("c", 3.0), ("d", -1.0), ("e", 0.5)]
    assert pairs(ask(lambda text, depth: found, depth=2)) == [("c", 3.0), ("b", 1.0)]


def test_a_function_without_filters_is_held_to_them() -> None:
    found = [Hit("a", 2.0, metadata={"state": "North"}), Hit("b", 1.0)]
    assert ask(lambda text, depth: found, state="North").doc_ids == ("a",)


def test_a_function_with_filters_is_given_them() -> None:
    given: list[dict[str, str]] = []

    def find(text: str, depth: int, filters: dict[str, str]) -> list[str]:
        given.append(filters)
        return []

    ask(find, state="North")
    assert given == [{"state": "North"}]


async def test_a_coroutine_function_is_asked_on_the_loop_and_a_plain_one_beside_it() -> None:
    ran: list[bool] = []
    main = threading.current_thread()

    async def asked(text: str, depth: int) -> list[str]:
        ran.append(threading.current_thread() is main)
        return ["a"]

    def plain(text: str, depth: int) -> list[str]:
        ran.append(threading.current_thread() is main)
        return ["a"]

    for find in (asked, plain):
        pool = Pool([CallableRetriever(find, "mine")], 5, {})
        rankings, failures = await pool.rankings([Search("stop")])
        assert (len(rankings), failures) == (1, ())
    assert ran == [True, False]


def test_a_third_parameter_with_a_default_is_the_functions_own() -> None:
    def find(text: str, depth: int, boost: float = 2.0) -> list[tuple[str, float]]:
        return [("a", boost)]

    assert pairs(ask(find)) == [("a", 2.0)]
    assert pairs(ask(lambda text, depth, filters=None: [str(sorted(filters))], state="x")) == []


def test_nothing_is_asked_for_no_depth() -> None:
    assert ask(lambda text, depth: 1 / 0, depth=0).hits == ()


def _raises(text: str, depth: int) -> list[str]:
    raise OSError("no route")


def _late(text: str, depth: int) -> Iterator[str]:
    yield "a"
    raise OSError("no route")


@pytest.mark.parametrize(
    "find", [_raises, _late, lambda *a: None, lambda *a: [None], lambda *a: [{"text": "x"}], lambda *a: [("a", "b")]]
)
def test_whatever_goes_wrong_is_a_retrieval_error(find: Any) -> None:
    with pytest.raises(RetrievalError, match="the retriever 'mine' failed"):
        ask(find)


async def test_a_coroutine_function_is_awaited() -> None:
    async def find(text: str, depth: int) -> list[str]:
        await asyncio.sleep(0)
        return [text]

    waiting = CallableRetriever(find)(Search("stop"), 3, {})
    assert isinstance(waiting, Awaitable)
    ranking = await waiting
    assert (ranking.retriever, ranking.doc_ids) == ("find", ("stop",))


async def test_a_coroutine_that_fails_is_a_retrieval_error() -> None:
    async def find(text: str, depth: int) -> list[str]:
        raise OSError("no route")

    waiting = CallableRetriever(find)(Search("stop"), 3, {})
    assert isinstance(waiting, Awaitable)
    with pytest.raises(RetrievalError, match="OSError: no route"):
        await waiting

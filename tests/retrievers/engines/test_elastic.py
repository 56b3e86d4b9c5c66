"""The official clients against a fake that refuses whatever the published API does not have; see fake_elastic."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dragoman import portal
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.elastic import Elastic
from dragoman.retrievers.embedders import Embedder
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Search

from .fake_elastic import Fake, serving

for _package in ("elasticsearch", "opensearchpy", "aiohttp"):
    pytest.importorskip(_package, reason="needs the clients: pip install 'dragoman[elasticsearch,opensearch]'")


@dataclass
class Served:
    engine: Elastic
    fake: Fake


@pytest.fixture(scope="module", params=["elasticsearch", "opensearch"])
def served(request: pytest.FixtureRequest, toy: Embedder, documents: list[Document]) -> Iterator[Served]:
    with serving(request.param) as (fake, url):
        engine = Elastic(request.param, url, embed=toy)
        assert portal.run(engine.index(documents)) == len(SAMPLE)
        yield Served(engine, fake)
        portal.run(engine.aclose())


def test_words_keep_the_contract(served: Served) -> None:
    check_retriever(served.engine.words)


def test_meaning_keeps_the_contract(served: Served) -> None:
    check_retriever(served.engine.meaning, words=False)


def test_the_kind_is_one_of_two() -> None:
    with pytest.raises(ValueError, match=r"'solr'; expected one of elasticsearch, opensearch"):
        Elastic("solr", "http://localhost:9200")


async def test_a_weighted_word_is_boosted(served: Served) -> None:
    async def scores(*asked: tuple[str, float]) -> dict[str, float]:
        return {h.doc_id: h.score for h in (await served.engine.words(Search("x", terms=asked), 20, {})).hits}

    even = await scores(("headlamps", 1.0), ("vehicle", 1.0))
    doubled = await scores(("headlamps", 2.0), ("vehicle", 1.0))
    assert doubled["c/1"] == pytest.approx(2 * even["c/1"])
    assert doubled["9"] == pytest.approx(even["9"])


async def test_a_search_is_sent_whole_so_that_synonyms_of_several_words_match(served: Served) -> None:
    await served.engine.words(Search("What is a Driver's licence (class 46.2-870) for a licence?"), 5, {})
    (clause,) = served.fake.asked[-1][2]["query"]["bool"]["should"]
    assert clause["multi_match"]["query"] == "what is a driver's licence class 46.2-870 for"


async def test_a_shard_that_is_down_is_an_error_not_a_shorter_ranking(served: Served) -> None:
    reason = "Partial shards failure (1 shards unavailable)"
    served.fake.failing = (503, {"type": "search_phase_execution_exception", "reason": reason})
    try:
        with pytest.raises(RetrievalError, match="failed") as caught:
            await served.engine.words(Search("speed"), 5, {})
    finally:
        served.fake.failing = None
    assert caught.value.__cause__ is not None
    assert "allow_partial_search_results=false" in served.fake.asked[-1][1]


async def test_a_node_that_is_down_is_passed_over_for_the_next(served: Served, nobody: int) -> None:
    kind = served.fake.kind
    engine = Elastic(kind, f"http://127.0.0.1:{nobody},{served.engine.url}")
    for _ in range(4):
        assert len(await engine.words(Search("maximum speed limit"), 20, {})) == 9
    await engine.aclose()


async def test_all_nodes_down_is_an_error_that_names_them(served: Served, nobody: int) -> None:
    engine = Elastic(served.fake.kind, f"http://me:hunter2@127.0.0.1:{nobody}")
    with pytest.raises(RetrievalError, match=rf"{served.fake.kind} at http://me:\*\*\*@127.0.0.1:{nobody}") as caught:
        await engine.words(Search("speed"), 5, {})
    assert "hunter2" not in str(caught.value)
    await engine.aclose()


async def test_a_missing_index_is_an_error(served: Served) -> None:
    engine = Elastic(served.fake.kind, served.engine.url, "nowhere")
    with pytest.raises(RetrievalError, match="nowhere"):
        await engine.words(Search("speed"), 5, {})
    await engine.aclose()


async def test_a_server_that_says_nothing_is_left_when_the_time_is_over(served: Served, hung: int) -> None:
    engine = Elastic(served.fake.kind, f"http://127.0.0.1:{hung}")
    engine.client()
    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await engine.words(Search("speed"), 5, {})
    assert time.perf_counter() - began < 2
    await engine.aclose()


async def test_a_key_comes_from_the_environment(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{served.fake.kind.upper()}_API_KEY", "s3cret")
    engine = Elastic(served.fake.kind, served.engine.url)
    await engine.words(Search("speed"), 5, {})
    assert served.fake.headers[-1]["authorization"] == "ApiKey s3cret"
    await engine.aclose()


async def test_a_document_that_is_refused_is_named(served: Served) -> None:
    wider = iter(([[1.0]], [[1.0, 2.0]]))
    engine = Elastic(served.fake.kind, served.engine.url, "small", embed=lambda texts: next(wider))
    with pytest.raises(RetrievalError, match=r"document 'odd' was refused.*another length"):
        await engine.index([Document("odd", "", "a")])
    await engine.aclose()


async def test_the_vocabulary_is_counted_from_the_passages_page_by_page(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.retrievers.elastic._PAGE", 5)
    vocabulary = await served.engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["speed"] == 9
    assert "Copies" in vocabulary.headings


@pytest.mark.real_engine
@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
def test_a_real_server_keeps_the_contract(kind: str, toy: Embedder, documents: list[Document]) -> None:
    variable = f"DRAGOMAN_TEST_{kind.upper()}"
    if not os.environ.get(variable):
        pytest.skip(f"no server: name one in {variable}, as http://localhost:9200 (docker/compose.engines.yaml)")
    engine = Elastic(kind, os.environ[variable], "dragomancontract", embed=toy)
    try:
        portal.run(engine.index(documents))
        check_retriever(engine.words)
        check_retriever(engine.meaning, words=False)
        assert portal.run(engine.vocabulary()).words["speed"] == 9
    finally:
        portal.run(engine.aclose())

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import fusion, portal
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedders import Embedder
from dragoman.retrievers.engine import repeated_words
from dragoman.retrievers.milvus import Milvus
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Search

pytest.importorskip("pymilvus", reason="needs Milvus's client: pip install 'dragoman[milvus]'")
pytest.importorskip("milvus_lite", reason="needs Milvus Lite: pip install milvus-lite")


@pytest.fixture(scope="module")
def engine(toy: Embedder, documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Milvus]:
    engine = Milvus(str(tmp_path_factory.mktemp("milvus") / "corpus.db"), embed=toy)
    assert portal.run(engine.index(documents)) == len(SAMPLE)
    yield engine
    portal.run(engine.aclose())


def test_words_keep_the_contract(engine: Milvus) -> None:
    check_retriever(engine.words)


def test_meaning_keeps_the_contract(engine: Milvus) -> None:
    check_retriever(engine.meaning, words=False)


async def test_a_weighted_word_counts_as_often_as_it_weighs(engine: Milvus) -> None:
    async def scores(*asked: tuple[str, float]) -> dict[str, float]:
        return {h.doc_id: h.score for h in (await engine.words(Search("x", terms=asked), 20, {})).hits}

    even = await scores(("headlamps", 0.5), ("vehicle", 0.5))
    doubled = await scores(("headlamps", 2.0), ("vehicle", 1.0))
    assert doubled["c/1"] == pytest.approx(2 * even["c/1"], rel=1e-5)
    assert doubled["9"] == pytest.approx(even["9"], rel=1e-5)


def test_a_heavy_word_is_sent_at_most_ten_times() -> None:
    assert repeated_words(Search("x", terms=(("a1", 1000.0), ("b2", 1.0), ("c3", 500.0)))) == [
        ("a1", 10),
        ("c3", 5),
        ("b2", 1),
    ]
    assert repeated_words(Search("?")) == []


async def test_its_own_fusion_gives_what_ours_gives_where_nothing_ties(toy: Embedder, tmp_path: Path) -> None:
    engine = Milvus(str(tmp_path / "fused.db"), embed=toy)
    await engine.index(Document(str(i), "", f"speed {'limit ' * i} w{i} v{i * 7 % 11}") for i in range(1, 9))
    search = Search("speed limit v3 w5")
    rankings = [await retriever(search, 10, {}) for retriever in engine.retrievers]
    assert all(len({h.score for h in r.hits}) == len(r) > 5 for r in rankings), "nothing may tie here"
    ours, theirs = fusion.rrf(rankings), (await engine.fused(search, 10, {})).hits
    assert [h.doc_id for h in theirs] == [h.doc_id for h in ours]
    assert [h.score for h in theirs] == pytest.approx([h.score for h in ours])
    await engine.aclose()


async def test_metadata_filters_whatever_its_characters(tmp_path: Path) -> None:
    engine = Milvus(str(tmp_path / "odd.db"))
    odd = {"a'b": 'c"d', "e.f": "é\\\n"}
    await engine.index([Document("a", "", "speed", odd), Document("b", "", "speed", {"a'b": "c"})])
    for key, value in odd.items():
        (hit,) = (await engine.words(Search("speed"), 5, {key: value})).hits
        assert hit.metadata == odd
    await engine.aclose()


async def test_a_dead_server_is_an_error_that_names_it(nobody: int) -> None:
    engine = Milvus(f"http://127.0.0.1:{nobody}")
    with pytest.raises(RetrievalError, match=rf"milvus at http://127.0.0.1:{nobody} failed") as caught:
        await engine.words(Search("speed"), 5, {})
    assert caught.value.__cause__ is not None
    await engine.aclose()


async def test_a_server_that_says_nothing_is_left_when_the_time_is_over(hung: int) -> None:
    engine = Milvus(f"http://127.0.0.1:{hung}")
    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await engine.words(Search("speed"), 5, {})
    assert time.perf_counter() - began < 2
    await engine.aclose()


async def test_a_missing_collection_is_an_error(engine: Milvus) -> None:
    other = Milvus(engine.url, "nowhere")
    with pytest.raises(RetrievalError, match="nowhere"):
        await other.words(Search("speed"), 5, {})


async def test_the_vocabulary_is_counted_from_the_passages(engine: Milvus) -> None:
    vocabulary = await engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["headlamps"] == 1
    assert vocabulary.words["speed"] == 9
    assert "Copies" in vocabulary.headings

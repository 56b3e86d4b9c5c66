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
from dragoman.retrievers.qdrant import Qdrant
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Search

pytest.importorskip("qdrant_client", reason="needs Qdrant's client: pip install 'dragoman[qdrant]'")


@pytest.fixture(scope="module")
def engine(toy: Embedder, documents: list[Document]) -> Iterator[Qdrant]:
    engine = Qdrant(":memory:", embed=toy)
    assert portal.run(engine.index(documents)) == len(SAMPLE)
    yield engine
    portal.run(engine.aclose())


def test_words_keep_the_contract(engine: Qdrant) -> None:
    check_retriever(engine.words)


def test_meaning_keeps_the_contract(engine: Qdrant) -> None:
    check_retriever(engine.meaning, words=False)


async def test_a_weighted_word_counts_as_often_as_it_weighs(engine: Qdrant) -> None:
    async def scores(*asked: tuple[str, float]) -> dict[str, float]:
        return {h.doc_id: h.score for h in (await engine.words(Search("x", terms=asked), 20, {})).hits}

    even = await scores(("headlamps", 1.0), ("vehicle", 1.0))
    doubled = await scores(("headlamps", 2.0), ("vehicle", 1.0))
    assert doubled["c/1"] == pytest.approx(2 * even["c/1"], rel=1e-5)
    assert doubled["9"] == pytest.approx(even["9"], rel=1e-5)


async def test_its_own_fusion_gives_what_ours_gives_where_nothing_ties(toy: Embedder) -> None:
    engine = Qdrant(":memory:", embed=toy)
    await engine.index(Document(str(i), "", f"speed {'limit ' * i} w{i} v{i * 7 % 11}") for i in range(1, 9))
    search = Search("speed limit v3 w5")
    rankings = [await retriever(search, 10, {}) for retriever in engine.retrievers]
    assert all(len({h.score for h in r.hits}) == len(r) > 5 for r in rankings), "nothing may tie here"
    ours, theirs = fusion.rrf(rankings), (await engine.fused(search, 10, {})).hits
    assert [h.doc_id for h in theirs] == [h.doc_id for h in ours]
    assert [h.score for h in theirs] == pytest.approx([h.score for h in ours])
    await engine.aclose()


async def test_a_key_that_no_path_can_name_finds_nothing(engine: Qdrant) -> None:
    for key in ('a"b', '"', "a.b", "a[0]", "[]", "a[", "é"):
        assert len(await engine.words(Search("speed"), 5, {key: "x"})) == 0


async def test_a_key_with_dots_and_brackets_filters(toy: Embedder) -> None:
    engine = Qdrant(":memory:")
    await engine.index([Document("a", "", "speed", {"a.b[0]": "x"}), Document("b", "", "speed", {"a": "x"})])
    assert (await engine.words(Search("speed"), 5, {"a.b[0]": "x"})).doc_ids == ("a",)
    await engine.aclose()


async def test_a_code_is_found_whole() -> None:
    engine = Qdrant(":memory:")
    await engine.index([Document("a", "§ 46.2-870", "Speed."), Document("b", "Numbers", "46 and 870 and 2.")])
    assert (await engine.words(Search("46.2-870"), 5, {})).doc_ids[0] == "a"
    await engine.aclose()


async def test_a_folder_keeps_the_collection(tmp_path: Path, documents: list[Document]) -> None:
    engine = Qdrant(str(tmp_path / "store"))
    await engine.index(documents)
    await engine.aclose()
    assert len(await engine.words(Search("maximum speed limit"), 20, {})) == 9
    await engine.aclose()


async def test_a_dead_server_is_an_error_that_names_it(nobody: int) -> None:
    engine = Qdrant(f"http://127.0.0.1:{nobody}")
    with pytest.raises(RetrievalError, match=rf"qdrant at http://127.0.0.1:{nobody} failed") as caught:
        await engine.words(Search("speed"), 5, {})
    assert caught.value.__cause__ is not None
    await engine.aclose()


async def test_a_missing_collection_is_an_error() -> None:
    engine = Qdrant(":memory:", "nowhere")
    with pytest.raises(RetrievalError, match="nowhere"):
        await engine.words(Search("speed"), 5, {})
    await engine.aclose()


async def test_a_server_that_says_nothing_is_left_when_the_time_is_over(hung: int) -> None:
    engine = Qdrant(f"http://127.0.0.1:{hung}")
    await _warm(engine)
    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await engine.words(Search("speed"), 5, {})
    assert time.perf_counter() - began < 2
    await engine.aclose()


async def _warm(engine: Qdrant) -> None:
    """Build the client, which takes a while, before the clock runs."""
    engine._client()


async def test_the_vocabulary_is_counted_from_the_passages(engine: Qdrant) -> None:
    vocabulary = await engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["headlamps"] == 1
    assert vocabulary.words["speed"] == 9
    assert "Copies" in vocabulary.headings

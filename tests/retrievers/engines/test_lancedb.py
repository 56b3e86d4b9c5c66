from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import portal
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedders import Embedder
from dragoman.retrievers.lancedb import LanceDB
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Search

pytest.importorskip("lancedb", reason="needs LanceDB: pip install 'dragoman[lancedb]'")


@pytest.fixture(scope="module")
def engine(toy: Embedder, documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanceDB]:
    engine = LanceDB(str(tmp_path_factory.mktemp("lance")), embed=toy)
    assert portal.run(engine.index(documents)) == len(SAMPLE)
    yield engine
    portal.run(engine.aclose())


def test_words_keep_the_contract(engine: LanceDB) -> None:
    check_retriever(engine.words)


def test_meaning_keeps_the_contract(engine: LanceDB) -> None:
    check_retriever(engine.meaning, words=False)


async def test_a_weighted_word_counts_as_often_as_it_weighs(engine: LanceDB) -> None:
    async def scores(*asked: tuple[str, float]) -> dict[str, float]:
        return {h.doc_id: h.score for h in (await engine.words(Search("x", terms=asked), 20, {})).hits}

    even = await scores(("headlamps", 1.0), ("vehicle", 1.0))
    doubled = await scores(("headlamps", 2.0), ("vehicle", 1.0))
    assert doubled["c/1"] == pytest.approx(2 * even["c/1"], rel=1e-4)
    assert doubled["9"] == pytest.approx(even["9"], rel=1e-4)


async def test_a_code_is_found_whole(tmp_path: Path) -> None:
    engine = LanceDB(str(tmp_path))
    await engine.index([Document("a", "§ 46.2-870", "Speed."), Document("b", "Numbers", "46 and 46 and 870.")])
    assert (await engine.words(Search("46.2-870"), 5, {})).doc_ids[0] == "a"
    await engine.aclose()


async def test_metadata_comes_back_as_it_was_whatever_its_characters(tmp_path: Path) -> None:
    engine = LanceDB(str(tmp_path))
    odd = {"a'b": 'c"d', "e,f": "é=\n", "": ""}
    await engine.index([Document("a", "", "speed", odd), Document("b", "", "speed", {"a'b": "c"})])
    (hit,) = (await engine.words(Search("speed"), 5, {"a'b": 'c"d', "e,f": "é=\n"})).hits
    assert hit.metadata == odd
    await engine.aclose()


async def test_it_opens_again_after_closing(engine: LanceDB) -> None:
    await engine.aclose()
    assert len(await engine.words(Search("maximum speed limit"), 20, {})) == 9


async def test_a_missing_table_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(RetrievalError, match=rf"lancedb at {tmp_path} failed.*nowhere") as caught:
        await LanceDB(str(tmp_path), "nowhere").words(Search("speed"), 5, {})
    assert caught.value.__cause__ is not None


async def test_the_vocabulary_is_counted_from_the_passages(engine: LanceDB) -> None:
    vocabulary = await engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["headlamps"] == 1
    assert vocabulary.words["speed"] == 9
    assert "Copies" in vocabulary.headings

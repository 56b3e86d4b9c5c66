"""An engine is served as an index is."""

from __future__ import annotations

import inspect
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from small_service import DOCUMENTS, FAST, asked, opened

from dragoman.errors import IndexStateError
from dragoman.retrievers import build_index
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedders import load_embedder
from dragoman.retrievers.engines import open_engine
from dragoman.retrievers.sqlite import SQLite
from dragoman.serve.app import make_app
from dragoman.serve.command import Options, settings_of
from dragoman.serve.corpus import look_at
from dragoman.serve.settings import ServiceError, Settings


@pytest.fixture
def address(tmp_path: Path) -> str:
    file = tmp_path / "corpus.db"
    engine = SQLite(str(file))
    engine.index([Document(doc_id, title, text) for doc_id, title, text in DOCUMENTS])
    engine.close()
    assert sqlite3.connect(file).execute("select count(*) from sqlite_master").fetchone()[0] > 0
    return f"sqlite:{file}"


async def test_an_engine_answers_and_tells_its_words(settings: Settings, address: str) -> None:
    over_engine = replace(settings, tables=(replace(settings.tables[0], index=address),))
    async with opened(make_app(over_engine)) as client:
        record = await asked(client, "explain", question=FAST)
        assert record["hits"][0]["doc_id"] == "s1"
        assert record["documents"] == len(DOCUMENTS)
        assert dict(record["searches"][0]["words"])["street"] == 1
        assert (await asked(client, "feedback", question=FAST, doc_id="s1"))["kept"]
        assert (await client.get("/readyz")).json()["profiles"]["road-law"]["documents"] == len(DOCUMENTS)


async def test_an_engine_with_vectors_is_searched_by_meaning_too(settings: Settings, tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    place = f"lancedb:{tmp_path / 'lance'}"
    engine = open_engine(place, embed=load_embedder("default"))
    laid = engine.index([Document(doc_id, title, text) for doc_id, title, text in DOCUMENTS])
    assert inspect.isawaitable(laid)
    assert await laid == len(DOCUMENTS)
    (table,) = settings_of(Options(indexes=(place,), embedder="default")).tables
    async with opened(make_app(replace(settings, tables=(table,)))) as client:
        record = await asked(client, "explain", question=FAST)
        assert {ranking["retriever"] for ranking in record["rankings"]} == {"lancedb.words", "lancedb.meaning"}


def test_an_embedder_is_for_engines_that_have_vectors(address: str, tmp_path: Path) -> None:
    build_index([_corpus(tmp_path)], tmp_path / "index", embedder=None)
    (table,) = settings_of(Options(indexes=(str(tmp_path / "index"),), embedder="default")).tables
    assert table.embedder == ""  # an index knows its own
    with pytest.raises(ServiceError, match="sqlite finds by words alone"):
        settings_of(Options(indexes=(address,), embedder="default"))
    with pytest.raises(ServiceError, match="no embedder is named 'nobody'"):
        settings_of(Options(indexes=(address,), embedder="nobody"))


def _corpus(folder: Path) -> Path:
    file = folder / "corpus.jsonl"
    file.write_text('{"_id": "s1", "text": "Headlamps shall be lit."}\n', "utf-8")
    return file


def test_what_cannot_be_opened_is_told_before_the_server_starts(address: str, tmp_path: Path) -> None:
    look_at(address)
    assert settings_of(Options(indexes=(address,))).tables[0].index == address
    with pytest.raises(ServiceError, match="no engine at 'sqlite:/'"):
        look_at("sqlite:/")
    with pytest.raises(IndexStateError):
        look_at(str(tmp_path / "nowhere"))

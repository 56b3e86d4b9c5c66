from __future__ import annotations

import importlib
import inspect

import pytest

from dragoman.errors import MissingExtraError
from dragoman.retrievers.embedders import Embedder
from dragoman.retrievers.engines import KINDS, open_engine
from dragoman.retrievers.sqlite import SQLite


@pytest.mark.parametrize(
    ("address", "place", "table"),
    [
        ("postgresql://me@host/db?x=1#law", "postgresql://me@host/db?x=1", "law"),
        ("qdrant://host:6333", "http://host:6333", "passages"),
        ("qdrant+https://host#law", "https://host", "law"),
        ("qdrant::memory:#law", ":memory:", "law"),
        ("qdrant:/var/law", "/var/law", "passages"),
        ("milvus://host:19530#law", "http://host:19530", "law"),
        ("milvus:law.db", "law.db", "passages"),
        ("lancedb:/var/law#law", "/var/law", "law"),
        ("lancedb:s3://bucket/law", "s3://bucket/law", "passages"),
        ("elasticsearch://a:9200,b:9200#law", "http://a:9200,http://b:9200", "law"),
        ("opensearch+https://me:pw@a#law", "https://me:pw@a", "law"),
        ("sqlite:corpus.db#law", "corpus.db", "law"),
    ],
)
def test_an_address_names_the_engine_its_place_and_its_table(address: str, place: str, table: str) -> None:
    engine = open_engine(address)
    given = vars(engine)
    assert str(given.get("url", given.get("path"))) == place
    assert given.get("table", given.get("collection", given.get("target"))) == table
    assert [retriever.name for retriever in engine.retrievers] in ([f"{engine.name}.words"], [engine.name])


def test_an_embedder_brings_the_ranking_by_meaning(toy: Embedder) -> None:
    for kind, row in KINDS.items():
        if row.meaning:
            engine = open_engine(f"{kind}://host/db", embed=toy, name="law")
            assert [retriever.name for retriever in engine.retrievers] == ["law.words", "law.meaning"]
            # Words that a lexicon adds must not be embedded: the pool gives these the text without them.
            assert [getattr(each, "by_meaning", False) for each in engine.retrievers] == [False, True]
    with pytest.raises(ValueError, match="sqlite finds by words alone"):
        open_engine("sqlite:corpus.db", embed=toy)


@pytest.mark.parametrize("address", ["", "sqlite", "sqlite:", "solr://host", "qdrant+tls://host", "qdrant://", "#x"])
def test_an_address_of_no_engine_is_an_error_that_lists_the_kinds(address: str) -> None:
    with pytest.raises(ValueError, match="expected one of sqlite:, postgresql:"):
        open_engine(address)


def test_an_error_does_not_tell_a_password() -> None:
    with pytest.raises(ValueError, match="no engine") as caught:
        open_engine("solr://me:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("kind", [kind for kind, row in KINDS.items() if row.extra])
def test_a_missing_client_is_told_with_what_to_install(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module(f"dragoman.retrievers.{KINDS[kind].adapter.partition(':')[0]}")
    monkeypatch.setattr("importlib.util.find_spec", lambda package: None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'dragoman\[{KINDS[kind].extra}\]'"):
        open_engine(f"{kind}://host/db")


@pytest.mark.parametrize("kind", KINDS)
def test_every_adapter_has_what_an_engine_has(kind: str) -> None:
    module, _, name = KINDS[kind].adapter.partition(":")
    adapter = getattr(importlib.import_module(f"dragoman.retrievers.{module}"), name)
    for verb in ("index", "vocabulary"):
        assert inspect.iscoroutinefunction(getattr(adapter, verb)) == (adapter is not SQLite)
    assert hasattr(adapter, "close") or hasattr(adapter, "aclose")

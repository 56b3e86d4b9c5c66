"""The demonstration builds its own index and touches nobody else's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import demo
from dragoman.errors import IndexStateError
from dragoman.retrievers import build_index, open_index


def test_the_examples_index_is_used_again(tmp_path: Path) -> None:
    build_index([demo.example() / "corpus.jsonl"], tmp_path / "index", embedder=None)
    said = demo.build(tmp_path / "index")
    assert said == f"316 sections of an invented state's road law, indexed before in {tmp_path / 'index'}"


def test_another_index_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "a", "text": "mine"}))
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index", embedder=None)
    with pytest.raises(IndexStateError, match="it is not the example's index; choose an empty or new folder"):
        demo.build(tmp_path / "index")
    manifest = tmp_path / "index" / "manifest.json"
    older = manifest.read_text().replace('"format": 1', '"format": 0')
    manifest.write_text(older)
    with pytest.raises(IndexStateError, match="made by an older version"):
        demo.build(tmp_path / "index")
    assert manifest.read_text() == older
    manifest.write_text(older.replace('"format": 0', '"format": 1'))
    with open_index(tmp_path / "index") as index:
        assert index.document("a") is not None

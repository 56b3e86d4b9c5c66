"""The demonstration builds its own index and touches nobody else's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dragoman import demo
from dragoman.errors import IndexStateError
from dragoman.retrievers import build_index, open_index

README = Path(__file__).parent.parent / "README.md"


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


async def test_the_readme_shows_what_is_printed(tmp_path: Path) -> None:
    """Hits in any order: two of them are close, and another processor's arithmetic may turn them round."""
    shown = re.search(r"```console\n\$ make demo.*?\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert shown
    demo.build(tmp_path / "index")
    printed = await anext(demo.answers(tmp_path / "index"))
    lines = [re.sub(r"^  \d\. ", "", line).rstrip("…") for line in shown[1].splitlines()]
    assert [line for line in lines if line.strip() and line not in printed] == []

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy_index import SIGNS, Corpus, Rows, bag

from dragoman.retrievers.embedders import Named


@pytest.fixture
def toy() -> Named:
    return Named("callable:bag", bag)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    def write(rows: Rows, name: str = "corpus.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def signs() -> Rows:
    return SIGNS

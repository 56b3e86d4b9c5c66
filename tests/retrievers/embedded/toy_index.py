"""A toy corpus and a toy embedder, so that an index is built in some milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from zlib import crc32

import numpy as np

from dragoman.retrievers.embedders import Vectors
from dragoman.text import stems

Rows: TypeAlias = Iterable[Mapping[str, Any]]


class Corpus(Protocol):
    """Writes rows as a JSONL file and gives its path."""

    def __call__(self, rows: Rows, name: str = "corpus.jsonl") -> Path: ...


def bag(texts: list[str]) -> Vectors:
    """A bag of stems, each in one of 64 places: near where words are shared."""
    vectors = np.zeros((len(texts), 64), np.float32)
    for row, text in enumerate(texts):
        for stem in stems(text):
            vectors[row, crc32(stem.encode()) % 64] += 1
        vectors[row, 0] += 0.01
    return vectors


SIGNS = (
    {"_id": "1", "title": "Stop signs", "text": "A driver stops at a stop sign.", "metadata": {"state": "North"}},
    {"_id": "2", "title": "Speed limits", "text": "The speed limit is low.", "metadata": {"state": "North"}},
    {"_id": "3", "title": "Speed cameras", "text": "Cameras measure speed.", "metadata": {"state": "South"}},
    {"_id": "law/46.2-870", "title": "Highways", "text": "Nothing but E-1234 here.", "metadata": {"state": "South"}},
    {"_id": "law/46.2-871", "title": "Buses", "text": "As § 46.2-870 has it.", "metadata": {}},
)

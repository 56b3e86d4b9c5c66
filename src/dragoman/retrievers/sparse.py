"""Words as sparse vectors, for engines that rank them but do not cut text into words themselves.

A dimension is a stem, numbered by its checksum; a document's value there is BM25's share of the word
(Robertson and Zaragoza 2009), tf (k1 + 1) / (tf + k1 (1 - b + b length / average)), and the engine
multiplies with the word's rarity. So the inner product with a search's weights is BM25.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import Weighted, body, codes
from dragoman.text import stemmer, stems

Sparse: TypeAlias = tuple[list[int], list[float]]  # dimensions, ascending, and their values

K1 = 1.2
B = 0.75
# Passages read to know how long they are on average; more changes the ranking no more.
SAMPLED = 1_000


def dimension(stem: str) -> int:
    """The number of a stem, below 2^32: its CRC-32. Two stems of a corpus seldom share one."""
    return zlib.crc32(stem.encode())


def _counted(document: Document, language: str) -> Counter[str]:
    text = body(document)
    return Counter(stems(text, language) + codes(text))


def average_length(documents: Sequence[Document], language: str) -> float:
    """Words in a passage, on average; at least 1."""
    return max(1.0, sum(_counted(d, language).total() for d in documents) / max(1, len(documents)))


def of_document(document: Document, average: float, language: str) -> Sparse:
    """A passage's vector; empty for one without words."""
    counts = _counted(document, language)
    length = K1 * (1 - B + B * counts.total() / average)
    values: dict[int, float] = {}
    for stem, tf in counts.items():
        values[dimension(stem)] = tf * (K1 + 1) / (tf + length)
    return _sorted(values)


def of_search(asked: Weighted, language: str) -> Sparse:
    """The vector of a search's weighted words."""
    stem = stemmer(language)
    values: dict[int, float] = {}
    for word, weight in asked:
        # A code stands in the passages whole; a word, as its stem.
        key = dimension(word if word in codes(word) else stem(word))
        values[key] = values.get(key, 0.0) + weight
    return _sorted(values)


def _sorted(values: dict[int, float]) -> Sparse:
    ordered = sorted(values.items())
    return [key for key, _ in ordered], [value for _, value in ordered]

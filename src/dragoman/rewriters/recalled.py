"""What the nearest past questions were searched by, as searches of the new one.

The searches of the nearest past questions are pooled into one search whose words and vector are
their sums, each weighted by the square of its question's nearness; scores being linear in the
query, that is what running all of them would add up to, for the cost of one and with nothing to
embed. Its own weight in the fusion is the nearness of the nearest. Where an engine can take
neither weighted words nor a vector, `pooled=False` gives the searches one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.rewriters.memory_store import Remembered
from dragoman.text import stop_words, terms
from dragoman.types import Search

SEPARATE = 3  # past questions whose searches are run one by one
_WORDS = 24  # of the pooled search
_TEXT = 12  # words that stand for them where an engine takes plain text only


@dataclass(frozen=True, slots=True)
class Past:
    """A past question that is near: how near, and what was accepted for it."""

    entry: Remembered
    nearness: float
    vectors: NDArray[np.float32]


def pooled(past: Sequence[Past], language: str) -> Search:
    """One search for all: words and vector are sums over the remembered searches."""
    words: defaultdict[str, float] = defaultdict(float)
    vector = np.zeros(past[0].vectors.shape[1], np.float64)
    stop = stop_words(language)
    for each in past:
        share = each.nearness**2 / len(each.entry.searches)
        for search in each.entry.searches:
            for word in set(terms(search)) - stop:
                words[word] += share
        vector += share * each.vectors.sum(axis=0)
    heaviest = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:_WORDS]
    top = heaviest[0][1] if heaviest else 1.0
    weighted = tuple((word, round(weight / top, 4)) for word, weight in heaviest)
    text = " ".join(word for word, _ in weighted[:_TEXT]) or past[0].entry.searches[0]
    length = float(np.linalg.norm(vector)) or 1.0
    return Search(text, "memory", past[0].nearness, weighted, vector=tuple((vector / length).tolist()))


def separate(past: Sequence[Past]) -> list[Search]:
    """The searches of the nearest few, their weights adding up to the nearness of the nearest."""
    few = past[:SEPARATE]
    total = sum(each.nearness**2 for each in few)
    return [
        Search(
            text,
            "memory",
            few[0].nearness * each.nearness**2 / total / len(each.entry.searches),
            vector=tuple(vector.tolist()),
        )
        for each in few
        for text, vector in zip(each.entry.searches, each.vectors, strict=True)
    ]

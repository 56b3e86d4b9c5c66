"""Rankings into one. Pure functions; a ranking weighs as much as its search.

Rankings come in sorted and without duplicates, which is `Ranking`'s invariant, so neither can go
wrong here. Equal scores stand as trec_eval puts them, the higher doc_id first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from dragoman.types import Contribution, Hit, Ranking

RRF_K = 60  # Cormack, Clarke and Buettcher (SIGIR 2009)
Shares = Callable[[Ranking, int], Sequence[float]]  # a ranking and the longest one's length -> a share a hit
Weigh = Callable[[Ranking], float]  # a ranking -> its weight; by default its search's own


class Fusion(Protocol):
    """Rankings into one list, each with the weight that `weigh` gives it."""

    def __call__(self, rankings: Sequence[Ranking], weigh: Weigh | None = None, /) -> tuple[Hit, ...]:
        """The fused list, best first, each hit with its shares in `because`."""
        ...


def rrf(rankings: Sequence[Ranking], weigh: Weigh | None = None, k: int = RRF_K) -> tuple[Hit, ...]:
    """Reciprocal rank fusion: a document's score is the sum over rankings of weight / (k + rank).

    Args:
        weigh: a ranking -> its weight; its search's own weight where this is left out.
        k: the constant of Cormack, Clarke and Buettcher (SIGIR 2009), at least 0.
    """
    if k < 0:
        raise ValueError(f"RRF's k is at least 0, not {k}")
    return _fuse(rankings, weigh, lambda ranking, _: [1 / (k + rank) for rank in range(1, len(ranking) + 1)])


def standardised(rankings: Sequence[Ranking], weigh: Weigh | None = None) -> tuple[Hit, ...]:
    """Weighted sum of standardised scores: each ranking's (score - its lowest) / its standard deviation.

    A z-score (Webber, Moffat and Zobel, SIGIR 2008) shifted so that a ranking's last hit, and a
    document it does not hold, count 0; so shares are never below 0. Where one hit stands far above
    the rest it counts for more than its rank could say. A ranking that ran out before the longest
    one did scored everything else 0 and is filled up with noughts before it is scaled, so that the
    last of a few exact matches does not count as nothing. Equal scores throughout give 1 each.
    """
    return _fuse(rankings, weigh, _standardised)


def min_max(rankings: Sequence[Ranking], weigh: Weigh | None = None) -> tuple[Hit, ...]:
    """Weighted sum of each ranking's scores scaled to [0, 1] by its best and worst (CombSUM).

    Fox and Shaw (TREC-2, 1994). A ranking whose scores are all equal gives every document 1.
    """
    return _fuse(rankings, weigh, _min_max)


FUSIONS: Mapping[str, Fusion] = {"rrf": rrf, "standardised": standardised, "min_max": min_max}


def _standardised(ranking: Ranking, longest: int) -> list[float]:
    values = [hit.score for hit in ranking.hits]
    noughts = longest - len(values)
    low, mean = (0.0 if noughts else values[-1]), math.fsum(values) / longest
    squares = math.fsum((value - mean) ** 2 for value in values) + noughts * mean**2
    spread = math.sqrt(squares / longest)
    return [1.0 if spread == 0 else (value - low) / spread for value in values]


def _min_max(ranking: Ranking, _: int) -> list[float]:
    values = [hit.score for hit in ranking.hits]
    low, spread = values[-1], values[0] - values[-1]
    return [1.0 if spread == 0 else (value - low) / spread for value in values]


def _fuse(rankings: Sequence[Ranking], weigh: Weigh | None, shares: Shares) -> tuple[Hit, ...]:
    found: dict[str, Hit] = {}
    because: dict[str, list[Contribution]] = {}
    longest = max(map(len, rankings), default=0)
    for ranking in rankings:
        if not ranking.hits:
            continue
        search = ranking.search
        weight = search.weight if weigh is None else weigh(ranking)
        for rank, (hit, share) in enumerate(zip(ranking.hits, shares(ranking, longest), strict=True), start=1):
            found.setdefault(hit.doc_id, hit)
            because.setdefault(hit.doc_id, []).append(
                Contribution(search.text, ranking.retriever, rank, weight * share, search.origin)
            )
    fused: list[Hit] = []
    for doc_id, hit in sorted(found.items(), reverse=True):
        parts = because[doc_id]
        score = math.fsum([part.share for part in parts])
        # not `replace`, which takes six times as long, a few hundred times a question
        fused.append(Hit(doc_id, score, hit.title, hit.text, hit.metadata, tuple(parts)))
    fused.sort(key=lambda hit: hit.score, reverse=True)
    return tuple(fused)


def reserve(fused: Sequence[Hit], raw_best: str | None, place: int) -> tuple[Hit, ...]:
    """Keep what the question alone puts first within the first `place`; 0 reserves nothing.

    However many searches agree on something else, the best hit of the question as asked is not
    pushed below this place. Scores stay as they are; only the order gives way.
    """
    hits = list(fused)
    at = next((i for i, hit in enumerate(hits) if hit.doc_id == raw_best), None)
    if place > 0 and at is not None and at >= place:
        hits.insert(place - 1, hits.pop(at))
    return tuple(hits)

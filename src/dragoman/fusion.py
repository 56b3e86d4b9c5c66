"""Rankings into one. Pure functions; a ranking weighs as much as its search.

Rankings come in sorted and without duplicates, which is `Ranking`'s invariant, so neither can go
wrong here. Equal scores stand as trec_eval puts them, the higher doc_id first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

from dragoman.types import Contribution, Hit, Ranking

RRF_K = 60  # Cormack, Clarke and Buettcher (SIGIR 2009)
_SMALL, _LARGE = 1e-100, 1e100  # beyond them a score's square leaves what a float holds
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
    return _Sums(rankings, weigh, partial(_reciprocal, k=k)).hits()


def standardised(rankings: Sequence[Ranking], weigh: Weigh | None = None) -> tuple[Hit, ...]:
    """Weighted sum of standardised scores: each ranking's (score - its lowest) / its standard deviation.

    A z-score (Webber, Moffat and Zobel, SIGIR 2008) shifted so that a ranking's last hit, and a
    document it does not hold, count 0; so shares are never below 0. Where one hit stands far above
    the rest it counts for more than its rank could say. A ranking that ran out before the longest
    one did scored everything else 0 and is filled up with noughts before it is scaled, so that the
    last of a few exact matches does not count as nothing. Equal scores throughout give 1 each.
    """
    return _Sums(rankings, weigh, _standardised).hits()


def min_max(rankings: Sequence[Ranking], weigh: Weigh | None = None) -> tuple[Hit, ...]:
    """Weighted sum of each ranking's scores scaled to [0, 1] by its best and worst (CombSUM).

    Fox and Shaw (TREC-2, 1994). A ranking whose scores are all equal gives every document 1.
    """
    return _Sums(rankings, weigh, _min_max).hits()


FUSIONS: Mapping[str, Fusion] = {"rrf": rrf, "standardised": standardised, "min_max": min_max}


def _reciprocal(ranking: Ranking, _: int, k: int = RRF_K) -> list[float]:
    return [1 / (k + rank) for rank in range(1, len(ranking) + 1)]


def _standardised(ranking: Ranking, longest: int) -> list[float]:
    values = ranking.scores
    noughts = longest - len(values)
    if not noughts and values[0] == values[-1]:  # by the scores themselves: their mean is rounded
        return [1.0] * len(values)
    if not _SMALL < values[0] < _LARGE:  # the same whatever they are scaled by
        values = tuple(value / values[0] for value in values)
    low, mean = (0.0 if noughts else values[-1]), math.fsum(values) / longest
    squares = math.fsum([(value - mean) ** 2 for value in values]) + noughts * mean**2
    spread = math.sqrt(squares / longest)
    return [(value - low) / spread for value in values]


def _min_max(ranking: Ranking, _: int) -> list[float]:
    values = ranking.scores
    low, spread = values[-1], values[0] - values[-1]
    return [1.0 if spread == 0 else (value - low) / spread for value in values]


class _Sums:
    """Each document's shares, added up; hits are made of as many as are wanted."""

    def __init__(self, rankings: Sequence[Ranking], weigh: Weigh | None, shares: Shares) -> None:
        longest = max(map(len, rankings), default=0)
        self._shared: list[tuple[Ranking, list[float]]] = []
        parts: dict[str, list[float]] = {}
        for ranking in rankings:
            if not len(ranking):
                continue
            weight = ranking.search.weight if weigh is None else weigh(ranking)
            weighted = [weight * share for share in shares(ranking, longest)]
            self._shared.append((ranking, weighted))
            for doc_id, share in zip(ranking.doc_ids, weighted, strict=True):
                known = parts.get(doc_id)
                if known is None:
                    parts[doc_id] = [share]
                else:
                    known.append(share)
        self._scored = [(math.fsum(shares_of), doc_id) for doc_id, shares_of in parts.items()]

    @cached_property
    def scores(self) -> dict[str, float]:
        """doc_id -> score, best first."""
        return {doc_id: score for score, doc_id in sorted(self._scored, reverse=True)}

    def first(self) -> str | None:
        """The best document; None where there is none."""
        return max(self._scored)[1] if self._scored else None

    def hits(self, doc_ids: Iterable[str] | None = None) -> tuple[Hit, ...]:
        """The hits of these documents with what every ranking gave them; of all, best first."""
        because: dict[str, list[Contribution]] = {
            doc_id: [] for doc_id in (self.scores if doc_ids is None else doc_ids)
        }
        first: dict[str, Hit] = {}
        for ranking, weighted in self._shared:
            search, retriever = ranking.search, ranking.retriever
            for rank, doc_id in enumerate(ranking.doc_ids, start=1):
                parts = because.get(doc_id)
                if parts is None:
                    continue
                if not parts:
                    first[doc_id] = ranking.hit(rank)
                parts.append(Contribution(search.text, retriever, rank, weighted[rank - 1], search.origin))
        return tuple(
            Hit(doc_id, self.scores[doc_id], hit.title, hit.text, hit.metadata, tuple(parts))
            for doc_id, parts in because.items()
            for hit in (first[doc_id],)
        )


_OURS: Sequence[tuple[Fusion, Shares]] = ((rrf, _reciprocal), (standardised, _standardised), (min_max, _min_max))


def first(fuse: Fusion, rankings: Sequence[Ranking], weigh: Weigh | None = None) -> str | None:
    """The document that `fuse` puts first; None where there is none. No hit is made with this module's fusions."""
    shares = _shares_of(fuse)
    if shares is not None:
        return _Sums(rankings, weigh, shares).first()
    return next((hit.doc_id for hit in fuse(rankings, weigh)), None) if rankings else None


def best(
    fuse: Fusion,
    rankings: Sequence[Ranking],
    weigh: Weigh | None = None,
    depth: int | None = None,
    raw_best: str | None = None,
    place: int = 0,
) -> tuple[Hit, ...]:
    """The first `depth` of what `fuse` gives, with the place that `reserve` keeps.

    The same as fusing, reserving and cutting; with the fusions of this module, hits that are cut off
    are not made.
    """
    if not rankings:  # nobody's fusion is asked about nothing
        return ()
    shares = _shares_of(fuse)
    if shares is None:
        return reserve(fuse(rankings, weigh), raw_best, place)[:depth]
    sums = _Sums(rankings, weigh, shares)
    return sums.hits(_reserved(list(sums.scores), raw_best, place)[:depth])


def _shares_of(fuse: Fusion) -> Shares | None:
    return next((shares for ours, shares in _OURS if ours is fuse), None)


def reserve(fused: Sequence[Hit], raw_best: str | None, place: int) -> tuple[Hit, ...]:
    """Keep what the question alone puts first within the first `place`; 0 reserves nothing.

    However many searches agree on something else, the best hit of the question as asked is not
    pushed below this place. Scores stay as they are; only the order gives way.
    """
    hits = {hit.doc_id: hit for hit in fused}
    return tuple(hits[doc_id] for doc_id in _reserved(list(hits), raw_best, place))


def _reserved(doc_ids: list[str], raw_best: str | None, place: int) -> list[str]:
    if raw_best is not None and place > 0 and raw_best in doc_ids[place:]:
        doc_ids.remove(raw_best)
        doc_ids.insert(place - 1, raw_best)
    return doc_ids

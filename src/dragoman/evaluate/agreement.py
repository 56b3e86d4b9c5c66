"""What can be said without judgments: do the searches use the corpus's words, and do the arms agree?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dragoman.evaluate.run import ArmRun
from dragoman.vocabulary import Vocabulary

PERSISTENCE = 0.9  # of RBO: the reader goes on to the next rank nine times in ten; ten ranks hold 86% of the weight


def overlap(one: Sequence[str], other: Sequence[str], cutoff: int = 10) -> float:
    """Share of the first `cutoff` that both lists hold, of the longer one; 1 where both are empty."""
    a, b = set(one[:cutoff]), set(other[:cutoff])
    longer = max(len(a), len(b))
    return len(a & b) / longer if longer else 1.0


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """Rank-biased overlap, extrapolated, of two lists without duplicates: 0 nothing shared, 1 the same.

    RBO_ext, equation 32 of Webber, Moffat and Zobel, "A similarity measure for indefinite rankings"
    (TOIS 2010), which also holds for lists of different lengths. Two empty lists agree.
    """
    shorter, longer = sorted((one, other), key=len)
    s, n, p = len(shorter), len(longer), persistence
    if s == 0:
        return 1.0 if n == 0 else 0.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    shared, total, shared_at_s = 0, 0.0, 0
    for depth in range(1, n + 1):
        new = longer[depth - 1]
        seen_long.add(new)
        shared += new in seen_short
        if depth <= s:
            seen_short.add(shorter[depth - 1])
            shared += shorter[depth - 1] in seen_long
            shared_at_s = shared
        total += shared / depth * p**depth
        if depth > s:
            total += shared_at_s * (depth - s) / (s * depth) * p**depth
    return (1 - p) / p * total + ((shared - shared_at_s) / n + shared_at_s / s) * p**n


@dataclass(frozen=True, slots=True)
class Sayable:
    """Whether one arm's searches are in the corpus's words.

    Attributes:
        held: mean share of a search's telling words that the corpus holds.
        empty: share of searches none of whose telling words it holds.
        searches: mean number of searches a question, its own included.
    """

    held: float
    empty: float
    searches: float


def sayable(run: ArmRun, vocabulary: Vocabulary) -> Sayable:
    """Over all searches of all questions; a search without a telling word is left out of both shares."""
    shares = [
        sum(map(vocabulary.holds, telling)) / len(telling)
        for each in run.answered
        for search in each.searches
        if (telling := vocabulary.telling(search))
    ]
    count = sum(len(each.searches) for each in run.answered)
    if not shares:
        return Sayable(0.0, 0.0, 0.0)
    return Sayable(float(np.mean(shares)), float(np.mean([share == 0 for share in shares])), count / len(run.answered))


def agreement(runs: Sequence[ArmRun]) -> dict[str, dict[str, dict[str, float]]]:
    """Arm -> other arm -> mean `rbo` and `overlap@10` over the questions."""
    found: dict[str, dict[str, dict[str, float]]] = {run.name: {} for run in runs}
    for one, other in combinations(runs, 2):
        lists = other.run
        pairs = [(doc_ids, lists[identity]) for identity, doc_ids in one.run.items()]
        both = {
            "rbo": float(np.mean([rank_biased_overlap(a, b) for a, b in pairs])),
            "overlap@10": float(np.mean([overlap(a, b) for a, b in pairs])),
        }
        found[one.name][other.name] = found[other.name][one.name] = both
    return found

"""A statistical translation model from asked to said: IBM Model 1 with a null word (Brown et al. 1993).

T(t|s) is the chance that a word t of the answer comes of the word s of the question. It is found by
expectation and maximisation over all pairs: each word of an answer is shared out among the words of
its question, and the null word, in the measure of their T. Rare words are shrunk: a word's counts are
divided by their sum plus `SHRINK`, so that one meeting proves little (Moore 2004).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.learn.bags import FOLDS, Bags

Floats: TypeAlias = NDArray[np.float64]
Keys: TypeAlias = NDArray[np.int64]

ROUNDS = 6  # more changes the first digit of nothing
SHRINK = 0.5  # flat from .2 to 1, worse at 2, on road_permit across jurisdictions
LEAST_SEEN = 2  # a word of the questions met once is learned nothing of


@dataclass(frozen=True, slots=True)
class Links:
    """Every word of an answer beside every word of its question, pairs in the order of their folds.

    Attributes:
        keys: the distinct (s, t), as s * n_said + t, ascending.
        key: each link's place in `keys`.
        group: each link's word of an answer; the links of one word stand together.
        weight: of each word of an answer.
        cuts: where each fold's links begin and end, and where its words of answers do.
    """

    keys: Keys
    key: NDArray[np.int32]
    group: NDArray[np.int32]
    weight: Floats
    cuts: tuple[tuple[slice, slice], ...]


def link(bags: Bags) -> Links:
    """The links of all pairs, those of rare words of questions left out."""
    rare = _rare(bags)
    order = sorted(range(len(bags)), key=lambda pair: bags.folds[pair])
    sources = [bags.sources[pair][~rare[bags.sources[pair]]] for pair in order]
    targets = [bags.targets[pair] for pair in order]
    n_sources = np.array([len(each) for each in sources], np.int64)
    n_targets = np.array([len(each) for each in targets], np.int64)
    # One row for each word of an answer, then one for each link of it.
    pair_of_word = np.repeat(np.arange(len(order)), n_targets)
    links_of_word = n_sources[pair_of_word]
    group = np.repeat(np.arange(len(pair_of_word), dtype=np.int32), links_of_word)
    starts = np.cumsum(n_sources) - n_sources
    first_link = np.cumsum(links_of_word) - links_of_word
    within = np.arange(len(group)) - first_link[group]
    flat = np.concatenate(sources) if sources else np.zeros(0, np.int32)
    source = flat[starts[pair_of_word[group]] + within].astype(np.int64)
    said = (np.concatenate(targets) if targets else np.zeros(0, np.int32)).astype(np.int64)
    keys, key = np.unique(source * len(bags.said) + said[group], return_inverse=True)
    weight = np.array([bags.weights[pair] for pair in order])[pair_of_word]
    fold_of_word = np.array([bags.folds[pair] for pair in order], np.int64)[pair_of_word]
    return Links(keys, key.astype(np.int32), group, weight, _cuts(fold_of_word, first_link, len(group)))


def _rare(bags: Bags) -> NDArray[np.bool_]:
    counts = np.zeros(len(bags.asked), np.int64)
    for sources in bags.sources:
        counts[sources] += 1
    rare = counts < LEAST_SEEN
    rare[0] = False
    return rare


def _cuts(fold_of_word: Keys, first_link: Keys, links: int) -> tuple[tuple[slice, slice], ...]:
    edges = np.searchsorted(fold_of_word, np.arange(FOLDS + 1))
    starts = [*first_link.tolist(), links]
    return tuple((slice(starts[one], starts[two]), slice(one, two)) for one, two in pairwise(edges.tolist()))


def translate(links: Links, n_said: int, without: int | None = None) -> Floats:
    """T for every key of `links`, shape (n_keys,).

    Args:
        without: a fold that is held back.
    """
    source = links.keys // max(1, n_said)
    chances = np.full(len(links.keys), 1 / max(1, n_said))
    for _ in range(ROUNDS):
        counts = np.zeros(len(links.keys))
        for key, group, weight in _folds(links, without):
            share = chances[key]
            total = np.bincount(group, share, len(weight))
            share *= (weight / np.maximum(total, 1e-300))[group]
            counts += np.bincount(key, share, len(links.keys))
        sums = np.bincount(source, counts, int(source[-1]) + 1 if len(source) else 0)
        chances = counts / (sums[source] + SHRINK)
    return chances


def _folds(links: Links, without: int | None) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], Floats]]:
    for number, (at, words) in enumerate(links.cuts):
        if number != without and at.stop > at.start:
            yield links.key[at], links.group[at] - words.start, links.weight[words]


def at(keys: Keys, values: Floats, wanted: Keys) -> Floats:
    """The values of the wanted keys, 0 for those that are not there."""
    if not len(keys):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0.0)

"""Which entries to keep: those that, on pairs they were not learned from, foretell what was said.

Each fifth of the pairs is held back in turn. An entry "s => t" that the other four fifths teach is
tried on every held-back question that has s and not t: was t said? Its gain is the log-likelihood,
in bits, that it adds to what the question's other words and t's own frequency foretell. An entry
that gains nothing is not kept, however often it was met.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.learn.bags import Bags
from dragoman.learn.translation import Floats, Keys, Links, at

# On road_permit across jurisdictions .05 and .2 gain the same within .002 nDCG@10; .1 makes a shorter file than .05.
LEAST_CHANCE = 0.1
MOST_TARGETS = 8  # of one word: what comes behind the eighth is company, not translation
MOST_FORMS = 4
# Once may be chance: a third fewer entries, and nDCG@10 the same to the third digit on five sets.
LEAST_HITS = 2
BOOST = 2.0  # weight of an added word per T; 1 gains a little less everywhere (docs/adr)
MOST_WEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class Target:
    """A word that comes in.

    Attributes:
        word: its commonest form.
        chance: T(word | left).
        tried, hit: held-back questions that had the left side and not this word; those where it was said.
        expected: how many of them would be hit without this entry.
        gain: in bits; above 0.
    """

    word: str
    chance: float
    tried: int
    hit: int
    expected: float
    gain: float

    @property
    def weight(self) -> float:
        """What the file gives it."""
        return round(min(MOST_WEIGHT, BOOST * self.chance), 2)


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry that pays: what is looked for, the forms it was met in, what comes in, best first.

    Attributes:
        seen: pairs whose question has it.
        source: its number among the words asked.
    """

    left: str
    forms: tuple[str, ...]
    right: tuple[Target, ...]
    seen: int
    source: int = 0

    @property
    def gain(self) -> float:
        """Of all that comes in, in bits."""
        return math.fsum(target.gain for target in self.right)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was kept, and of how many entries that were learned."""

    kept: tuple[Kept, ...]
    tried: int


def choose(bags: Bags, links: Links, full: Floats, held_back: Sequence[Floats]) -> Chosen:
    """The entries that pay.

    Args:
        full: T from all pairs, for the keys of `links`.
        held_back: T without each fold, for the same keys.
    """
    n_said = len(bags.said)
    keys = _candidates(bags, links.keys, full, n_said)
    if not len(keys):
        return Chosen((), 0)
    tallies = np.zeros((4, len(keys)))
    shares = _shares(bags)
    for fold, chances in enumerate(held_back):
        pairs = [pair for pair in range(len(bags)) if bags.folds[pair] == fold]
        if pairs:
            tallies += _tried(bags, pairs, keys, at(links.keys, chances, keys), shares)
    tried, hit, expected, gain = tallies
    pays = (gain > 0) & (hit >= LEAST_HITS)
    seen = np.bincount(np.concatenate(bags.sources), minlength=len(bags.asked))
    chance = at(links.keys, full, keys)
    by_source: dict[int, list[Target]] = {}
    for place in np.flatnonzero(pays).tolist():
        source, target = divmod(int(keys[place]), n_said)
        word = _commonest(bags.said.forms[target])
        by_source.setdefault(source, []).append(
            Target(
                word,
                float(chance[place]),
                int(tried[place]),
                int(hit[place]),
                float(expected[place]),
                float(gain[place] / math.log(2)),
            )
        )
    kept = [_kept(bags, source, targets, int(seen[source])) for source, targets in by_source.items()]
    return Chosen(tuple(sorted(kept, key=lambda each: each.left)), len(keys))


def _kept(bags: Bags, source: int, targets: list[Target], seen: int) -> Kept:
    forms = bags.asked.forms[source]
    top = forms.most_common(1)[0][1]
    # A form met once beside a frequent one is a slip of the pen.
    common = sorted((form for form, count in forms.items() if count > 1 or top == 1), key=lambda f: (-forms[f], f))
    left = common[0] if common else _commonest(forms)
    right = sorted(targets, key=lambda target: (-target.weight, target.word))
    return Kept(left, tuple(common[:MOST_FORMS]) or (left,), tuple(right[:MOST_TARGETS]), seen, source)


def _commonest(forms: dict[str, int]) -> str:
    return min(forms, key=lambda form: (-forms[form], form))


def _candidates(bags: Bags, keys: Keys, full: Floats, n_said: int) -> Keys:
    """What all pairs teach, ascending: likely enough, the first few of each word, and no word of its own."""
    likely = np.flatnonzero((full >= LEAST_CHANCE) & (keys >= n_said))
    source, target = keys[likely] // n_said, keys[likely] % n_said
    own = np.array(
        [
            bags.said.names[t] in bags.asked.names[s].split(" ")
            for s, t in zip(source.tolist(), target.tolist(), strict=True)
        ],
        bool,
    )
    likely, source = likely[~own], source[~own]
    order = np.lexsort((-full[likely], source))
    ranked = source[order]
    first = np.searchsorted(ranked, ranked)
    return np.sort(keys[likely[order[np.arange(len(order)) - first < MOST_TARGETS]]])


def _shares(bags: Bags) -> Floats:
    """In which share of the answers each word stands; one that stands nowhere else is not impossible."""
    counts = np.bincount(np.concatenate(bags.targets), minlength=len(bags.said))
    return np.asarray((counts + 0.5) / (len(bags) + 1))


def _tried(bags: Bags, pairs: Sequence[int], keys: Keys, chances: Floats, shares: Floats) -> Floats:
    """Each key's tallies on held-back pairs: tried, hit, expected, gain in nats; shape (4, n_keys)."""
    n_said = len(bags.said)
    taught = chances >= LEAST_CHANCE
    entries, of = keys[taught], np.flatnonzero(taught)
    pair, place = _meetings(bags, pairs, entries // n_said)
    target = entries[place] % n_said
    meant = pair * n_said + target
    fresh = ~np.isin(meant, _own_words(bags, pairs), assume_unique=False)
    pair, place, target, meant = pair[fresh], place[fresh], target[fresh], meant[fresh]
    said = np.concatenate([n * n_said + bags.targets[p].astype(np.int64) for n, p in enumerate(pairs)])
    was_said = np.isin(meant, said)
    chance = chances[of][place]
    # What the question's other words foretell: 1 - (1 - share) * product of (1 - T) over them.
    _, group = np.unique(meant, return_inverse=True)
    together = np.bincount(group, np.log1p(-np.minimum(chance, 0.99)))[group] if len(group) else np.zeros(0)
    without = 1 - (1 - shares[target]) * np.exp(together - np.log1p(-np.minimum(chance, 0.99)))
    within = 1 - (1 - without) * (1 - np.minimum(chance, 0.99))
    gain = np.where(was_said, np.log(within / without), np.log((1 - within) / (1 - without)))
    tallies = [np.ones(len(place)), was_said.astype(float), without, gain]
    return np.stack([np.bincount(of[place], tally, len(keys)) for tally in tallies])


def _meetings(bags: Bags, pairs: Sequence[int], sources: Keys) -> tuple[Keys, Keys]:
    """Where pairs meet entries: the pair's place among `pairs`, and the entry's; `sources` ascend."""
    sizes = np.array([len(bags.sources[pair]) for pair in pairs])
    asked = np.concatenate([bags.sources[pair] for pair in pairs]).astype(np.int64)
    pair = np.repeat(np.arange(len(pairs)), sizes)
    first, last = np.searchsorted(sources, asked), np.searchsorted(sources, asked, "right")
    counts = last - first
    starts = np.cumsum(counts) - counts
    entry = np.arange(int(counts.sum())) + np.repeat(first - starts, counts)
    return np.repeat(pair, counts), entry


def _own_words(bags: Bags, pairs: Sequence[int]) -> Keys:
    """The words of each question that the other side has too, as pair * n_said + word."""
    n_said = len(bags.said)
    same = np.array([bags.said.numbers.get(name, -1) for name in bags.asked.names])
    own = [n * n_said + same[bags.sources[p]][same[bags.sources[p]] >= 0] for n, p in enumerate(pairs)]
    return np.concatenate(own).astype(np.int64)

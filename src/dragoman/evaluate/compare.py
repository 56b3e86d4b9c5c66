"""One arm against another, question by question: is the difference there, and whom does it hurt?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.evaluate.measures import Values

SAMPLES = 10_000
LEVEL = 0.05  # p under which a difference is held to be there
EVEN = 1e-9  # differences below this are floating-point dust: a tie
HARM = 0.1  # nDCG@10 that a question may lose before it counts as harmed
EXACT = 13  # up to this many differing questions every sign is tried (8,192) instead of sampled
_CHUNK = 4_000_000  # values held at once while sampling, 32 MB


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison of per-question values.

    Attributes:
        delta: mean difference, the arm less the other.
        low, high: its 95% interval by the paired bootstrap (percentiles; Efron 1979, Sakai SIGIR 2006).
        p: two-sided, by the paired randomisation test (Fisher; Smucker, Allan and Carterette, CIKM 2007).
        wins, ties, losses: questions better, even, worse.
        harm: share of questions that lose more than `HARM`.
        spread: standard deviation of the differences, n - 1 in the divisor; 0 for a single question.
    """

    delta: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int
    harm: float
    spread: float

    @property
    def questions(self) -> int:
        """How many were compared."""
        return self.wins + self.ties + self.losses

    def figures(self) -> dict[str, Any]:
        """As plain data, under the names that `--json` and `--fail-if` use."""
        return {
            "delta": self.delta,
            "interval": [self.low, self.high],
            "p": self.p,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
        }

    def needed(self) -> int | None:
        """Questions that would show a difference of this size, by the normal approximation.

        n = ((z_.975 + z_.8) * spread / delta)^2: a two-sided test at 5% that finds it four times in
        five. None where there is no difference to find.
        """
        if abs(self.delta) < EVEN or self.spread == 0:
            return None
        return math.ceil(((1.959964 + 0.841621) * self.spread / self.delta) ** 2)


def compare(base: Values, arm: Values, *, seed: int = 0, samples: int = SAMPLES) -> Comparison:
    """`arm` against `base`, both `(n,)` in the same order of questions; the same figures for the same seed.

    Raises:
        ValueError: no questions, or not the same number on both sides.
    """
    if base.shape != arm.shape or base.ndim != 1 or base.size == 0:
        raise ValueError(f"a paired comparison needs the same questions on both sides, found {base.shape}, {arm.shape}")
    difference = np.where(np.abs(arm - base) < EVEN, 0.0, arm - base)
    random = np.random.default_rng(seed)
    low, high = _bootstrap(difference, random, samples)
    return Comparison(
        float(difference.mean()),
        low,
        high,
        _randomisation(difference, random, samples),
        wins=int((difference > 0).sum()),
        ties=int((difference == 0).sum()),
        losses=int((difference < 0).sum()),
        harm=float((difference < -HARM - EVEN).mean()),
        spread=float(difference.std(ddof=1)) if difference.size > 1 else 0.0,
    )


def _bootstrap(difference: Values, random: np.random.Generator, samples: int) -> tuple[float, float]:
    if not difference.any():
        return 0.0, 0.0
    n = difference.size
    means = np.concatenate(
        [difference[random.integers(0, n, size=(rows, n), dtype=np.int32)].mean(axis=1) for rows in _chunks(samples, n)]
    )
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def _randomisation(difference: Values, random: np.random.Generator, samples: int) -> float:
    """Share of sign assignments whose sum is at least as far from 0; ties play no part in it.

    A sampled p counts the assignment that was seen as one of them, so that it is never 0.
    """
    changed = difference[difference != 0]
    if changed.size == 0:
        return 1.0
    seen = abs(changed.sum()) - EVEN
    if changed.size <= EXACT:
        signs = (np.arange(2**changed.size)[:, None] >> np.arange(changed.size)) & 1
        return float((np.abs((2 * signs - 1) @ changed) >= seen).mean())
    extreme = 0
    for rows in _chunks(samples, changed.size):
        signs = random.integers(0, 2, size=(rows, changed.size), dtype=np.int8)
        extreme += int((np.abs((2.0 * signs - 1.0) @ changed) >= seen).sum())
    return (extreme + 1) / (samples + 1)


def _chunks(samples: int, n: int) -> list[int]:
    rows = max(1, min(samples, _CHUNK // n))
    whole, rest = divmod(samples, rows)
    return [rows] * whole + ([rest] if rest else [])


def holm(values: dict[str, float]) -> dict[str, float]:
    """p-values adjusted for having looked at several arms (Holm 1979): the best of many looks good by chance."""
    adjusted: dict[str, float] = {}
    worst = 0.0
    for place, (name, p) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        worst = max(worst, min(1.0, p * (len(values) - place)))
        adjusted[name] = worst
    return adjusted

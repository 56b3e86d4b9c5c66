"""Where a question stands: near the corpus, or near what people ask about everywhere.

The nearness of a question to its nearest passage alone does not tell whether the corpus is about it:
a chatty question about a vehicle code lies at .34, one about a landlord at .39. Beside it stands the
nearness to a list of everyday questions of every field (`data/elsewhere`), and what counts is

    2 * nearness to the corpus - nearness to the list

against what the corpus's own sentences reach towards *other* passages than their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

# A question may lie this much lower than 99 of 100 of the corpus's own sentences: people do not write
# as corpora do. At this slack 5 of 5 and 29 of 30 off-topic questions were refused, none of a vehicle
# code's own, and 4 in 1,000 of other states' exam questions.
SLACK = 0.3
LOWEST_SHARE = 0.01
# A line of the list is left out when it lies nearer to the corpus than this share of the corpus's own
# sentences do: a corpus of recipes keeps its cooking questions.
NEAR_SHARE = 0.05
LEAST_SAMPLE = 30  # with fewer sentences there is no telling what is usual for the corpus


@dataclass(frozen=True, slots=True)
class Levels:
    """What is usual for a corpus, measured on sentences of its own.

    Attributes:
        least: the score under which a question is off-topic; minus infinity: none is.
        home: the nearness of the median sentence to the passage it stands in.
    """

    least: float
    home: float


@dataclass(frozen=True, slots=True)
class Standing:
    """One text's nearness to the corpus and to the everyday list, cosines, with the corpus's levels."""

    near: float
    elsewhere: float
    levels: Levels

    @property
    def score(self) -> float:
        """2 * nearness to the corpus - nearness to the everyday list."""
        return 2 * self.near - self.elsewhere

    def off_topic(self, slack: float = 0.0) -> bool:
        """Whether the corpus is not about this; `slack` more gives more benefit of the doubt."""
        return self.score < self.levels.least - slack

    @property
    def at_home(self) -> bool:
        """Whether it is as near to a passage as the corpus's own sentences are to theirs."""
        return self.near >= self.levels.home


def measured(own: Sequence[float], others: Sequence[float], elsewhere: Sequence[float] | None) -> Levels:
    """The levels of a corpus from a sample of its sentences.

    Args:
        own: each sentence's nearness to the passage that it stands in.
        others: its nearness to the nearest other passage.
        elsewhere: its nearness to the everyday list; None where the corpus's language has no list,
            and nothing is then off-topic.
    """
    if elsewhere is None or len(own) < LEAST_SAMPLE:
        return Levels(float("-inf"), quantile(own, 0.5) if own else 1.0)
    scores = [2 * near - away for near, away in zip(others, elsewhere, strict=True)]
    return Levels(quantile(scores, LOWEST_SHARE) - SLACK, quantile(own, 0.5))


def quantile(values: Sequence[float], share: float) -> float:
    """The value under which `share` of `values` lie, between neighbours in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@cache
def everyday(language: str) -> tuple[str, ...]:
    """What people ask about everywhere, in this language; empty for one that has no list."""
    data = resources.files("dragoman") / "data" / "elsewhere" / f"{language}.txt"
    if not data.is_file():
        return ()
    lines = (line.strip() for line in data.read_text("utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))

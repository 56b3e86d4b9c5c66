"""Pairs as bags of numbers: all that a translation model needs of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int32]

FOLDS = 5  # each pair is held back once


class Words:
    """Stems or phrases by number, each with the forms it was met in."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.forms: list[Counter[str]] = []

    def number(self, name: str, form: str) -> int:
        """The number of a stem or phrase, met in this form."""
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
            self.forms.append(Counter())
        self.forms[number][form] += 1
        return number

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Bags:
    """All pairs so far, each answer cut to its telling words.

    Attributes:
        asked, said: the words of the two sides; number 0 of `asked` is the null word.
        sources, targets: each pair's numbers.
        folds: which fold holds each pair back.
        weights: how much each of a pair's targets counts.
    """

    asked: Words
    said: Words
    sources: list[Ints]
    targets: list[Ints]
    folds: list[int]
    weights: list[float]

    def __len__(self) -> int:
        return len(self.sources)

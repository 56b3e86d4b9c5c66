"""What an option of a step may hold."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """The values that an option takes.

    Attributes:
        types: a value is of one of them exactly; a number is finite, a list holds texts.
        least: the smallest number allowed.
    """

    types: tuple[type, ...]
    least: float | None = None

    def expected(self, value: Any) -> str:
        """What was expected instead of `value`; empty where it fits."""
        if type(value) not in self.types:  # not isinstance: true is no number here
            return " or ".join(each.__name__ for each in self.types)
        if isinstance(value, list):
            return "" if all(isinstance(each, str) for each in value) else "a list of texts"
        if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
            return "a finite number"
        return f"{self.least} or more" if self.least is not None and value < self.least else ""

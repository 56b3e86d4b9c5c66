"""`--fail-if "lexicon.nDCG@10 < raw - .01"`: one comparison of figures, for continuous integration.

    condition = side OP side          OP is one of < <= > >= == !=
    side      = term (+|- number)?
    term      = number | ARM | ARM.FIGURE

An arm alone stands for its figure of the same name as on the other side, else for its nDCG@10.
FIGURE is a name of `--json`; `interval` has the ends `interval.low` and `interval.high`. Nothing is
evaluated but this.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.errors import DragomanError
from dragoman.evaluate.measures import MAIN

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SPLIT = re.compile(r"\s*(<=|>=|==|!=|<|>)\s*")
_OFFSET = re.compile(r"\s([+-])\s*(\d*\.?\d+)$")
Figures = Mapping[str, Mapping[str, Any]]


class ConditionError(DragomanError, ValueError):
    """A condition that cannot be read, or that names an arm or a figure that is not there."""


@dataclass(frozen=True, slots=True)
class _Side:
    text: str
    number: float | None = None
    arm: str = ""
    figure: str = ""
    offset: float = 0.0


def holds(condition: str, figures: Figures) -> bool:
    """Whether `condition` is true of the figures: arm name -> figure name -> value.

    Raises:
        ConditionError: it cannot be read, or the figure is not known for that arm.
    """
    left, sign, right = _read(condition, figures)
    return _OPERATORS[sign](
        _value(left, right.figure, figures, condition), _value(right, left.figure, figures, condition)
    )


def explain(condition: str, figures: Figures) -> str:
    """The condition with the values on both sides, for the message that says it came true."""
    left, sign, right = _read(condition, figures)
    values = (_value(left, right.figure, figures, condition), _value(right, left.figure, figures, condition))
    return f"{left.text} is {values[0]:.4g}, {sign} {right.text} ({values[1]:.4g})"


def failures(conditions: Iterable[str], figures: Figures) -> tuple[str, ...]:
    """The conditions that came true, with their values, and those whose figure is not there, with why."""
    found: list[str] = []
    for condition in conditions:
        try:
            if holds(condition, figures):
                found.append(explain(condition, figures))
        except ConditionError as error:
            found.append(str(error))
    return tuple(found)


def check(condition: str, arms: Sequence[str], figures: Sequence[str] | None = None) -> None:
    """Read a condition before anything is run.

    Args:
        figures: the names that every arm will have; None: not known yet.

    Raises:
        ConditionError: it cannot be read, or names none of `arms`, or none of `figures`.
    """
    left, _, right = _read(condition, {arm: {} for arm in arms})
    for side, other in ((left, right), (right, left)):
        name = _figure(side, other.figure)
        if figures is not None and side.number is None and name not in figures:
            raise _no_figure(condition, side.arm, name, figures)


def _read(condition: str, figures: Figures) -> tuple[_Side, str, _Side]:
    parts = _SPLIT.split(condition.strip())
    if len(parts) != 3 or not parts[0] or not parts[2]:
        raise ConditionError(
            f"--fail-if {condition!r}: expected one comparison such as 'lexicon.{MAIN} < raw' "
            f"with one of {' '.join(_OPERATORS)}"
        )
    left, right = (_side(text, figures, condition) for text in (parts[0], parts[2]))
    if left.number is not None and right.number is not None:
        raise ConditionError(f"--fail-if {condition!r}: names no arm; known here: {', '.join(figures)}")
    return left, parts[1], right


def _side(text: str, figures: Figures, condition: str) -> _Side:
    try:
        return _Side(text, number=float(text))
    except ValueError:
        pass
    offset = _OFFSET.search(text)
    term = text[: offset.start()].strip() if offset else text
    added = float(offset[1] + offset[2]) if offset else 0.0
    for arm in sorted(figures, key=len, reverse=True):  # an arm's name may hold dots itself
        if term == arm:
            return _Side(text, arm=arm, offset=added)
        if term.startswith(arm + "."):
            return _Side(text, arm=arm, figure=term[len(arm) + 1 :], offset=added)
    raise ConditionError(f"--fail-if {condition!r}: no arm is named in {term!r}; known here: {', '.join(figures)}")


def _value(side: _Side, other: str, figures: Figures, condition: str) -> float:
    if side.number is not None:
        return side.number
    name = _figure(side, other)
    known = dict(figures[side.arm])
    if isinstance(known.get("interval"), list | tuple):
        known["interval.low"], known["interval.high"] = known["interval"]
    value = known.get(name)
    if not isinstance(value, int | float):
        numbers = [key for key, found in known.items() if isinstance(found, int | float)]
        raise _no_figure(condition, side.arm, name, numbers)
    return value + side.offset


def _figure(side: _Side, other: str) -> str:
    return side.figure or other or MAIN


def _no_figure(condition: str, arm: str, name: str, known: Sequence[str]) -> ConditionError:
    return ConditionError(f"--fail-if {condition!r}: {arm} has no figure {name!r}; it has {', '.join(known)}")

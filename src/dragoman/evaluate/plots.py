"""Plots as inline SVG, drawn by nothing but text: no script, no font, no file beside the page.

Places are percentages of the width, so that a plot is as wide as the page, on a phone too, while
its words and dots keep their size. Colours are classes of the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

ROW = 26  # pixels a row is high
_CLEAR = 9.0  # per cent of the width that a scale at the left takes
_ROOM = 2.0  # per cent of the width left free at both sides, so that no dot is cut


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from `low` to `high`; logarithmic where `log`. `ticks` are the values written under it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def at(self, value: float) -> float:
        """Where `value` lies, in per cent of the width; values outside lie on the edge."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, max(value, self.low)))
        share = (value - low) / (high - low)
        return _ROOM + (100 - 2 * _ROOM) * min(max(share, 0.0), 1.0)


def linear(values: Sequence[float], count: int = 4, about: float | None = 0.0) -> Axis:
    """An axis over `values`, and over `about` where given, with ticks at round numbers."""
    ends = [*values] if about is None else [*values, about]
    low, high = min(ends), max(ends)
    if high - low < 1e-9:
        low, high = low - 0.1, high + 0.1
    rough = (high - low) / count
    power: float = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return Axis(first * step, last * step, tuple(round(i * step, 10) for i in range(first, last + 1)))


def logarithmic(values: Sequence[float]) -> Axis:
    """An axis over `values`, which are above 0, with ticks at powers of ten."""
    first = math.floor(math.log10(max(min(values), 1e-3)))
    last = max(math.ceil(math.log10(max(*values, 1e-3))), first + 1)
    return Axis(10.0**first, 10.0**last, tuple(10.0**i for i in range(first, last + 1)), log=True)


def svg(body: str, height: int, label: str) -> str:
    """An image that is as wide as its place, with what it says for those who cannot see it."""
    return f'<svg role="img" width="100%" height="{height}" aria-label="{escape(label)}">{body}</svg>'


def scale(axis: Axis, unit: str = "") -> str:
    """The axis itself: a line with its ticks' values under it."""
    marks = "".join(
        f'<line class="grid" x1="{axis.at(tick):.2f}%" x2="{axis.at(tick):.2f}%" y1="0" y2="5"/>'
        f'<text class="tick" x="{axis.at(tick):.2f}%" y="18" text-anchor="{_anchor(axis.at(tick))}">'
        f"{_number(tick)}{escape(unit)}</text>"
        for tick in axis.ticks
    )
    return f'<svg aria-hidden="true" width="100%" height="22">{marks}</svg>'


def _grid(axis: Axis, height: int = ROW) -> str:
    lines = "".join(
        f'<line class="grid" x1="{axis.at(t):.2f}%" x2="{axis.at(t):.2f}%" y1="0" y2="{height}"/>' for t in axis.ticks
    )
    zero = (
        "" if axis.log else f'<line class="zero" x1="{axis.at(0):.2f}%" x2="{axis.at(0):.2f}%" y1="0" y2="{height}"/>'
    )
    return lines + zero


def interval(axis: Axis, value: float, low: float, high: float, label: str) -> str:
    """A dot with its interval. Its colour says on which side of 0 the whole interval lies."""
    side = "gain" if low > 0 else "loss" if high < 0 else "even"
    middle = ROW // 2
    return svg(
        _grid(axis)
        + f'<line class="{side} wide" x1="{axis.at(low):.2f}%" x2="{axis.at(high):.2f}%" y1="{middle}" y2="{middle}"/>'
        + f'<circle class="{side}" cx="{axis.at(value):.2f}%" cy="{middle}" r="5">{_tip(label)}</circle>',
        ROW,
        label,
    )


def span(axis: Axis, low: float, high: float, label: str) -> str:
    """From one value, a dot, to a higher one, a tick: a median and its tail."""
    middle = ROW // 2
    at, end = axis.at(low), axis.at(high)
    return svg(
        _grid(axis)
        + f'<line class="even wide" x1="{at:.2f}%" x2="{end:.2f}%" y1="{middle}" y2="{middle}"/>'
        + f'<line class="even wide" x1="{end:.2f}%" x2="{end:.2f}%" y1="{middle - 6}" y2="{middle + 6}"/>'
        + f'<circle class="ink" cx="{at:.2f}%" cy="{middle}" r="5">{_tip(label)}</circle>',
        ROW,
        label,
    )


def shares(parts: Mapping[str, int], label: str) -> str:
    """One bar cut into the shares of its parts; each part's name is its class."""
    whole = sum(parts.values())
    pieces, at = [], 0.0
    for name, count in parts.items():
        width = 100 * count / whole if whole else 0.0
        pieces.append(
            f'<rect class="o-{escape(name)}" x="{at:.3f}%" width="{width:.3f}%" y="5" height="{ROW - 10}">'
            f"<title>{escape(name)}: {count:,} of {whole:,}</title></rect>"
        )
        at += width
    cuts = _cuts(parts, whole)
    return svg("".join(pieces) + cuts, ROW, label)


def _cuts(parts: Mapping[str, int], whole: int) -> str:
    """A line of the page's own colour between neighbours, so that colour alone need not part them."""
    at, lines = 0.0, []
    for count in list(parts.values())[:-1]:
        at += 100 * count / whole if whole else 0.0
        lines.append(f'<line class="cut" x1="{at:.3f}%" x2="{at:.3f}%" y1="4" y2="{ROW - 4}"/>')
    return "".join(lines)


def gains(values: Sequence[float], most: float, label: str, height: int = 92) -> str:
    """Every question's difference, the best first, as two areas about a line at 0.

    Args:
        most: the difference that fills the frame to its edge; the same for plots that are compared.
    """
    ordered = sorted(values, reverse=True)
    areas = "".join(
        f'<path class="{name}" d="{_steps(ordered, keep)}"/>'
        for name, keep in (("gain", lambda v: max(v, 0.0)), ("loss", lambda v: min(v, 0.0)))
    )
    width = max(len(ordered), 1)
    return (
        f'<svg role="img" class="area" width="100%" height="{height}" viewBox="0 {-most:.4g} {width} {2 * most:.4g}" '
        f'preserveAspectRatio="none" aria-label="{escape(label)}">{_tip(label)}{areas}'
        f'<line class="zero" x1="0" x2="{width}" y1="0" y2="0"/></svg>'
    )


def _steps(ordered: Sequence[float], keep: Callable[[float], float]) -> str:
    path, last = ["M0 0"], 0.0
    for i, value in enumerate(ordered):
        kept = keep(value)
        if kept != last:
            path.append(f"H{i}V{-kept:.4g}")
            last = kept
    return "".join(path) + f"H{len(ordered)}V0Z"


def curve(
    points: Sequence[tuple[float, float]], label: str, height: int = 180, base: tuple[str, float] | None = None
) -> str:
    """A line through points (x from 0 upwards, in order; y), with both scales.

    Args:
        base: the name and height of what the line is held against.
    """
    across = Axis(0.0, max(*(x for x, _ in points), 1.0), ())
    up = linear([y for _, y in points], about=base and base[1])

    def down(y: float) -> float:
        return (height - 40) * (up.high - y) / (up.high - up.low) + 16

    # clear of the scale's numbers at the left
    places = [(_CLEAR + across.at(x) * (1 - _CLEAR / 100), down(y), x, y) for x, y in points]
    parts = []
    if base:
        at = down(base[1])
        parts.append(f'<line class="zero" x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" x="100%" y="{at + 13:.1f}" text-anchor="end">{escape(base[0])}</text>')
    for tick in up.ticks:
        at = down(tick)
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" x="0" y="{at - 3:.1f}">{_number(tick)}</text>')
    for (x1, y1, *_), (x2, y2, *_) in pairwise(places):
        parts.append(f'<line class="gain wide" x1="{x1:.2f}%" y1="{y1:.1f}" x2="{x2:.2f}%" y2="{y2:.1f}"/>')
    written = -100.0
    for at, height_of, x, y in places:
        tip = _tip(f"{_number(x)}: {y:.3f}")
        parts.append(f'<circle class="gain" cx="{at:.2f}%" cy="{height_of:.1f}" r="4">{tip}</circle>')
        if at - written >= 9:  # per cent: room for a number on a phone
            written = at
            anchor = _anchor(at)
            parts.append(
                f'<text class="tick" x="{at:.2f}%" y="{height - 3}" text-anchor="{anchor}">{_number(x)}</text>'
            )
    return svg("".join(parts), height, label)


def _tip(label: str) -> str:
    return f"<title>{escape(label)}</title>"


def _anchor(at: float) -> str:
    return "start" if at < 6 else "end" if at > 94 else "middle"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"

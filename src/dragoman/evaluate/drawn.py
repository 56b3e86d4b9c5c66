"""Figures of arms drawn for the report, a row an arm: differences, outcomes, milliseconds, what models used."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from dragoman.evaluate import plots
from dragoman.types import Outcome

TOOK = "What models used and which rules bit"
OUTCOMES = "What each step came to"
MILLISECONDS = "Milliseconds a question"


def named(label: str) -> str:
    """Escaped, and allowed to break after a plus or a slash: arms are named by their steps and files."""
    return escape(label).replace("+", "+<wbr>").replace("/", "/<wbr>")


def note(text: str) -> str:
    """A line under a heading; empty where there is nothing to say."""
    return f'<p class="note">{text}</p>' if text else ""


def _row(label: str, plot: str, value: str) -> str:
    return f'<div class="row"><span>{named(label)}</span>{plot}<span>{value}</span></div>'


def differences(rows: Mapping[str, tuple[float, float, float]]) -> str:
    """Arm -> difference and both ends of its interval."""
    axis = plots.linear([end for _, low, high in rows.values() for end in (low, high)])
    drawn = []
    for arm, (delta, low, high) in rows.items():
        label = f"{arm}: {delta:+.3f}, 95% interval {low:+.3f} to {high:+.3f}"
        drawn.append(_row(arm, plots.interval(axis, delta, low, high, label), f"{delta:+.3f}"))
    said = "A dot is the mean difference, the line its 95% interval. A line that touches 0 may be chance."
    return note(said) + "".join(drawn) + _row("", plots.scale(axis), "")


def outcomes(arms: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """Arm -> step -> outcome -> questions; empty where no step ran."""
    rows: list[str] = []
    seen: set[str] = set()
    for arm, steps in arms.items():
        for step, counts in steps.items():
            parts = {outcome.value: counts[outcome.value] for outcome in Outcome if outcome.value in counts}
            seen.update(parts)
            said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in parts.items())
            label = step if step == arm else f"{arm} · {step}"
            main = max(parts, key=lambda name: parts[name])
            value = f"{parts[main] / sum(parts.values()):.0%} {main.replace('_', ' ')}"
            rows.append(_row(label, plots.shares(parts, f"{label}: {said}"), value))
    if not rows:
        return ""
    legend = "".join(
        f'<li><i class="o-{outcome.value}"></i>{outcome.value.replace("_", " ")}</li>'
        for outcome in Outcome
        if outcome.value in seen
    )
    return note("Share of questions by outcome.") + "".join(rows) + f'<ul class="legend">{legend}</ul>'


def milliseconds(times: Mapping[str, tuple[float, float]]) -> str:
    """Arm -> milliseconds at p50 and at p99."""
    axis = plots.logarithmic([ms for pair in times.values() for ms in pair])
    rows = [
        _row(arm, plots.span(axis, p50, p99, f"{arm}: {p50:.1f} ms at p50, {p99:.1f} ms at p99"), _ms(p50, p99))
        for arm, (p50, p99) in times.items()
    ]
    said = "Dot: half of the questions; end of the line: 99 of 100. The scale is logarithmic."
    return note(said) + "".join(rows) + _row("", plots.scale(axis, " ms"), "")


def _ms(p50: float, p99: float) -> str:
    return " / ".join(f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}" for ms in (p50, p99)) + " ms"


def took(arms: Mapping[str, tuple[str, str]]) -> str:
    """Arm -> what its model used, and which rules bit, as `printed.took` says it."""
    return "".join(
        f'<div class="gainrow"><p><span>{named(arm)}</span><span>{escape(used)}</span></p></div>{note(escape(rules))}'
        for arm, (used, rules) in arms.items()
    )

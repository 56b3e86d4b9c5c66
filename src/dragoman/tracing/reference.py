"""The table as the docs show it."""

from __future__ import annotations

from dragoman.telemetry import KINDS
from dragoman.tracing.table import METRICS, SPANS


def events_reference() -> str:
    """Every kind of event."""
    lines = ["| kind | what |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{kind}` | {about} |" for kind, about in KINDS.items())])


def spans_reference() -> str:
    """Every span with its attributes; `content` marks those that hold somebody's words."""
    parts = []
    for row in SPANS.values():
        name = f"{row.name} {{{row.target}}}" if row.target else row.name
        lines = [f"### `{name}`", "", f"{row.about[0].upper()}{row.about[1:]}.", ""]
        lines += ["| attribute | type | what | |", "|---|---|---|---|"]
        for each in row.attributes:
            lines.append(f"| `{each.name}` | {each.type} | {each.about} | {'content' if each.content else ''} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def metrics_reference() -> str:
    """Every metric with its attributes."""
    lines = ["| metric | instrument | unit | what | by |", "|---|---|---|---|---|"]
    for row in METRICS:
        instrument = "histogram" if row.bounds else "counter"
        by = ", ".join(f"`{name}`" for name in row.by)
        lines.append(f"| `{row.name}` | {instrument} | `{row.unit}` | {row.about} | {by} |")
    return "\n".join(lines)

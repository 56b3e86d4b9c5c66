"""Figures as text for a terminal, and as tables for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dragoman.evaluate.arms import Made
from dragoman.evaluate.compare import Comparison
from dragoman.evaluate.evaluation import Evaluation
from dragoman.evaluate.growth import Point
from dragoman.evaluate.measures import MAIN, MEASURES
from dragoman.evaluate.plots import curve
from dragoman.evaluate.tune import Tuned

HEADINGS = {
    "noise": "With greetings, thanks and fillers put in",
    "off_topic": "On questions the corpus cannot answer",
}
KNOWN = "On questions made from the corpus's own words, which show harm and no gain"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    )


def figures(evaluation: Evaluation) -> str:
    """A row an arm."""
    closed = evaluation.ceiling is not None
    head = ["arm", *MEASURES, "delta", "95% interval", "p", "won/even/lost", "harm", "p50 ms", "p99 ms"]
    rows = []
    for name, arm in evaluation.arms.items():
        c = arm.comparison
        row = [name, *(f"{arm.mean(measure):.3f}" for measure in MEASURES)]
        row += [f"{c.delta:+.3f}", f"{c.low:+.3f}..{c.high:+.3f}", _p(c.p), f"{c.wins}/{c.ties}/{c.losses}"]
        row += [f"{c.harm:.1%}", f"{arm.milliseconds(50):.1f}", f"{arm.milliseconds(99):.1f}"]
        rows.append([*row, "" if arm.gap_closed is None else f"{arm.gap_closed:.0%}"] if closed else row)
    said = table([*head, "gap closed"] if closed else head, rows)
    if evaluation.left_out:
        some = ", ".join(evaluation.left_out[:10]) + (", ..." if len(evaluation.left_out) > 10 else "")
        said += f"\n{len(evaluation.left_out):,} questions have no relevant judgment and are in no mean: {some}"
    failed = {name: len(arm.run.failures) for name, arm in evaluation.arms.items() if arm.run.failures}
    for name, count in failed.items():
        first = next(iter(evaluation.arms[name].run.failures.values()))
        said += f"\n{name}: {count:,} questions failed and count 0; the first: {first}"
    return said


def missing(made: Sequence[Made]) -> list[str]:
    """A line an arm that runs without some of its steps."""
    return [
        f"{each.arm.name}: {', '.join(each.missing)} left out: the profile has nothing to make it of "
        "(a lexicon, a model, a store)"
        for each in made
        if each.missing
    ]


def difference(comparison: Comparison) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "delta": comparison.delta,
        "interval": [comparison.low, comparison.high],
        "p": comparison.p,
        "questions": comparison.questions,
    }


def trial(name: str, data: Mapping[str, Mapping[str, Any]]) -> str:
    """A further trial's table under its heading."""
    return f"{HEADINGS[name]}:\n{_rows(data)}"


def _rows(data: Mapping[str, Mapping[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for row in data.values() for key in row))
    return table(["arm", *keys], [[arm, *(_cell(row.get(key)) for key in keys)] for arm, row in data.items()])


def _p(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"
    if isinstance(value, list):
        return "..".join(_cell(each) for each in value)
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_cell(each)}" for key, each in value.items())
    return "" if value is None else str(value)


def tuned_data(arm: str, found: Tuned, toml: str) -> dict[str, Any]:
    """Tuning as plain data."""
    return {
        "arm": arm,
        "factors": dict(found.factors),
        "default": found.default,
        "held_out": difference(found.held_out),
        "fitted": found.fitted,
        "folds": [dict(fold) for fold in found.folds],
        "guards": {name: difference(guard) for name, guard in found.guards.items()},
        "pays": found.pays,
        "toml": toml,
    }


def tuned(data: Mapping[str, Any]) -> str:
    """What tuning came to, with the weights as a profile holds them."""
    held = data["held_out"]
    lines = [
        f"Weights of {data['arm']} set on these questions, {MAIN}:",
        f"  defaults {data['default']:.3f}; tuned, on questions they were not set on: "
        f"{data['default'] + held['delta']:.3f} ({held['delta']:+.3f}, 95% interval {_interval(held)}, "
        f"p {_p(held['p'])})",
        f"  (on those they were set on: {data['fitted']:.3f}, an upper figure)",
    ]
    lines += [
        f"  guard {name}: {guard['delta']:+.3f}, 95% interval {_interval(guard)}"
        for name, guard in data["guards"].items()
    ]
    moved = ", ".join(f"{knob} x{factor:g}" for knob, factor in data["factors"].items() if factor != 1)
    lines.append(f"  moved: {moved or 'nothing'}")
    if data["pays"]:
        lines += ["They pay. Into the profile:", "", data["toml"]]
    else:
        lines.append("They do not pay for certain: keep the defaults.")
    return "\n".join(lines)


def _interval(data: Mapping[str, Any]) -> str:
    low, high = data["interval"]
    return f"{low:+.3f} to {high:+.3f}"


def unlabelled_rows(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns of the label-free figures that fit a table."""
    keys = ("held", "empty", "searches", "p50_ms", "p99_ms")
    return {arm: {key: row[key] for key in keys if key in row} for arm, row in data["arms"].items()}


def known_rows(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns of an evaluation on made-up questions that say whether an arm harms."""
    keys = (MAIN, "delta", "interval", "p", "wins", "ties", "losses", "harm")
    return {arm: {key: row[key] for key in keys} for arm, row in data["arms"].items()}


def agreement_rows(data: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Overlap@10 of every pair of arms as a square."""
    names = list(data["arms"])
    return {
        one: {other: data["agreement"].get(one, {}).get(other, {}).get("overlap@10", 1.0) for other in names}
        for one in names
    }


def unlabelled(data: Mapping[str, Any]) -> str:
    """Both tables."""
    return (
        f"{data['questions']:,} questions without judgments\n{_rows(unlabelled_rows(data))}\n\n"
        f"Agreement, overlap@10:\n{_rows(agreement_rows(data))}"
    )


def unlabelled_verdict(data: Mapping[str, Any]) -> str:
    """What can be said without judgments, and what cannot."""
    raw = data["arms"]["raw"]
    said = [f"Without judgments nobody can say which arm is better on {data['collection']}."]
    if "held" in raw:
        said.append(f"The corpus holds {raw['held']:.0%} of the telling words of its questions as asked.")
        others = {arm: row["held"] for arm, row in data["arms"].items() if arm != "raw"}
        if others:
            best = max(others, key=lambda arm: others[arm])
            said.append(f"Of the searches of {best}: {others[best]:.0%}.")
    far = {arm: row.get("raw", {}).get("overlap@10", 1.0) for arm, row in data["agreement"].items() if arm != "raw"}
    if far:
        most = min(far, key=lambda arm: far[arm])
        said.append(
            f"{most} changes most: {far[most]:.0%} of its first ten hits are raw's. Judge questions where it does."
        )
    known = data.get("known_items", {}).get("arms", {})
    harmed = [arm for arm, row in known.items() if row["interval"][1] < 0]
    if harmed:
        said.append(f"On questions in the corpus's own words these are worse than raw: {', '.join(harmed)}.")
    return " ".join(said)


def fidelity(data: Mapping[str, Any]) -> str:
    """A row an arm."""
    return f"{data['rows']:,} rows, each text beside a person's\n{_rows(data['arms'])}"


def html_table(data: Mapping[str, Mapping[str, Any]]) -> str:
    """The same rows as a table of the report."""
    keys = list(dict.fromkeys(key for row in data.values() for key in row))
    head = "".join(f'<th scope="col">{escape(key)}</th>' for key in ("arm", *keys))
    rows = "".join(
        f'<tr><th scope="row">{escape(arm)}</th>'
        + "".join(f"<td>{escape(_cell(row.get(key)))}</td>" for key in keys)
        + "</tr>"
        for arm, row in data.items()
    )
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Figures of every arm">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def growth(arm: str, points: Sequence[Point]) -> str:
    """An arm's learning curve as two lines of figures."""
    rows = [[MAIN, *(f"{point.mean:.3f}" for point in points)]]
    return f"{arm} as its memory grows:\n" + table(["remembered", *(f"{p.remembered:,}" for p in points)], rows)


def html_growth(points: Sequence[Point], raw: float) -> str:
    """The same as a plot, against the mean of `raw`."""
    label = f"{MAIN} by the number of remembered questions: " + ", ".join(
        f"{point.remembered:,} {point.mean:.3f}" for point in points
    )
    drawn = curve([(point.remembered, point.mean) for point in points], label, base=("raw", raw))
    return f'<p class="note">{MAIN} by how many questions are remembered.</p>{drawn}'


def html_pre(text: str) -> str:
    """Text as it stands."""
    return f"<pre>{escape(text)}</pre>"

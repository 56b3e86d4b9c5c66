"""Figures as text for a terminal, and as tables for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dragoman.evaluate import drawn
from dragoman.evaluate.arms import Made
from dragoman.evaluate.compare import Comparison
from dragoman.evaluate.evaluation import Evaluation, Prices
from dragoman.evaluate.growth import Point
from dragoman.evaluate.measures import MAIN, MEASURES
from dragoman.evaluate.plots import curve
from dragoman.evaluate.tune import Tuned

HEADINGS = {
    "noise": "With greetings, thanks and fillers put in",
    "off_topic": "On questions the corpus cannot answer",
    "rewriting_alone": "Rewriting alone, against the same fusion without steps",
}
MOST_RULES = 8  # of an arm that are named
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


def figures(evaluation: Evaluation, prices: Prices | None = None) -> str:
    """A row an arm, then what each of them took."""
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
    return "\n".join([said, *_took({name: arm.figures(prices) for name, arm in evaluation.arms.items()})])


def took(arms: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Arm -> the tokens of its model's calls with their cost, and the rules that bit; only arms that have either.

    Args:
        arms: their figures by name; `cost` is there where prices were given.
    """
    found = {name: (_used(row), _bites(row["rules"])) for name, row in arms.items()}
    return {name: each for name, each in found.items() if any(each)}


def _used(row: Mapping[str, Any]) -> str:
    tokens = row["tokens"]
    if not any(tokens.values()):
        return ""
    cost = row.get("cost")
    return f"{tokens['in']:,} tokens in, {tokens['out']:,} out" + ("" if cost is None else f", cost {cost:,.4g}")


def _bites(rules: Mapping[str, int]) -> str:
    named = [f"{rule} {count:,}" for rule, count in list(rules.items())[:MOST_RULES]]
    more = len(rules) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _took(arms: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line an arm under a heading; none where there is nothing to say."""
    lines = [f"  {name}: {'; '.join(filter(None, each))}" for name, each in took(arms).items()]
    return [f"{drawn.TOOK}:", *lines] if lines else []


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
    keys = _columns(data)
    return table(["arm", *keys], [[arm, *(_cell(row.get(key)) for key in keys)] for arm, row in data.items()])


def _columns(data: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What cells hold; figures that have parts themselves, as outcomes, are drawn instead."""
    return list(dict.fromkeys(key for row in data.values() for key, each in row.items() if not _parted(each)))


def _parted(value: Any) -> bool:
    return isinstance(value, Mapping)


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
    """The label-free figures, those first that fit a table."""
    keys = ("held", "empty", "searches", "p50_ms", "p99_ms", "outcomes", "rules", "tokens")
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
    """Both tables, and what each arm took."""
    return "\n".join(
        [
            f"{data['questions']:,} questions without judgments\n{_rows(unlabelled_rows(data))}",
            *_took(data["arms"]),
            f"\nAgreement, overlap@10:\n{_rows(agreement_rows(data))}",
        ]
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
    """The same rows as a table of the report, and under it what is better drawn."""
    keys = _columns(data)
    rows = {arm: [_cell(row.get(key)) for key in keys] for arm, row in data.items()}
    return html_table_of(keys, rows) + "".join(
        f"<h3>{escape(heading)}</h3>{body}" for heading, body in _plots(data).items() if body
    )


def html_table_of(columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Arm -> its cells; named by its columns, which no two tables of a page share. A narrow page scrolls it."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("arm", *columns))
    body = "".join(
        f'<tr><th scope="row">{drawn.named(arm)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        for arm, cells in rows.items()
    )
    label = escape(f"Every arm: {', '.join(columns)}")
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _plots(data: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Heading -> drawing, of the figures that these rows have; empty where there is nothing to see."""
    moved = {arm: (row["delta"], *row["interval"]) for arm, row in data.items() if {"delta", "interval"} <= row.keys()}
    times = {arm: (row["p50_ms"], row["p99_ms"]) for arm, row in data.items() if {"p50_ms", "p99_ms"} <= row.keys()}
    parted = {arm: row for arm, row in data.items() if _parted(row.get("outcomes"))}
    return {
        "delta": drawn.differences(moved) if moved else "",
        drawn.OUTCOMES: drawn.outcomes({arm: row["outcomes"] for arm, row in parted.items()}),
        drawn.MILLISECONDS: drawn.milliseconds(times) if times else "",
        drawn.TOOK: drawn.took(took(parted)),
    }


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
    return f'<pre tabindex="0">{escape(text)}</pre>'

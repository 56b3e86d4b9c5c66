"""The report: one HTML file that needs nothing else, read in a minute, light or dark, wide or on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template

from dragoman.evaluate import plots
from dragoman.evaluate.evaluation import ArmResult, Evaluation, answered, extremes
from dragoman.evaluate.measures import MAIN, MEASURES, UNJUDGED
from dragoman.evaluate.verdict import leading, verdict
from dragoman.types import Outcome

Extra = tuple[str, str]  # a further section: heading, and its HTML, already escaped


def page(evaluation: Evaluation, extras: Sequence[Extra] = ()) -> str:
    """The page as text, with no script and no reference to anything outside it."""
    parts = [_head(evaluation), _table(evaluation)]
    if evaluation.others:
        parts += [_differences(evaluation), _gains(evaluation), _outcomes(evaluation)]
    parts.append(_latency(evaluation))
    parts += [_section(heading, body) for heading, body in extras]
    parts += [_moved(evaluation, arm) for arm in _leader_first(evaluation)]
    return _document(f"Does rewriting pay on {evaluation.collection}?", parts)


def table_page(title: str, lead: str, sections: Sequence[Extra]) -> str:
    """A page of tables, for what has no judgments to plot."""
    head = f'<h1>{escape(title)}</h1><p class="verdict">{escape(lead)}</p>'
    return _document(title, [head, *(_section(heading, body) for heading, body in sections)])


def _document(title: str, parts: Sequence[str]) -> str:
    data = resources.files("dragoman") / "data" / "report"
    return Template((data / "page.html").read_text("utf-8")).substitute(
        title=escape(title), style=(data / "page.css").read_text("utf-8"), body="\n".join(parts)
    )


def _leader_first(evaluation: Evaluation) -> list[ArmResult]:
    leader = leading(evaluation)
    return [] if leader is None else [leader, *(arm for arm in evaluation.others if arm is not leader)]


def _section(heading: str, body: str, note: str = "") -> str:
    said = f'<p class="note">{note}</p>' if note else ""
    return f"<section><h2>{escape(heading)}</h2>{said}{body}</section>"


def _head(evaluation: Evaluation) -> str:
    left = ""
    if evaluation.left_out:
        listed = ", ".join(escape(identity) for identity in evaluation.left_out[:200])
        left = (
            f"<details><summary>{len(evaluation.left_out):,} questions have no relevant judgment and are in no mean"
            f"</summary><p>{listed}</p></details>"
        )
    return (
        f"<h1>Does rewriting pay on {escape(evaluation.collection)}?</h1>"
        f'<p class="soft">{len(evaluation.ids):,} judged questions, {len(evaluation.arms)} arms, '
        f"each compared with raw on the same questions.</p>"
        f'<p class="verdict">{escape(verdict(evaluation))}</p>{left}'
    )


_COLUMNS = (
    MAIN,
    *("delta", "95% interval", "p", "won / even / lost", "harm", "gap closed"),
    *(name for name in MEASURES if name != MAIN),
    UNJUDGED,
)


def _table(evaluation: Evaluation) -> str:
    closed = evaluation.ceiling is not None
    columns = [name for name in _COLUMNS if closed or name != "gap closed"]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    rows = "".join(
        f'<tr><th scope="row">{_name(name)}</th>{"".join(f"<td>{cell}</td>" for cell in _cells(arm, closed))}</tr>'
        for name, arm in evaluation.arms.items()
    )
    return _section(
        "Figures",
        '<div class="scroll" role="region" tabindex="0" aria-label="Figures of every arm"><table>'
        f'<thead><tr><th scope="col">arm</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>',
        f"delta, interval and p: {MAIN} against raw. harm: share of questions that lose more than .1.",
    )


def _cells(arm: ArmResult, closed: bool) -> list[str]:
    against = arm.comparison
    cells = [
        f"{arm.mean():.3f}",
        f"{against.delta:+.3f}",
        f"{against.low:+.3f} to {against.high:+.3f}",
        "&lt; .001" if against.p < 0.001 else f"{against.p:.3f}",
        f"{against.wins:,} / {against.ties:,} / {against.losses:,}",
        f"{against.harm:.1%}",
    ]
    if closed:
        cells.append("" if arm.gap_closed is None else f"{arm.gap_closed:.0%}")
    cells += [f"{arm.mean(name):.3f}" for name in MEASURES if name != MAIN]
    return [*cells, f"{arm.mean(UNJUDGED):.0%}"]


def _name(label: str) -> str:
    """Escaped, and allowed to break after a plus or a slash: arms are named by their steps and files."""
    return escape(label).replace("+", "+<wbr>").replace("/", "/<wbr>")


def _row(label: str, plot: str, value: str) -> str:
    return f'<div class="row"><span>{_name(label)}</span>{plot}<span>{value}</span></div>'


def _differences(evaluation: Evaluation) -> str:
    ends = [end for arm in evaluation.others for end in (arm.comparison.low, arm.comparison.high)]
    axis = plots.linear(ends)
    rows = []
    for arm in evaluation.others:
        c = arm.comparison
        label = f"{arm.name}: {c.delta:+.3f}, 95% interval {c.low:+.3f} to {c.high:+.3f}"
        rows.append(_row(arm.name, plots.interval(axis, c.delta, c.low, c.high, label), f"{c.delta:+.3f}"))
    return _section(
        f"Difference to raw in {MAIN}",
        "".join(rows) + _row("", plots.scale(axis), ""),
        "A dot is the mean difference, the line its 95% interval. A line that touches 0 may be chance.",
    )


def _gains(evaluation: Evaluation) -> str:
    rows = []
    gains = {arm.name: arm.values[MAIN] - evaluation.raw.values[MAIN] for arm in evaluation.others}
    most = max(0.1, *(float(abs(gain).max()) for gain in gains.values()))
    for arm in _leader_first(evaluation):
        c = arm.comparison
        score = f"{c.wins:,} won, {c.ties:,} even, {c.losses:,} lost"
        plot = plots.gains(gains[arm.name].tolist(), most, f"{arm.name}: {score}")
        rows.append(f'<div class="gainrow"><p><span>{_name(arm.name)}</span><span>{score}</span></p>{plot}</div>')
    return _section(
        "Gain per question, sorted",
        "".join(rows),
        f"One step a question, best first: above the line it gained {MAIN}, below it lost. "
        f"The frame is {most:+.2f} to {-most:.2f} for all.",
    )


def _outcomes(evaluation: Evaluation) -> str:
    rows: list[str] = []
    seen: set[str] = set()
    for arm in evaluation.others:
        for step, counts in arm.run.outcomes.items():
            parts: dict[str, int] = {
                outcome.value: counts[outcome.value] for outcome in Outcome if outcome.value in counts
            }
            seen.update(parts)
            said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in parts.items())
            label = step if step == arm.name else f"{arm.name} · {step}"
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
    return _section(
        "What each step came to", "".join(rows) + f'<ul class="legend">{legend}</ul>', "Share of questions by outcome."
    )


def _latency(evaluation: Evaluation) -> str:
    times = {name: (arm.milliseconds(50), arm.milliseconds(99)) for name, arm in evaluation.arms.items()}
    axis = plots.logarithmic([ms for pair in times.values() for ms in pair])
    rows = [
        _row(name, plots.span(axis, p50, p99, f"{name}: {p50:.1f} ms at p50, {p99:.1f} ms at p99"), _ms(p50, p99))
        for name, (p50, p99) in times.items()
    ]
    return _section(
        "Milliseconds a question",
        "".join(rows) + _row("", plots.scale(axis, " ms"), ""),
        "From the asking to the fused list, search included. Dot: half of the questions; end of the line: 99 of 100. "
        "The scale is logarithmic.",
    )


def _ms(p50: float, p99: float) -> str:
    return " / ".join(f"{ms:.1f}" if ms < 100 else f"{ms:,.0f}" for ms in (p50, p99)) + " ms"


def _moved(evaluation: Evaluation, arm: ArmResult) -> str:
    worst, best = extremes(evaluation, arm)
    body = "".join(
        f"<h3>{heading}</h3>" + "".join(_question(evaluation, arm, place) for place in places)
        for heading, places in (("Worst losses", worst), ("Best wins", best))
        if places
    )
    return _section(f"{arm.name}: the questions it moved most", body or "<p>It moved none.</p>")


def _question(evaluation: Evaluation, arm: ArmResult, place: int) -> str:
    identity = evaluation.ids[place]
    each = answered(arm, identity)
    before, after = (float(of.values[MAIN][place]) for of in (evaluation.raw, arm))
    side = "up" if after > before else "down"
    relevant = ", ".join(escape(doc_id) for doc_id in evaluation.relevant(identity)[:10])
    first = ", ".join(escape(doc_id) for doc_id in answered(evaluation.raw, identity).doc_ids[:5])
    asked = escape(each.asked.question.text[:300])
    return (
        f'<details><summary><b class="{side}">{after - before:+.2f}</b> {asked}</summary>'
        f'<p class="note">{escape(identity)}: {MAIN} {before:.2f} -> {after:.2f}. Relevant: {relevant}. '
        f"Raw's first five: {first or 'nothing'}.</p>"
        f"<pre>{escape(each.explained or each.failure)}</pre></details>"
    )

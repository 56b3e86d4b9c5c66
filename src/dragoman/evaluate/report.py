"""The report: one HTML file that needs nothing else, read in a minute, light or dark, wide or on a phone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template

from dragoman.evaluate import drawn, plots
from dragoman.evaluate.evaluation import ArmResult, Evaluation, Prices, answered, extremes
from dragoman.evaluate.measures import MAIN, MEASURES, UNJUDGED
from dragoman.evaluate.printed import html_table_of, took
from dragoman.evaluate.verdict import leading, verdict

Extra = tuple[str, str]  # a further section: heading, and its HTML, already escaped


def page(evaluation: Evaluation, extras: Sequence[Extra] = (), prices: Prices | None = None) -> str:
    """The page as text, with no script and no reference to anything outside it."""
    parts = [_head(evaluation), _table(evaluation)]
    if evaluation.others:
        parts += [_differences(evaluation), _gains(evaluation), _outcomes(evaluation)]
    parts += [_latency(evaluation), _took(evaluation, prices)]
    parts += [_section(heading, body) for heading, body in extras]
    parts += [_moved(evaluation, arm) for arm in _leader_first(evaluation)]
    return _document(f"Does rewriting pay on {evaluation.collection}?", parts)


def table_page(title: str, lead: str, sections: Sequence[Extra]) -> str:
    """A page of tables, and of what they say drawn, for what has no judgments."""
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
    return f"<section><h2>{escape(heading)}</h2>{drawn.note(note)}{body}</section>"


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


_FURTHER = (*(name for name in MEASURES if name != MAIN), UNJUDGED)


def _table(evaluation: Evaluation) -> str:
    """Two tables, each as narrow as a page: what is compared with raw, and the further measures."""
    closed = evaluation.ceiling is not None
    compared = [MAIN, "delta", "95% interval", "p", "won / even / lost", "harm", *(["gap closed"] if closed else [])]
    return _section(
        "Figures",
        html_table_of(compared, {name: _compared(arm, closed) for name, arm in evaluation.arms.items()})
        + "<h3>Further measures</h3>"
        + html_table_of(_FURTHER, {name: _further(arm) for name, arm in evaluation.arms.items()}),
        f"delta, interval and p: {MAIN} against raw. harm: share of questions that lose more than .1.",
    )


def _compared(arm: ArmResult, closed: bool) -> list[str]:
    against = arm.comparison
    cells = [
        f"{arm.mean():.3f}",
        f"{against.delta:+.3f}",
        f"{against.low:+.3f} to {against.high:+.3f}",
        "< .001" if against.p < 0.001 else f"{against.p:.3f}",
        f"{against.wins:,} / {against.ties:,} / {against.losses:,}",
        f"{against.harm:.1%}",
    ]
    if closed:
        cells.append("" if arm.gap_closed is None else f"{arm.gap_closed:.0%}")
    return cells


def _further(arm: ArmResult) -> list[str]:
    return [*(f"{arm.mean(name):.3f}" for name in _FURTHER if name != UNJUDGED), f"{arm.mean(UNJUDGED):.0%}"]


def _differences(evaluation: Evaluation) -> str:
    found = {arm.name: (arm.comparison.delta, arm.comparison.low, arm.comparison.high) for arm in evaluation.others}
    return _section(f"Difference to raw in {MAIN}", drawn.differences(found))


def _gains(evaluation: Evaluation) -> str:
    rows = []
    gains = {arm.name: arm.values[MAIN] - evaluation.raw.values[MAIN] for arm in evaluation.others}
    most = max(0.1, *(float(abs(gain).max()) for gain in gains.values()))
    for arm in _leader_first(evaluation):
        c = arm.comparison
        score = f"{c.wins:,} won, {c.ties:,} even, {c.losses:,} lost"
        plot = plots.gains(gains[arm.name].tolist(), most, f"{arm.name}: {score}")
        rows.append(f'<div class="gainrow"><p><span>{drawn.named(arm.name)}</span><span>{score}</span></p>{plot}</div>')
    return _section(
        "Gain per question, sorted",
        "".join(rows),
        f"One step a question, best first: above the line it gained {MAIN}, below it lost. "
        f"The frame is {most:+.2f} to {-most:.2f} for all.",
    )


def _outcomes(evaluation: Evaluation) -> str:
    body = drawn.outcomes({arm.name: arm.run.outcomes for arm in evaluation.others})
    return _section(drawn.OUTCOMES, body) if body else ""


def _latency(evaluation: Evaluation) -> str:
    times = {name: (arm.milliseconds(50), arm.milliseconds(99)) for name, arm in evaluation.arms.items()}
    said = "From the asking to the fused list, search included."
    return _section(drawn.MILLISECONDS, drawn.milliseconds(times), said)


def _took(evaluation: Evaluation, prices: Prices | None) -> str:
    found = took({name: arm.figures(prices) for name, arm in evaluation.arms.items()})
    return _section(drawn.TOOK, drawn.took(found)) if found else ""


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
        f'<pre tabindex="0">{escape(each.explained or each.failure)}</pre></details>'
    )

"""The hostile table as Markdown: what each system searched, whether the question's hits are there, how long."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.hostile_rows import GOOD, Row
from bench.hostile_systems import System
from bench.peers.stubs import clean

SLOW = 4.0  # seconds from which an answer counts as late in the summary: a model's leash by default
QUOTED = 40  # characters of an odd search that the table shows
KINDS = {"reply": "What the model replies", "wire": "What the wire does", "retriever": "What a retriever does"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one question.

    Attributes:
        searched: the question as asked was searched.
        raw: the best hit of the question alone, from each retriever that is well, is among the hits.
        odd: searched texts that are neither the question nor a search that the reply held.
        lost: why nothing came back; empty when something did.
    """

    searched: bool
    raw: bool
    odd: tuple[str, ...]
    searches: int
    seconds: float
    lost: str = ""

    @property
    def well(self) -> bool:
        """Nothing was lost and nothing odd was searched."""
        return self.searched and self.raw and not self.odd and not self.lost


def judged(row: Row, answer: Mapping[str, Any], both: bool) -> Verdict:
    """The verdict on one answer."""
    if answer.get("cut"):
        return Verdict(False, False, (), 0, float("inf"), "> 8 s, cut")
    searched = answer["searched"]
    known = {_bare(text) for text in (row.question, *GOOD, *row.kept)}
    odd = tuple(text for text in searched if _bare(text) not in known)
    kinds = ("words", "meaning") if both else ("meaning",)
    well = [kind for kind in kinds if row.fault not in ("down", "slow", "scores") or kind == "words"]
    wanted = {clean(kind, row.question, 1)[0].doc_id for kind in well} if row.depth > 0 else set()
    lost = answer["error"].split(":")[0] if answer["error"] else ""
    if row.fault == "all down" and lost:
        lost = f"raises {lost}"
    more = answer["searches"] - (row.question in searched)
    return Verdict(row.question in searched, wanted <= set(answer["ids"]), odd, more, answer["seconds"], lost)


def _bare(text: str) -> str:
    """A text without list marks and quotes around it, in one case: what an engine makes of it anyhow."""
    return " ".join(re.sub(r"^\s*(?:\d+[.)]|[-*])\s*", "", text).strip(' \t"').casefold().split())


def cell(row: Row, verdict: Verdict) -> str:
    """One cell."""
    if row.fault == "all down":
        return verdict.lost or "nothing, as if nothing matched"
    if verdict.lost:
        return f"**lost**: {verdict.lost}"
    said = [f"q + {verdict.searches}" if verdict.searched else f"**q not searched**, {verdict.searches} others"]
    if verdict.odd:
        quoted = re.sub(r"[\s|`\x00-\x1f]+", " ", verdict.odd[0])[:QUOTED].strip()
        said.append(f"odd: `{quoted}`" + (f" and {len(verdict.odd) - 1} more" if len(verdict.odd) > 1 else ""))
    if not verdict.raw:
        said.append("**raw's best is gone**")
    return f"{'; '.join(said)}; {verdict.seconds:.1f} s"


def table(rows: Sequence[Row], answered: Sequence[tuple[System, Mapping[str, Any]]]) -> str:
    """The summary, the versions and the three tables."""
    verdicts = {
        system.column: {
            row.name: judged(row, kept["answers"][row.name], system.both)
            for row in rows
            if row.name in kept.get("answers", {})
        }
        for system, kept in answered
    }
    columns = [system.column for system, _ in answered]
    parts = [_versions(answered), _summary(rows, verdicts)]
    for kind, title in KINDS.items():
        chosen = [row for row in rows if row.kind == kind]
        parts += [f"### {title}", _part(chosen, columns, verdicts, {s.column: kept for s, kept in answered})]
    return "\n\n".join(parts)


def _versions(answered: Sequence[tuple[System, Mapping[str, Any]]]) -> str:
    known: dict[str, str] = {}
    absent: list[str] = []
    for system, kept in answered:
        known |= kept.get("versions", {})
        if "absent" in kept:
            absent.append(f"{system.column}: {kept['absent']}")
    said = "Made by `make hostile` with " + ", ".join(f"{name} {version}" for name, version in known.items()) + "."
    return said + ("" if not absent else " Not there: " + "; ".join(absent) + ".")


def _summary(rows: Sequence[Row], verdicts: Mapping[str, Mapping[str, Verdict]]) -> str:
    lines = [
        "| | rows | question searched | raw's best still there | odd texts searched | lost (error) | "
        f"over {SLOW:.0f} s | cut at 8 s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    usual = {row.name for row in rows if row.fault != "all down"}  # there raising is right
    for column, found in verdicts.items():
        of = [verdict for name, verdict in found.items() if name in usual]
        if not of:
            lines.append(f"| {column} | 0 | | | | | | |")
            continue
        cut = sum(verdict.seconds == float("inf") for verdict in of)
        counts = (
            len(of),
            sum(verdict.searched for verdict in of),
            sum(verdict.raw and not verdict.lost for verdict in of),
            sum(bool(verdict.odd) for verdict in of),
            sum(bool(verdict.lost) for verdict in of) - cut,
            sum(SLOW < verdict.seconds < float("inf") for verdict in of),
            cut,
        )
        lines.append(f"| {column} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def _part(
    rows: Sequence[Row],
    columns: Sequence[str],
    verdicts: Mapping[str, Mapping[str, Verdict]],
    kept: Mapping[str, Mapping[str, Any]],
) -> str:
    lines = [f"| fault | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for row in rows:
        cells = [cell(row, found[row.name]) if row.name in (found := verdicts[name]) else "–" for name in columns]
        mine = kept[columns[0]].get("answers", {}).get(row.name, {})
        if mine.get("outcome") and columns[0] == "Dragoman":
            why = mine["failures"] if row.kind == "retriever" else mine["reason"]
            cells[0] += f"<br>*{mine['outcome']}*" + (f": {_escaped(why)}" if why else "")
        lines.append(f"| {_escaped(row.name)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")

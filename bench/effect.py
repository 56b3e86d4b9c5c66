"""What rewriting does to ranking, measured: prints a table and writes it, with its details, to docs/effect.md;
the judged sides also to the README.

    python -m bench.effect [DATA] [--only NAME,...] [--out FILE] [--readme FILE]

DATA (or the variable DRAGOMAN_DATA) is the folder of the collections, `../shared/data` by default; it
is not part of this project. A collection that is not there is skipped with a line that says so.
Indexes are built once and kept in `.effect/`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.effect_rows import ROWS, Row
from bench.marked import write_between
from dragoman import portal
from dragoman.errors import CollectionError, IndexStateError
from dragoman.evaluate import Arm, ArmResult, Collection, Evaluation, make, read_collection, read_specs
from dragoman.evaluate.arms import FUSED, Bench
from dragoman.evaluate.compare import compare
from dragoman.evaluate.engine import engine
from dragoman.evaluate.evaluation import DEPTH, evaluate
from dragoman.evaluate.files import read_questions
from dragoman.evaluate.growth import Point, growth
from dragoman.evaluate.measures import MAIN
from dragoman.evaluate.recorded import Ids
from dragoman.evaluate.trials import off_topic_trial, runs_of
from dragoman.profile_steps import Parts
from dragoman.retrievers import build_index, open_index

HERE = Path(__file__).resolve().parent.parent
KEPT = HERE / ".effect"
WITHOUT, WITH = "without a model", "with recorded replies"


@dataclass(frozen=True, slots=True)
class Measured:
    """One side of one row.

    Attributes:
        off_topic: arm -> how many of how many off-topic questions it held, and its share of refused others.
        points: without a model, with fewer remembered questions; empty where nothing is remembered.
    """

    row: Row
    side: str
    evaluation: Evaluation
    off_topic: dict[str, dict[str, float]] = field(default_factory=dict)
    points: tuple[Point, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every row whose collection is there."""
    parser = argparse.ArgumentParser(prog="bench.effect", description="What rewriting does to ranking, measured.")
    default = os.environ.get("DRAGOMAN_DATA", str(HERE.parent / "shared" / "data"))
    parser.add_argument("data", nargs="?", type=Path, default=Path(default))
    parser.add_argument("--only", default="", help="names of rows, with commas between")
    parser.add_argument("--out", type=Path, default=HERE / "docs" / "effect.md")
    parser.add_argument("--readme", type=Path, default=HERE / "README.md")
    given = parser.parse_args(arguments)
    wanted = [row for row in ROWS if not given.only or row.name in given.only.split(",")]
    measured: list[Measured] = []
    for row in wanted:
        if not (given.data / row.folder / "corpus.jsonl").is_file():
            print(f"{row.name}: skipped, there is no {given.data / row.folder}", flush=True)
            continue
        began = time.perf_counter()
        measured += measure(row, given.data)
        print(f"{row.name}: measured in {time.perf_counter() - began:.0f} s", flush=True)
    if not measured:
        print("nothing was measured; give the folder of the collections or set DRAGOMAN_DATA")
        return 0
    table = "\n".join(_table(measured))
    print("\n" + table)
    if not given.only:
        given.out.write_text(_page(measured, table), "utf-8")
        write_between(given.readme, "effect", _readme(measured))
        print(f"\nwritten to {given.out} and {given.readme}")
    return 0


def measure(row: Row, data: Path) -> Iterator[Measured]:
    """Every side of a row, its arms made anew for each."""
    queries = data / row.folder / row.queries if row.queries else None
    whole = read_collection(data / row.folder, queries).filtered(row.filters)
    with engine(whole, _index(row, whole)) as (opened, vocabulary):
        profile = row.profile(data, KEPT)
        for side, keep in row.sides:
            collection = replace(whole, questions=tuple(asked for asked in whole.questions if keep(asked)))
            bench = Bench(profile, Parts(vocabulary=vocabulary), Ids(collection), engine=opened)
            specs = [FUSED, f"{WITHOUT}={row.without}"]
            replies = data / "replies" / f"{row.replies}.jsonl" if row.replies else None
            if replies is not None and replies.is_file():
                specs.append(f"{WITH}={row.with_replies.replace('FILE', str(replies))}")
            read = read_specs(specs)
            arms = [make(spec, bench, DEPTH).arm for spec in read]
            ood = data / row.off_topic if row.off_topic else None
            found = portal.run(_measure(row, side, collection, arms, bench, ood))
            if profile.memory is not None and side == row.judged_side:
                local = next(spec for spec in read if spec.name == WITHOUT)
                found = replace(found, points=portal.run(growth(local, bench, collection, _progress(row, side))))
            yield found


async def _measure(
    row: Row, side: str, collection: Collection, arms: list[Arm], bench: Bench, ood: Path | None
) -> Measured:
    found = await evaluate(collection, arms, progress=_progress(row, side))
    held: dict[str, dict[str, float]] = {}
    if ood is not None and ood.is_file():
        asked = read_questions(ood)
        bench.ids.add(Collection("off-topic", asked))
        held = await off_topic_trial(runs_of(found), arms, asked)
    return Measured(row, side, found, held)


def _progress(row: Row, side: str) -> Callable[[str, int, int], None] | None:
    if not sys.stderr.isatty():
        return None
    return lambda arm, done, of: print(f"\r{row.name} {side} {arm}: {done}/{of}   ", end="", file=sys.stderr)


def _index(row: Row, collection: Collection) -> Path:
    """Where the row's index is, built where there is none that can be opened."""
    place = KEPT / "index" / row.folder
    if collection.corpus is None:
        raise CollectionError("no corpus.jsonl to index", collection.path)
    try:
        open_index(place).close()
    except IndexStateError:
        print(f"{row.name}: indexing {collection.corpus}, which takes minutes and is done once", flush=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        build_index([collection.corpus], place)
    return place


def _table(measured: Sequence[Measured]) -> Iterator[str]:
    yield f"| collection | questions | raw | {WITHOUT} | wanted | {WITH} | wanted |"
    yield "|---|---:|---:|---:|---|---:|---|"
    for each in measured:
        arms, row = each.evaluation.arms, each.row
        name = row.name if not each.side else f"{row.name}, {each.side}"
        test = each.side == row.judged_side
        cells = [name, f"{len(each.evaluation.ids):,}", f"{each.evaluation.raw.mean():.3f}"]
        for arm, floor in ((WITHOUT, row.floor), (WITH, row.floor_with)):
            result = arms.get(arm)
            cells.append("-" if result is None else f"{result.mean():.3f} ({result.comparison.delta:+.3f})")
            cells.append("-" if floor is None or result is None or not test else floor.say(result, each.evaluation))
        yield "| " + " | ".join(cells) + " |"
        for arm, held in each.off_topic.items():
            if arm != "raw":
                yield (
                    f"| {row.name} off-topic, {arm} | {held['asked']} | - | "
                    f"held {held['held']} of {held['asked']}, {held['refused']:.1%} of the others refused | "
                    f"all, at most 1% | | |"
                )


def _readme(measured: Sequence[Measured]) -> str:
    lines = ["| | raw | without a model | with a strong model's recorded replies |", "|---|--:|--:|--:|"]
    for each in measured:
        if each.side == each.row.judged_side:
            arms = [each.evaluation.raw, *map(each.evaluation.arms.get, (WITHOUT, WITH))]
            means = ["-" if arm is None else f"{arm.mean():.3f}".lstrip("0") for arm in arms]
            lines.append(f"| {each.row.reader} ({len(each.evaluation.ids):,}) | {' | '.join(means)} |")
    return "\n".join(lines)


def _page(measured: Sequence[Measured], table: str) -> str:
    parts = [
        "# What rewriting does to ranking",
        "Written by `make effect`; do not edit. nDCG@10, the embedded index (BM25 and a small sentence-embedding "
        "model), every arm compared with `raw` on the same questions: the question as asked, words and meaning fused "
        'by plain RRF. A figure "wanted" was set before anything was measured; learning sides are shown beside test '
        "sides and are not to be quoted alone.",
        table,
        "## Details",
        "`interval` is the paired bootstrap's 95%, `p` the paired randomisation test's, `harm` the share of "
        "questions that lose more than .1.",
        *_details(measured),
        "## Rewriting alone",
        "Against `fused`: the question as asked, fused as the arms are. What is left here is what rewriting does, "
        "without what fusion does.",
        *_alone(measured),
        "## As the memory grows",
        "nDCG@10 without a model, by how many of the other jurisdictions' questions are remembered, the first ones "
        "first. The lexicon, which was learned from all of them, is in force throughout.",
        *_growth(measured),
        *_notes(measured),
    ]
    return "\n\n".join(parts) + "\n"


def _details(measured: Sequence[Measured]) -> Iterator[str]:
    lines = [
        "| collection | arm | steps | RR@10 | R@100 | Success@5 | interval | p | won / even / lost | harm | p50 ms |",
        "|---|---|---|---:|---:|---:|---|---:|---|---:|---:|",
    ]
    for each in measured:
        for name, arm in each.evaluation.arms.items():
            lines.append(_detail(each, name, arm))
    yield "\n".join(lines)


def _alone(measured: Sequence[Measured]) -> Iterator[str]:
    lines = [
        "| collection | fused | arm | nDCG@10 | difference | interval | harm |",
        "|---|---:|---|---:|---:|---|---:|",
    ]
    for each in measured:
        arms = each.evaluation.arms
        base = arms[FUSED].values[MAIN]
        name = each.row.name if not each.side else f"{each.row.name}, {each.side}"
        for arm in (arms[key] for key in (WITHOUT, WITH) if key in arms):
            against = compare(base, arm.values[MAIN], seed=0)
            lines.append(
                f"| {name} | {base.mean():.3f} | {arm.name} | {arm.mean():.3f} | {against.delta:+.3f} | "
                f"{against.low:+.3f} to {against.high:+.3f} | {against.harm:.1%} |"
            )
    yield "\n".join(lines)


def _detail(each: Measured, name: str, arm: ArmResult) -> str:
    steps = {WITHOUT: each.row.without, WITH: each.row.with_replies}.get(name, "")
    against = arm.comparison
    cells = [
        each.row.name if not each.side else f"{each.row.name}, {each.side}",
        name,
        f"`{steps}`" if steps else "",
        *(f"{arm.mean(measure):.3f}" for measure in ("RR@10", "R@100", "Success@5")),
        f"{against.low:+.3f} to {against.high:+.3f}",
        "< .001" if against.p < 0.001 else f"{against.p:.3f}",
        f"{against.wins} / {against.ties} / {against.losses}",
        f"{against.harm:.1%}",
        f"{arm.milliseconds(50):.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _growth(measured: Sequence[Measured]) -> Iterator[str]:
    lines = ["| collection | remembered: nDCG@10 |", "|---|---|"]
    for each in measured:
        if each.points:
            said = ", ".join(f"{point.remembered:,}: {point.mean:.3f}" for point in each.points)
            lines.append(f"| {each.row.name} | {said} |")
    yield "\n".join(lines)


def _notes(measured: Sequence[Measured]) -> Iterator[str]:
    rows = {each.row.name: each.row for each in measured}
    yield "\n".join(f"- **{name}**: {row.about}" for name, row in rows.items())


if __name__ == "__main__":
    sys.exit(main())

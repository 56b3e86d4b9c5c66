"""Where pairs and questions come from, taken together: files, collections, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.errors import CollectionError
from dragoman.jsonlines import json_lines
from dragoman.learn.file import Block, Review, Status
from dragoman.learn.pairs import Pair, judged_pairs, read_pairs, texts_of
from dragoman.retrievers import EmbeddedIndex, open_index
from dragoman.retrievers.documents import find_files, read_documents
from dragoman.rewriters.memory_store import MemoryStore

Decide = Callable[[Block], Status | None]

_QRELS = ("qrels.tsv", "qrels/train.tsv")


@dataclass(frozen=True, slots=True)
class Sources:
    """What is learned from.

    Attributes:
        files: JSON lines of pairs, clicks, replies or questions; or folders, as a collection's.
        corpus: the documents that clicks name: files or folders of any kind that is indexed, given as
            they were to be indexed, so that they have the same ids.
        index: an index that holds the documents that clicks name.
        questions: the questions that replies name.
        memory: a store of remembered questions, and whose of them.
    """

    files: tuple[Path, ...] = ()
    corpus: tuple[Path, ...] = ()
    index: Path | None = None
    questions: Path | None = None
    memory: Path | None = None
    profile: str = ""

    def pairs(self) -> Iterator[Pair]:
        """All pairs.

        Raises:
            CollectionError: a file cannot be read, or a question in it has no answer beside it.
            IndexStateError: the index cannot be opened.
            RewriteError: the memory cannot be read.
        """
        questions = texts_of(self.questions) if self.questions else {}
        with ExitStack() as opened:
            index = opened.enter_context(open_index(self.index)) if self.index else None
            passages = _Passages(_texts(self.corpus), index)
            for file in self.files:
                yield from judged_pairs(file) if file.is_dir() else read_pairs(file, passages, questions)
        if self.memory is not None:
            yield from remembered_pairs(MemoryStore(self.memory, self.profile))

    def asked(self) -> Iterator[str]:
        """All questions, those too that nothing answered.

        Raises:
            CollectionError: a file cannot be read.
            RewriteError: the memory cannot be read.
        """
        questions = texts_of(self.questions) if self.questions else {}
        for file in self.files:
            path = file / "queries.jsonl" if file.is_dir() else file
            for line, row in json_lines(path):
                yield _question(row, questions, path, line)
        if self.memory is not None:
            yield from (pair.question for pair in remembered_pairs(MemoryStore(self.memory, self.profile)))

    def answered(self) -> Sources:
        """The same without the files in which a question has no answer beside it, which give no pairs.

        Raises:
            CollectionError: a file cannot be read.
        """
        return replace(self, files=tuple(file for file in self.files if _is_answered(file)))


class _Passages(Mapping[str, str]):
    """doc_id -> title and text. A document of the index is looked up when it is first asked for."""

    def __init__(self, texts: dict[str, str], index: EmbeddedIndex | None) -> None:
        self._texts, self._index = texts, index

    def __getitem__(self, doc_id: str) -> str:
        if not self._texts and self._index is None:
            raise CollectionError(
                f"the document {doc_id!r} is named and its text is nowhere given; give the index that was searched "
                "with --index DIR, or what was indexed with --corpus"
            )
        if doc_id not in self._texts:
            hit = None if self._index is None else self._index.document(doc_id)
            if hit is None:
                raise KeyError(doc_id)
            self._texts[doc_id] = _text(hit.title, hit.text)
        return self._texts[doc_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __bool__(self) -> bool:
        return True  # what was not asked for yet is not counted


def _texts(corpus: tuple[Path, ...]) -> dict[str, str]:
    if not corpus:
        return {}
    return {each.doc_id: _text(each.title, each.text) for each in read_documents(find_files(corpus))}


def _text(title: str, text: str) -> str:
    return f"{title}\n{text}" if title else text


def _is_answered(file: Path) -> bool:
    if file.is_dir():
        return any((file / name).is_file() for name in _QRELS)
    # A reply without searches says that the corpus does not answer: an answer, from which nothing is learned.
    return all("searches" in row or row.get("passage") or row.get("doc_id") for _, row in json_lines(file))


def _question(row: Mapping[str, Any], questions: Mapping[str, str], path: Path, line: int) -> str:
    """A line's question: as it says it, as a collection's `text`, or by its `_id` among those given."""
    identity = row.get("_id")
    named = questions.get(identity) if isinstance(identity, str) else None
    found = next((text for text in (row.get("question"), row.get("text"), named) if isinstance(text, str)), "")
    if not found.strip():
        raise CollectionError(
            'no question; expected {"question": "..."}, {"_id": "...", "text": "..."}, '
            "or the _id of one that --questions gives",
            path,
            line,
        )
    return found


def remembered_pairs(store: MemoryStore) -> Iterator[Pair]:
    """Past questions with the searches that were accepted for them; the store is closed at the end."""
    try:
        for entry in store.rows():
            yield Pair(entry.question, entry.searches)
    finally:
        store.close()


def reviewed(review: Review, decide: Decide, blocks: Iterable[Block] | None = None) -> Review:
    """The file with a decision on each block that waits; None leaves it waiting.

    Args:
        blocks: those that are asked about, instead of all that wait.
    """
    for block in review.of(Status.PENDING) if blocks is None else blocks:
        status = decide(block)
        if status is not None:
            review = review.decide(block.left, status)
    return review

"""Where pairs come from, taken together: files, collections, and what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.learn.file import Block, Review, Status
from dragoman.learn.pairs import Pair, judged_pairs, read_pairs, texts_of
from dragoman.rewriters.memory_store import MemoryStore

Decide = Callable[[Block], Status | None]


@dataclass(frozen=True, slots=True)
class Sources:
    """What is learned from.

    Attributes:
        files: JSON lines of pairs, clicks or replies; or folders, as a collection's.
        corpus: the documents that clicks name.
        questions: the questions that replies name.
        memory: a store of remembered questions, and whose of them.
    """

    files: tuple[Path, ...] = ()
    corpus: Path | None = None
    questions: Path | None = None
    memory: Path | None = None
    profile: str = ""

    def pairs(self) -> Iterator[Pair]:
        """All pairs.

        Raises:
            CollectionError: a file cannot be read.
            RewriteError: the memory cannot be read.
        """
        passages = texts_of(self.corpus) if self.corpus else {}
        questions = texts_of(self.questions) if self.questions else {}
        for file in self.files:
            yield from judged_pairs(file) if file.is_dir() else read_pairs(file, passages, questions)
        if self.memory is not None:
            yield from remembered_pairs(MemoryStore(self.memory, self.profile))


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

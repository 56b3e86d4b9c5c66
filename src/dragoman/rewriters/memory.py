"""Memory: what was accepted for the nearest past questions, when the model is off, late or too dear.

Off unless a profile names a store: it holds people's questions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.aside import Aside
from dragoman.errors import RetrievalError, RewriteError
from dragoman.rewriters.memory_store import MemoryStore, Remembered
from dragoman.rewriters.nearness import Nearness, Shelf
from dragoman.rewriters.recalled import Past, pooled, separate
from dragoman.types import Rewriting, RuleHit, Search

# Flat between 5 and 20 questions, floors of .05 and .2, and powers 1 and 2, on every collection tried.
NEAREST = 10
FLOOR = 0.1  # of a nearness that is a probability learned from the store
# Of its weight beside searches that another step wrote for this very question: with a strong model's, the whole
# weight costs road_permit's test side .005 nDCG@10, and half of it costs nothing and brings statutes .02.
BESIDE = 0.5
_AT_ONCE = 500  # questions that are embedded and written together; fewer texts than an index keeps vectors of
_GROWN = 1.2  # a store that has grown by this factor is learned from again


@runtime_checkable
class Vector(Protocol):
    """One text in; its vector of norm 1 out, by the model that `name` names. An index's own serves."""

    @property
    def name(self) -> str:
        """The model."""
        ...

    def __call__(self, text: str, /) -> NDArray[np.float32]:
        """The vector, (dimensions,)."""
        ...


class Embedding(Protocol):
    """A retriever by meaning that says what its vectors are made by, and makes them."""

    @property
    def model(self) -> str:
        """The embedder, by name."""
        ...

    @property
    def inline(self) -> bool:
        """Whether it never waits for another machine."""
        ...

    def vector(self, text: str, /) -> NDArray[np.float32]:
        """The vector of one text, (dimensions,), norm 1."""
        ...


class OfRetriever:
    """A retriever's own vectors: the question's is made once, for its ranking and for the memory."""

    def __init__(self, retriever: Embedding) -> None:
        self._retriever = retriever
        self.name, self.local = retriever.model, retriever.inline

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed several texts in one batch, ahead of the calls; only where the retriever can."""
        prepare = getattr(self._retriever, "prepare", None)
        if prepare is not None:
            prepare([Search(text) for text in texts])

    def __call__(self, text: str) -> NDArray[np.float32]:
        """As `Vector`."""
        return self._retriever.vector(text)


class Memory:
    """Recalls, as a rewriter; and remembers, when told to.

    Args:
        store: where the questions are kept.
        vector: the index's own embedder, so that a recalled search needs no embedding.
        mask: what a question goes through before it is compared, and question and searches before they are kept.
        language: of the questions.
        pooled: one search for all; False: the searches of the nearest few, one by one.
    """

    def __init__(
        self,
        store: MemoryStore,
        vector: Vector,
        mask: Callable[[str], str] | None = None,
        language: str = "en",
        pooled: bool = True,
    ) -> None:
        self.store, self.name = store, "memory"
        self._vector, self._mask, self._language, self._pooled = vector, mask or str, language, pooled
        self._shelf: Shelf | None = None
        self._nearness = Nearness()
        self._state: tuple[int, int, int] | None = None
        self._learned_at = 0
        self._last = 0
        self._lock = threading.RLock()
        self.aside = Aside(self.name)

    @property
    def local(self) -> bool:
        """Whether nothing here waits for another machine."""
        return bool(getattr(self._vector, "local", True))

    def __call__(self, rewriting: Rewriting) -> Rewriting | Awaitable[Rewriting]:
        """The rewriting with what the nearest past questions were searched by; itself where none is near.

        Raises:
            RewriteError: the store or the embedder failed.
        """
        if self.local:
            return self._recalled(rewriting)
        return self.aside(self._recalled, rewriting)

    def _recalled(self, rewriting: Rewriting) -> Rewriting:
        text = asked(rewriting)
        past = self.recall(text) if text else ()
        if not past:
            return rewriting
        found = [pooled(past, self._language)] if self._pooled else separate(past)
        if rewriting.searches:
            found = [replace(search, weight=search.weight * BESIDE) for search in found]
        notes = [
            RuleHit(
                "memory.recall", each.entry.question, " | ".join(each.entry.searches), f"nearness {each.nearness:.2f}"
            )
            for each in past
        ]
        return rewriting.add(found).note(*notes)

    def recall(self, question: str) -> tuple[Past, ...]:
        """The nearest past questions, nearest first, none below the floor; empty where none is near.

        Raises:
            RewriteError: the store or the embedder failed.
        """
        with self._lock:
            self._refresh()
            if not self._shelf:
                return ()
        text = self._mask(question)
        vector = self._embedded(text)  # outside the lock: another machine may make it
        with self._lock:
            shelf = self._shelf
            if not shelf:
                return ()
            rows, features = shelf.near(text, vector)
            chances = self._nearness(features)
            best = np.argsort(-chances, kind="stable")[:NEAREST]
            return tuple(
                Past(shelf.entries[rows[i]], float(chances[i]), shelf.vectors(int(rows[i])))
                for i in best.tolist()
                if chances[i] >= FLOOR
            )

    def remember(self, questions: Iterable[tuple[str, Sequence[str]]]) -> int:
        """Keep questions with the searches that were accepted for them; how many were new or changed.

        Raises:
            RewriteError: the store or the embedder failed.
        """
        kept = [
            (
                self._mask(question).strip(),
                tuple(dict.fromkeys(s for each in searches if (s := self._mask(each).strip()))),
            )
            for question, searches in questions
        ]
        changed = 0
        for start in range(0, len(kept), _AT_ONCE):
            some = [(text, said) for text, said in kept[start : start + _AT_ONCE] if text and said]
            changed += self.store.put(self._entries(some))
        with self._lock:
            self._refresh()
            if self._shelf and len(self._shelf) >= self._learned_at * _GROWN:
                self._learn(self._shelf)
        return changed

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def _entries(self, kept: Sequence[tuple[str, tuple[str, ...]]]) -> list[Remembered]:
        texts = list(dict.fromkeys(text for question, said in kept for text in (question, *said)))
        prepare = getattr(self._vector, "prepare", None)
        try:
            if prepare is not None and len(texts) > 1:
                prepare(texts)
        except RetrievalError as exc:
            raise RewriteError(f"the memory's embedder failed: {exc}") from exc
        return [
            Remembered(
                question,
                said,
                np.stack([self._embedded(text) for text in (question, *said)]),
                self._vector.name,
                time.time(),
            )
            for question, said in kept
        ]

    def _embedded(self, text: str) -> NDArray[np.float32]:
        try:
            return np.asarray(self._vector(text), np.float32)
        except RetrievalError as exc:
            raise RewriteError(f"the memory's embedder failed: {exc}") from exc

    def _learn(self, shelf: Shelf) -> None:
        self._nearness = shelf.learn()
        self._learned_at = len(shelf)
        self.store.keep("nearness", (*self._nearness.numbers, self._learned_at))

    def _refresh(self) -> None:
        """Bring what is in memory up to what is on disk: new rows alone where none was taken out."""
        state = self.store.state()
        if state == self._state:
            return
        afresh = self._state is None or state[2] != self._state[2]
        rows = self.store.rows(0 if afresh else self._last)
        fitting = [row for row in rows if row.model == self._vector.name]
        if afresh:
            self._shelf = None
        if fitting:
            if self._shelf is None:
                self._shelf = Shelf(fitting[0].vectors.shape[1], self._language)
            self._shelf.extend(fitting)
        self._last = rows[-1].number if rows else 0 if afresh else self._last
        self._state = state
        kept = self.store.kept("nearness")
        if len(kept) == 5:  # four numbers and how many questions they were learned from
            self._nearness, self._learned_at = Nearness(*kept[:4]), int(kept[4])


class Remember:
    """Keeps what the model's steps before it gave, as a rewriter that changes nothing.

    Args:
        memory: where to.
        origins: the steps whose searches are worth remembering.
    """

    gated = False

    def __init__(self, memory: Memory, origins: Iterable[str] = ("rephrase",)) -> None:
        self.memory, self.name = memory, "remember"
        self.origins = frozenset(origins)

    def __call__(self, rewriting: Rewriting) -> Rewriting | Awaitable[Rewriting]:
        """The same rewriting, remembered.

        Raises:
            RewriteError: it could not be kept.
        """
        text = asked(rewriting)
        said = [search.text for search in rewriting.searches if search.origin in self.origins]
        if not text or not said:
            return rewriting
        if self.memory.local:
            return self._kept(rewriting, text, said)
        return self.memory.aside(self._kept, rewriting, text, said)

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def _kept(self, rewriting: Rewriting, text: str, said: Sequence[str]) -> Rewriting:
        changed = self.memory.remember([(text, said)])
        return rewriting.note("remembered") if changed else rewriting


def asked(rewriting: Rewriting) -> str:
    """What is compared and kept of a question: without its noise, stand-alone; empty for a follow-up that is not."""
    text = rewriting.question.text if rewriting.rewritten is None else rewriting.rewritten
    return "" if rewriting.question.history and text in (rewriting.question.text, rewriting.cleaned) else text

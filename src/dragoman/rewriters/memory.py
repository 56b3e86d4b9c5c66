"""Memory: what was accepted for the nearest past questions, when the model is off, late or too dear.

The searches of the nearest past questions are pooled into one search whose words and vector are
their sums, each weighted by the square of its question's nearness; scores being linear in the
query, that is what running all of them would add up to, for the cost of one and with nothing to
embed. Its own weight in the fusion is the nearness of the nearest. Where an engine can take
neither weighted words nor a vector, `pooled=False` gives the searches one by one.

Off unless a profile names a store: it holds people's questions.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RetrievalError, RewriteError
from dragoman.rewriters.memory_store import MemoryStore, Remembered
from dragoman.rewriters.nearness import Nearness, Shelf
from dragoman.text import stop_words, terms
from dragoman.types import Rewriting, RuleHit, Search

# Flat between 5 and 20 questions, floors of .05 and .2, and powers 1 and 2, on every collection tried.
NEAREST = 10
FLOOR = 0.1  # of a nearness that is a probability learned from the store
SEPARATE = 3  # past questions whose searches are run one by one
_WORDS = 24  # of the pooled search
_TEXT = 12  # words that stand for them where an engine takes plain text only
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

    def __call__(self, text: str) -> NDArray[np.float32]:
        """As `Vector`."""
        return self._retriever.vector(text)


@dataclass(frozen=True, slots=True)
class Past:
    """A past question that is near: how near, and what was accepted for it."""

    entry: Remembered
    nearness: float
    vectors: NDArray[np.float32]


class Memory:
    """Recalls, as a rewriter; and remembers, when told to.

    Args:
        store: where the questions are kept.
        vector: the index's own embedder, so that a recalled search needs no embedding.
        mask: what a question goes through before it is compared or kept.
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
        return asyncio.to_thread(self._recalled, rewriting)

    def _recalled(self, rewriting: Rewriting) -> Rewriting:
        text = asked(rewriting)
        past = self.recall(text) if text else ()
        if not past:
            return rewriting
        found = [_pooled(past, self._language)] if self._pooled else _separate(past)
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
            shelf = self._shelf
            if not shelf:
                return ()
            text = self._mask(question)
            rows, features = shelf.near(text, self._embedded(text))
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
        entries = []
        for question, searches in questions:
            text = self._mask(question).strip()
            said = tuple(dict.fromkeys(search.strip() for search in searches if search.strip()))
            if text and said:
                vectors = np.stack([self._embedded(each) for each in (text, *said)])
                entries.append(Remembered(text, said, vectors, self._vector.name, time.time()))
        changed = self.store.put(entries)
        with self._lock:
            self._refresh()
            if self._shelf and len(self._shelf) >= self._learned_at * _GROWN:
                self._learn(self._shelf)
        return changed

    def close(self) -> None:
        """Close the store."""
        self.store.close()

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
        return asyncio.to_thread(self._kept, rewriting, text, said)

    def _kept(self, rewriting: Rewriting, text: str, said: Sequence[str]) -> Rewriting:
        changed = self.memory.remember([(text, said)])
        return rewriting.note("remembered") if changed else rewriting


def asked(rewriting: Rewriting) -> str:
    """What is compared and kept of a question: without its noise, stand-alone; empty for a follow-up that is not."""
    if rewriting.rewritten is not None:
        return rewriting.rewritten
    return "" if rewriting.question.history else rewriting.question.text


def _pooled(past: Sequence[Past], language: str) -> Search:
    """One search for all: words and vector are sums over the remembered searches."""
    words: defaultdict[str, float] = defaultdict(float)
    vector = np.zeros(past[0].vectors.shape[1], np.float64)
    stop = stop_words(language)
    for each in past:
        share = each.nearness**2 / len(each.entry.searches)
        for search in each.entry.searches:
            for word in set(terms(search)) - stop:
                words[word] += share
        vector += share * each.vectors.sum(axis=0)
    heaviest = sorted(words.items(), key=lambda item: (-item[1], item[0]))[:_WORDS]
    top = heaviest[0][1] if heaviest else 1.0
    weighted = tuple((word, round(weight / top, 4)) for word, weight in heaviest)
    text = " ".join(word for word, _ in weighted[:_TEXT]) or past[0].entry.searches[0]
    length = float(np.linalg.norm(vector)) or 1.0
    return Search(text, "memory", past[0].nearness, weighted, vector=tuple((vector / length).tolist()))


def _separate(past: Sequence[Past]) -> list[Search]:
    """The searches of the nearest few, their weights adding up to the nearness of the nearest."""
    few = past[:SEPARATE]
    total = sum(each.nearness**2 for each in few)
    return [
        Search(
            text,
            "memory",
            few[0].nearness * each.nearness**2 / total / len(each.entry.searches),
            vector=tuple(vector.tolist()),
        )
        for each in few
        for text, vector in zip(each.entry.searches, each.vectors, strict=True)
    ]

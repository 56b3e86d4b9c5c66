"""Meaning: cosine of sentence embeddings (Reimers and Gurevych 2019), as a retriever."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import MissingExtraError, RetrievalError
from dragoman.retrievers.embedded.found import ranking_of
from dragoman.retrievers.embedded.layout import Model
from dragoman.retrievers.embedded.topic import Topic
from dragoman.retrievers.embedded.vectors import Numbers, Scores, VectorTable
from dragoman.retrievers.embedded.words import Shelf
from dragoman.retrievers.embedders import Embedder, is_local
from dragoman.retrievers.standing import Standing
from dragoman.types import Metadata, Ranking, Search

PROBE = "What a model makes of this sentence tells it from another."
_PROBE_DIGITS = 4
# Quantised arithmetic differs a little between processors; another model is nowhere near.
_PROBE_COSINE = 0.98
_QUESTIONS_KEPT = 4_096  # 6 MB of vectors
# What the gate looks up serves the search that follows: as deep as a ranking usually is.
_GATE_DEPTH, _GATE_KEPT = 100, 64


def model_of(embedder: Embedder) -> Model:
    """What an index records of the embedder that makes its vectors."""
    probe = embedder([PROBE])[0]
    rounded = tuple(round(float(x), _PROBE_DIGITS) for x in probe)
    return Model(embedder.name, embedder.fingerprint, len(probe), rounded)


class QuestionVectors:
    """Vectors of questions and searches; one that was just asked for is not computed again.

    The model is loaded, and held to what the index recorded of it, at the first question.
    """

    def __init__(self, index: Path, load: Callable[[], Embedder], model: Model) -> None:
        self._index, self._load, self._model = index, load, model
        self.name, self.dimensions = model.name, model.dimensions
        self.local = is_local(model.name)
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def embedder(self) -> Embedder:
        """The index's embedder, loaded.

        Raises:
            RetrievalError: it is not installed, or is not the one that the index was built with.
        """
        try:
            embedder = self._load()
        except MissingExtraError as exc:
            raise RetrievalError(f"{self._index}: {exc}") from exc
        probe = embedder([PROBE])[0]
        same = len(probe) == self._model.dimensions and float(probe @ np.array(self._model.probe)) >= _PROBE_COSINE
        if not same:
            raise RetrievalError(
                f"{self._index} was built with another model than {embedder.name!r} is now; build it again"
            )
        return embedder

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of norm 1, (n_texts, dimensions); not kept.

        Raises:
            RetrievalError: the embedder failed, is not the index's, or gave vectors of other dimensions.
        """
        vectors = self.embedder(texts)
        if len(texts) and vectors.shape[1] != self.dimensions:
            raise RetrievalError(
                f"the embedder {self.name!r} gave {vectors.shape[1]} dimensions, the index's vectors have "
                f"{self.dimensions}; use the one it was built with, or build it again"
            )
        return vectors

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed in one batch those of `texts` that are not at hand yet."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if not missing:
            return
        vectors = self.embed(missing)
        with self._lock:
            self._kept.update(zip(missing, vectors, strict=True))
            while len(self._kept) > _QUESTIONS_KEPT:
                self._kept.popitem(last=False)

    def __call__(self, text: str) -> NDArray[np.float32]:
        """The vector of one text, (dimensions,), norm 1."""
        with self._lock:
            kept = self._kept.get(text)
            if kept is not None:
                self._kept.move_to_end(text)
                return kept
        vector: NDArray[np.float32] = self.embed([text])[0]
        with self._lock:
            self._kept[text] = vector
            while len(self._kept) > _QUESTIONS_KEPT:
                self._kept.popitem(last=False)
        return vector


class Meaning:
    """Nearness of meaning, to whole passages or to titles alone, as a retriever.

    Attributes:
        inline: it may be called where it stands; not so when its embedder waits for another machine.
    """

    by_meaning = True

    def __init__(
        self,
        name: str,
        table: VectorTable,
        questions: QuestionVectors,
        shelf: Shelf,
        topic: Topic | None = None,
    ) -> None:
        self.name = name
        self.inline = questions.local
        self._table, self._questions, self._shelf, self._topic = table, questions, shelf, topic
        self._looked_up: dict[str, tuple[Scores, Numbers]] = {}
        self._lock = threading.Lock()

    def prepare(self, searches: Sequence[Search]) -> None:
        """Embed several searches in one batch, ahead of their calls."""
        self._questions.prepare([search.text for search in searches if not search.vector])

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        """At most `depth` hits, those with a cosine above 0.

        Raises:
            RetrievalError: the model is not installed, not the index's, or failed.
        """
        started = time.perf_counter()
        if depth <= 0:
            return Ranking(search, self.name)
        allowed: Numbers | None = self._shelf.reader.allowed(frozenset(filters.items())) if filters else None
        found = self._nearest(search, depth, allowed)
        return ranking_of(search, self.name, self._shelf.passages, found, depth, time.perf_counter() - started)

    def _nearest(self, search: Search, depth: int, allowed: Numbers | None) -> tuple[Scores, Numbers]:
        kept = self._looked_up.get(search.text) if allowed is None and not search.vector else None
        if kept is not None and depth <= _GATE_DEPTH:
            return kept
        return self._table.nearest(self._vector(search), depth, allowed)

    def nearest(self, text: str) -> float:
        """The cosine of `text` to its nearest passage, whatever its metadata; -1 in an empty index.

        What is found is kept for the search for the same text that follows.

        Raises:
            RetrievalError: as when called.
        """
        found = self._looked_up.get(text)
        if found is None:
            found = self._table.nearest(self._questions(text), _GATE_DEPTH, None)
            with self._lock:
                self._looked_up[text] = found
                while len(self._looked_up) > _GATE_KEPT:
                    del self._looked_up[next(iter(self._looked_up))]
        return float(found[0].max(initial=-1.0))

    def standing(self, text: str) -> Standing | None:
        """How near `text` lies to the corpus, and to what people ask about everywhere.

        None where that was not measured, or the embedder waits for another machine.

        Raises:
            RetrievalError: as when called.
        """
        if self._topic is None or not self.inline:
            return None
        near = self.nearest(text)
        return self._topic.standing(self.vector(text), near)

    @property
    def model(self) -> str:
        """The name of the embedder that makes its vectors."""
        return self._questions.name

    def vector(self, text: str) -> NDArray[np.float32]:
        """The vector of one question or search, (dimensions,), norm 1; kept.

        Raises:
            RetrievalError: as when called.
        """
        return self._questions(text)

    def centre(self, doc_ids: Sequence[str]) -> tuple[tuple[float, ...], float]:
        """The mean direction of some passages, norm 1, and how far they agree: their mean pairwise cosine.

        An empty direction and 0 where the index holds fewer than two of them.
        """
        numbers = [number for doc_id in doc_ids if (number := self._shelf.reader.number(doc_id)) is not None]
        if len(numbers) < 2:
            return (), 0.0
        rows = self._table.mean_rows(np.array(numbers, np.uint32))
        total = rows.sum(0)
        length = float(np.linalg.norm(total))
        agreement = (length**2 - len(rows)) / (len(rows) * (len(rows) - 1))
        return (tuple((total / length).tolist()) if length > 0 else (), agreement)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of any texts by the index's own embedder, (n_texts, dimensions), norm 1; not kept.

        Raises:
            RetrievalError: as when called.
        """
        return self._questions.embed(texts)

    def _vector(self, search: Search) -> NDArray[np.float32]:
        if not search.vector:
            return self._questions(search.text)
        vector = np.array(search.vector, np.float32)
        if len(vector) != self._questions.dimensions:
            raise RetrievalError(
                f"the search's vector has {len(vector)} dimensions, the index's {self._questions.dimensions}; "
                f"make it with {self._questions.name!r}"
            )
        return vector

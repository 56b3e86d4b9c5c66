"""How near a past question is: the chance that its searches serve the new one.

Three things are looked at: the cosine of the two questions' vectors, the mean of all past questions
taken out first (questions to one corpus share a tone that says nothing); the cosine of the new
question with the searches that were accepted for the past one; and the tf-idf cosine of their words.
A logistic function makes a probability of them. It is learned from the store itself, each question
held against the others: two were near when one's searches share at least half of their words with
the other's. While the store is small it stays close to what was measured elsewhere.

On road-permit questions of nine jurisdictions this orders past questions better than the cosine of
the questions alone (share of common search words among the first five .393 -> .430, .411 -> .453 on
jurisdictions it was not made with); see docs/adr.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.rewriters.memory_store import Remembered
from dragoman.text import stems

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.intp]

# Cosine of the questions, with the searches, of the words, and the constant: fitted on the 990 questions
# of five jurisdictions of road_permit. A store's own questions move them.
MEASURED = (1.36, 7.28, 5.39, -6.46)
MEASURED_COUNTS = 200.0  # pairs of questions that what was measured elsewhere counts for
USEFUL = 0.5  # share of common words from which past searches serve
_LOOKED_AT = 20  # nearest past questions of each, in learning
_SAMPLE = 300  # questions held against all others: learning takes some 50 ms, whatever the store holds
_DIRECTIONS = 64  # what the shortlist is made by: a sixth of the memory to read, nearly the same shortlist
_SAMPLED = 1_000  # questions that they are found from
_REWEIGHED = 1.1  # growth after which every question's words are weighed anew, not only the new ones
_SHORTLIST = 128  # past questions whose searches are looked at, the nearest by vector and words


@dataclass(frozen=True, slots=True)
class Nearness:
    """The logistic function's numbers; see the module."""

    question: float = MEASURED[0]
    search: float = MEASURED[1]
    words: float = MEASURED[2]
    constant: float = MEASURED[3]

    def __call__(self, features: NDArray[np.floating]) -> NDArray[np.float64]:
        """Probabilities of rows of the three cosines, shape (n, 3) -> (n,)."""
        logits = features @ np.array([self.question, self.search, self.words]) + self.constant
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """All four, in the order they are made of."""
        return self.question, self.search, self.words, self.constant


class Shelf:
    """Remembered questions in memory, ready to be looked through; grows at its end.

    Args:
        dimensions: of the vectors.
        language: whose stop words and stems count as words.
    """

    def __init__(self, dimensions: int, language: str = "en") -> None:
        self.dimensions, self.language = dimensions, language
        self.entries: list[Remembered] = []
        self._questions: Floats = np.zeros((0, dimensions), np.float32)
        self._searches: Floats = np.zeros((0, dimensions), np.float32)
        self._starts = np.zeros(1, np.intp)
        self._outline: Floats = np.zeros((0, min(_DIRECTIONS, dimensions)), np.float32)
        self._rows: dict[str, array[int]] = {}
        self._word_squares: Floats = np.zeros(0, np.float32)
        self._weighed = 0

    def __len__(self) -> int:
        return len(self.entries)

    def extend(self, entries: Sequence[Remembered]) -> None:
        """Take in more questions."""
        if not entries:
            return
        known = len(self.entries)
        self.entries += entries
        ends = self._starts[-1] + np.cumsum([len(entry.searches) for entry in entries])
        self._starts = np.concatenate([self._starts, ends])
        self._questions = _roomy(self._questions, len(self.entries))
        self._searches = _roomy(self._searches, int(ends[-1]))
        for row, entry in enumerate(entries, start=known):
            self._questions[row] = entry.vectors[0]
            self._searches[self._starts[row] : self._starts[row + 1]] = entry.vectors[1:]
            for stem in set(stems(entry.question, self.language)):
                self._rows.setdefault(stem, array("l")).append(row)
        self._measure(known)

    def _measure(self, known: int) -> None:
        """Weigh the new questions; all of them, and their mean and main directions, once there are a tenth more."""
        count = len(self.entries)
        if count > self._weighed * _REWEIGHED:
            known, self._weighed = 0, count
            questions = self._questions[:count]
            self._mean = questions.mean(axis=0)
            self._basis = _main_directions(questions[:: 1 + count // _SAMPLED] - self._mean)
        self._outline = _roomy(self._outline, count)
        self._outline[known:count] = self._outlined(self._questions[known:count])
        squares = np.zeros(count, np.float32)
        for stem, rows in self._rows.items():
            if rows[-1] >= known:
                squares[np.frombuffer(rows, "l")] += self._idf(stem) ** 2
        squares[:known] = self._word_squares[:known]
        self._word_squares = squares

    def _outlined(self, vectors: Floats) -> Floats:
        """Vectors without the mean, along the main directions alone, norm 1; shape (n, directions)."""
        along: Floats = (vectors - self._mean) @ self._basis
        outlined: Floats = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-6)
        return outlined

    def _idf(self, stem: str) -> float:
        found = len(self._rows.get(stem, ()))
        return math.log(1 + (len(self.entries) - found + 0.5) / (found + 0.5))

    def words(self, question: str) -> Floats:
        """The tf-idf cosine of `question` with every past one, shape (n,)."""
        scores = np.zeros(len(self.entries), np.float32)
        square = 0.0
        for stem in set(stems(question, self.language)):
            weight = self._idf(stem) ** 2
            square += weight
            rows = self._rows.get(stem)
            if rows is not None:
                scores[np.frombuffer(rows, "l")] += weight
        cosine: Floats = scores / np.sqrt(np.maximum(self._word_squares * np.float32(square), 1e-9))
        return cosine

    def near(self, question: str, vector: Floats, without: int = -1) -> tuple[Numbers, Floats]:
        """The past questions worth looking at, and their three cosines, shapes (n,) and (n, 3).

        Args:
            vector: of the question, norm 1.
            without: a row that is left out.
        """
        words = self.words(question)
        rough = _products(self._outline[: len(self)], self._outlined(vector[None])[0]) + words
        if without >= 0:
            rough[without] = -np.inf
        wanted = min(_SHORTLIST, len(self) - (without >= 0))
        rows = np.argpartition(-rough, wanted - 1)[:wanted] if 0 < wanted < len(self) else np.argsort(-rough)[:wanted]
        features = np.empty((len(rows), 3), np.float32)
        features[:, 0] = _cosines(self._questions[rows] - self._mean, vector - self._mean)
        features[:, 1] = self._best_search(rows, vector)
        features[:, 2] = words[rows]
        return rows, features

    def _best_search(self, rows: Numbers, vector: Floats) -> Floats:
        """The cosine of `vector` with the nearest search of each of `rows`, shape (n,)."""
        if not len(rows):
            return np.zeros(0, np.float32)
        starts = self._starts[rows]
        counts = self._starts[rows + 1] - starts
        cuts = np.cumsum(counts) - counts
        places = np.arange(int(counts.sum())) + np.repeat(starts - cuts, counts)
        best: Floats = np.maximum.reduceat(_products(self._searches[places], vector), cuts)
        return best

    def vectors(self, row: int) -> Floats:
        """The vectors of one past question's searches, shape (n_searches, dimensions)."""
        return self._searches[self._starts[row] : self._starts[row + 1]]

    def learn(self) -> Nearness:
        """The nearness that these questions teach; what was measured elsewhere while there are fewer than three."""
        count = len(self)
        if count < 3:
            return Nearness()
        sample = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE)).astype(int)).tolist()
        said = [set(stems(" ".join(entry.searches), self.language)) for entry in self.entries]
        rows: list[Floats] = []
        useful: list[bool] = []
        for row in sample:
            others, features = self.near(self.entries[row].question, self.vector(row), without=row)
            nearest = np.argsort(-Nearness()(features), kind="stable")[:_LOOKED_AT]
            rows.append(features[nearest])
            useful += [_shared(said[row], said[other]) >= USEFUL for other in others[nearest].tolist()]
        return _fitted(np.concatenate(rows).astype(np.float64), np.array(useful, np.float64))

    def vector(self, row: int) -> Floats:
        """The vector of one past question, (dimensions,)."""
        vector: Floats = self._questions[row]
        return vector


def _main_directions(centred: Floats) -> Floats:
    """The directions in which rows differ most, (dimensions, directions), by subspace iteration."""
    start = np.random.default_rng(0).standard_normal((centred.shape[1], min(_DIRECTIONS, centred.shape[1])))
    basis: Floats = start.astype(np.float32)
    for _ in range(3):
        basis = np.asarray(np.linalg.qr(centred.T @ (centred @ basis))[0], np.float32)
    return basis


def _roomy(table: Floats, rows: int) -> Floats:
    """The table with room for `rows`; it doubles, so that growing by one is cheap."""
    if rows <= len(table):
        return table
    grown = np.zeros((max(rows, 2 * len(table), 64), table.shape[1]), np.float32)
    grown[: len(table)] = table
    return grown


def _cosines(rows: Floats, vector: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    cosines: Floats = _products(rows, vector) / np.maximum(lengths, 1e-6)
    return cosines


def _products(rows: Floats, vector: Floats) -> Floats:
    """Scalar products, shape (n,). Not by BLAS: its threads wait for one another where other work runs beside."""
    products: Floats = np.einsum("ij,j->i", rows, vector)
    return products


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def _fitted(features: NDArray[np.float64], useful: NDArray[np.float64]) -> Nearness:
    """Logistic regression by Newton's method, drawn towards `MEASURED` with the force of `MEASURED_COUNTS` pairs.

    The force is a Gaussian prior whose precision is the curvature that many pairs like these would have.
    """
    given = np.column_stack([features, np.ones(len(features))])
    start = np.array(MEASURED)
    share = 1 / (1 + np.exp(-np.clip(given @ start, -30, 30)))
    prior = (given.T * (share * (1 - share))) @ given * (MEASURED_COUNTS / len(given)) + 1e-3 * np.eye(4)
    numbers = start.copy()
    for _ in range(25):
        share = 1 / (1 + np.exp(-np.clip(given @ numbers, -30, 30)))
        slope = given.T @ (useful - share) - prior @ (numbers - start)
        step = np.linalg.solve((given.T * (share * (1 - share))) @ given + prior, slope)
        numbers += step
        if float(np.abs(step).max()) < 1e-6:
            break
    # More alike never counts as less near, however a small store came out.
    question, search, words = (max(0.0, float(number)) for number in numbers[:3])
    return Nearness(question, search, words, float(numbers[3]))

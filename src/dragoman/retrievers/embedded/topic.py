"""What an index is about, measured when it is built: the everyday list's vectors and the corpus's levels."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.retrievers.embedded.passages import Passages
from dragoman.retrievers.embedded.vectors import VectorTable
from dragoman.retrievers.embedders import Embedder
from dragoman.retrievers.standing import NEAR_SHARE, Levels, Standing, everyday, measured, quantile

TOPIC = "topic.npz"
_SAMPLE = 300  # sentences; about a second of embedding
_SENTENCE = re.compile(r"(?<=[.;:!?])\s+|\n+")
_FEWEST_WORDS, _MOST_WORDS = 5, 40
_WORDS_WITHOUT_ENDS = 15  # taken from a text without sentences


def sample(passages: Passages, replaced: Sequence[int]) -> list[tuple[int, str]]:
    """Sentences of passages drawn at random (always the same ones), each with its passage's number."""
    gone = set(replaced)
    numbers = [number for number in range(len(passages)) if number not in gone]
    draw = random.Random(0)
    drawn = sorted(draw.sample(numbers, min(_SAMPLE, len(numbers))))
    return [(number, sentence) for number in drawn if (sentence := _sentence(passages[number].text, draw))]


def _sentence(text: str, draw: random.Random) -> str:
    fitting = [s for s in _SENTENCE.split(text) if _FEWEST_WORDS <= len(s.split()) <= _MOST_WORDS]
    if fitting:
        return draw.choice(fitting)
    words = text.split()
    start = draw.randrange(max(1, len(words) - _WORDS_WITHOUT_ENDS))
    return " ".join(words[start : start + _WORDS_WITHOUT_ENDS])


def write_topic(
    generation: Path, table: VectorTable, embedder: Embedder, drawn: Sequence[tuple[int, str]], language: str
) -> None:
    """Measure and write the topic file. `drawn` is a `sample` of the passages that `table` holds."""
    lines = list(everyday(language))
    vectors = embedder([*lines, *(sentence for _, sentence in drawn)])
    away, sentences = vectors[: len(lines)], vectors[len(lines) :]
    own, others, measurable = _nearness(table, drawn, sentences)
    sentences = sentences[measurable]
    if len(others):
        usual = quantile(others, NEAR_SHARE)
        away = np.array([line for line in away if _nearest(table, line) < usual], np.float32).reshape(-1, away.shape[1])
    elsewhere = (sentences @ away.T).max(1).tolist() if len(away) else [0.0] * len(others)
    levels = measured(own, others, elsewhere if lines else None)
    np.savez(generation / TOPIC, elsewhere=away.astype(np.float16), levels=np.array([levels.least, levels.home]))


def _nearness(
    table: VectorTable, drawn: Sequence[tuple[int, str]], vectors: NDArray[np.float32]
) -> tuple[list[float], list[float], list[int]]:
    """Nearness of sentences to their own passage and to the nearest other one; places of those near any."""
    own: list[float] = []
    others: list[float] = []
    measurable: list[int] = []
    for place, ((number, _), vector) in enumerate(zip(drawn, vectors, strict=True)):
        scores, numbers = table.nearest(vector, 2, None)
        itself, _ = table.nearest(vector, 1, np.array([number], np.uint32))
        away = scores[numbers != number]
        if len(itself) and len(away):
            own.append(float(itself.max()))
            others.append(float(away.max()))
            measurable.append(place)
    return own, others, measurable


def _nearest(table: VectorTable, vector: NDArray[np.float32]) -> float:
    return float(table.nearest(vector, 1, None)[0].max(initial=-1.0))


class Topic:
    """A generation's topic file, read."""

    def __init__(self, generation: Path) -> None:
        with np.load(generation / TOPIC) as held:
            self._elsewhere = held["elsewhere"].astype(np.float32)
            least, home = (float(level) for level in held["levels"])
        self.levels = Levels(least, home)

    def standing(self, vector: NDArray[np.float32], near: float) -> Standing:
        """The standing of a text with this vector whose nearest passage has the cosine `near`."""
        away = float((self._elsewhere @ vector).max(initial=0.0)) if len(self._elsewhere) else 0.0
        return Standing(near, away, self.levels)

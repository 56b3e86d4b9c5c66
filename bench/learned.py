"""What the effect table's rows learn from: recorded replies to road_permit's questions, of some jurisdictions only.

A lexicon and a memory are made once, into the folder given, and put into the road-law profile.
Nothing of va_code is learned from; nothing of Virginia either where va_code is what is measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.learn import Pair, learn
from dragoman.profile import Profile, load_profile
from dragoman.profile_file import StepUse
from dragoman.retrievers.embedders import Embedder, load_embedder
from dragoman.rewriters.memory import Memory
from dragoman.rewriters.memory_store import MemoryStore

OTHERS = ("pennsylvania", "tennessee", "washington")  # of the test side, without Virginia


def from_jurisdictions(names: Sequence[str]) -> Callable[[Path, Path], Profile]:
    """What makes a row's profile: data folder, folder for what is learned -> the profile."""

    def profile(data: Path, kept: Path) -> Profile:
        base = load_profile("road-law")
        folder = kept / f"learned-{len(names)}"
        lexicon, store = folder / "lexicon.txt", folder / "memory.sqlite"
        if not store.exists():
            folder.mkdir(parents=True, exist_ok=True)
            pairs = list(pairs_of(data, names))
            learn(pairs, lexicon)
            memory = Memory(MemoryStore(store, base.name), OfEmbedder(load_embedder("default")))
            memory.remember((pair.question, pair.said) for pair in pairs)
            memory.close()
        steps = [step for step in base.steps if step != StepUse("memory")]
        before = next((n for n, step in enumerate(steps) if _named(step, "lexicon")), len(steps))
        return replace(
            base,
            lexicons=(*base.lexicons, lexicon),
            memory=store,
            steps=(*steps[:before], StepUse("memory"), *steps[before:]),
        )

    return profile


def pairs_of(data: Path, names: Sequence[str]) -> Iterator[Pair]:
    """The questions of these jurisdictions with the searches recorded for them."""
    replies = {row["_id"]: row["searches"] for row in _rows(data / "replies" / "road_permit.jsonl")}
    for row in _rows(data / "road_permit" / "queries.jsonl"):
        said = tuple(replies.get(row["_id"], ()))
        if row["metadata"]["jurisdiction"] in names and said:
            yield Pair(row["text"], said)


class OfEmbedder:
    """An embedder as the memory wants it, many texts ahead at once."""

    local = True

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._kept: dict[str, NDArray[np.float32]] = {}

    def prepare(self, texts: Sequence[str]) -> None:
        """Embed these in batches, ahead of their calls."""
        self._kept = dict(zip(texts, self._embedder(texts), strict=True))

    def __call__(self, text: str) -> NDArray[np.float32]:
        """Shape (dimensions,), norm 1."""
        kept = self._kept.get(text)
        return self._embedder([text])[0] if kept is None else kept


def _named(step: StepUse | tuple[StepUse, ...], name: str) -> bool:
    return isinstance(step, StepUse) and step.use == name


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)

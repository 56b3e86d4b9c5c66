"""Two stub retrievers over a dozen passages, the same for every system of the hostile table.

Imports nothing but the standard library: it runs in the peers' environments too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

SLOW = 6.0  # seconds that a slow retriever takes: above the question's budget, below the driver's cut


class Passage(NamedTuple):
    """One passage found: its id (a text, unless the fault is that it is none), its score, its text."""

    doc_id: Any
    score: float
    text: str


PASSAGES = {
    "school": "Maximum speed limit in a school zone while children arrive or leave, and at other hours.",
    "residence": "Maximum speed limit in a residence district where no sign is posted.",
    "highway": "Maximum speed limit on an interstate highway outside towns.",
    "bus": "Duty to stop for a school bus that takes up or sets down children.",
    "crossing": "How a driver yields to children at a school crossing; penalty for passing too fast.",
    "licence": "A person carries the driver's licence while operating a motor vehicle.",
    "permit": "A learner's permit is not enough to drive at night without a licensed driver.",
    "section": "Section 46.2-870: how fast a truck may go.",
    "phone": "No handheld device: electronic message or text message while driving.",
    "lamps": "Lighted headlamps are required from sunset to sunrise.",
    "age": "A rider of 16 may drive a moped by day; a helmet is required.",
    "alcohol": "Implied consent to a breath test after an arrest for driving while intoxicated.",
}


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower()))


def _pieces(text: str) -> set[str]:
    joined = " ".join(re.findall(r"[^\W_]+", text.lower()))[:2000]
    return {joined[at : at + 4] for at in range(len(joined) - 3)}


def _score(found: set[str], asked: set[str]) -> float:
    return len(found & asked) / (1 + len(found)) if asked else 0.0


def clean(kind: str, text: str, depth: int) -> list[Passage]:
    """What a retriever without a fault finds, best first."""
    cut = _words if kind == "words" else _pieces
    asked = cut(text)
    found = [Passage(doc_id, _score(cut(body), asked), body) for doc_id, body in PASSAGES.items()]
    found.sort(key=lambda passage: (-passage.score, passage.doc_id))
    return [passage for passage in found if passage.score > 0][: max(depth, 0)]


def _down(*_: object) -> list[Passage]:
    raise ConnectionError("the engine is down, as scripted")


def _slow(found: list[Passage]) -> list[Passage]:
    time.sleep(SLOW)
    return found


def _scores(found: list[Passage]) -> list[Passage]:
    wrong = (float("nan"), float("inf"), float("-inf"))
    return [p._replace(score=wrong[i]) if i < len(wrong) else p for i, p in enumerate(found)]


def _ids(found: list[Passage]) -> list[Passage]:
    return [p._replace(doc_id=7 + i) if i % 2 else p for i, p in enumerate(found)]


def _more(found: list[Passage]) -> list[Passage]:
    return found + [Passage(f"extra-{i}", 1e-6 / (i + 1), "not asked for") for i in range(500)]


# What becomes of what the second retriever, `meaning`, found; `words` is well unless all are down.
FAULTS: dict[str, Callable[[list[Passage]], list[Passage]]] = {
    "down": _down,
    "all down": _down,
    "slow": _slow,
    "duplicates": lambda found: [p for p in found for _ in range(3)],
    "scores": _scores,
    "ids": _ids,
    "unsorted": lambda found: found[::-1],
    "more": _more,
}


class Stub:
    """One retriever of a question, which notes every text that it was asked for.

    Args:
        kind: `words` (whole words) or `meaning` (pieces of four letters).
        fault: one of `FAULTS`, or empty.
        searched: where the texts go.
    """

    def __init__(self, kind: str, fault: str, searched: list[str]) -> None:
        self.kind, self.searched = kind, searched
        self.fault = FAULTS.get(fault) if kind == "meaning" or fault == "all down" else None

    def __call__(self, text: str, depth: int = 10) -> list[Passage]:
        """What is found for a text."""
        self.searched.append(text)
        found = clean(self.kind, text, depth)
        return self.fault(found) if self.fault is not None else found


def distinct(texts: Iterable[str]) -> list[str]:
    """The texts in order, each once."""
    return list(dict.fromkeys(texts))

"""A corpus of six passages, four questions and an engine that counts shared words: small enough for arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.dragoman import Dragoman, Settings
from dragoman.errors import RetrievalError
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.files import Asked
from dragoman.evaluate.run import RAW, Arm
from dragoman.fusion import rrf
from dragoman.protocols import Rewriter
from dragoman.text import terms
from dragoman.types import Hit, Metadata, Question, Ranking, Rewriting, RuleHit, Search, Usage

PASSAGES: dict[str, tuple[str, Metadata]] = {
    "d1": ("maximum speed limit in a residence district", {"state": "north"}),
    "d2": ("licence to be carried while driving", {"state": "north"}),
    "d3": ("headlamps lighted from sunset to sunrise", {"state": "north"}),
    "d4": ("electronic message on a handheld telephone", {"state": "south"}),
    "d5": ("signal before turning", {"state": "south"}),
    "d6": ("maximum weight of a trailer", {"state": "south"}),
}
QUESTIONS = {
    "q1": "hello how fast in a residence district",
    "q2": "do i need my licence while driving",
    "q3": "texting on my phone",
    "q4": "maximum weight",
}
QRELS = {"q1": {"d1": 1}, "q2": {"d2": 1}, "q3": {"d4": 1}, "q4": {"d6": 1}}


@dataclass(frozen=True)
class Words:
    """Scores a passage by the number of different words it shares with the search."""

    name: str = "words"
    inline: bool = True

    def __call__(self, search: Search, depth: int, filters: Metadata, /) -> Ranking:
        if "break" in search.text:
            raise RetrievalError("asked to break")
        wanted = set(terms(search.text))
        hits = [
            Hit(doc_id, float(len(wanted & set(terms(text)))), "", text, metadata)
            for doc_id, (text, metadata) in PASSAGES.items()
            if filters.items() <= metadata.items()
        ]
        return Ranking(search, self.name, tuple(hits)).top(depth)


@dataclass(frozen=True)
class Says:
    """Adds the searches it knows for a question, notes a rule and tokens; leaves other questions alone."""

    known: dict[str, tuple[str, ...]]
    name: str = "says"

    def __call__(self, rewriting: Rewriting, /) -> Rewriting:
        searches = self.known.get(rewriting.question.text, ())
        if not searches:
            return rewriting
        noted = rewriting.note(RuleHit("said", rewriting.question.text), Usage(100, 10))
        return noted.add(Search(text, self.name, 2.0) for text in searches)


def toy(questions: dict[str, str] | None = None) -> Collection:
    """The collection; with other words for its questions where given."""
    asked = tuple(
        Asked(identity, Question(text), {"state": "north" if identity in ("q1", "q2") else "south"}, line)
        for line, (identity, text) in enumerate((questions or QUESTIONS).items(), start=1)
    )
    return Collection("toy", asked, QRELS)


def hall(steps: Sequence[Rewriter] = ()) -> Dragoman:
    """An engine of its own for an arm; RRF, so that ranks alone count."""
    return Dragoman([Words()], steps, settings=Settings(fuse=rrf))


def arm(name: str = RAW, steps: Sequence[Rewriter] = ()) -> Arm:
    """An arm over the toy engine."""
    dragoman = hall(steps)
    return Arm(name, lambda question: dragoman.asearch(question, 100), dragoman.arewrite)


HELPFUL = Says({QUESTIONS["q3"]: ("electronic message",), QUESTIONS["q1"]: ("maximum speed limit",)})
HARMFUL = Says({QUESTIONS["q2"]: ("headlamps lighted from sunset",)}, "wrong")

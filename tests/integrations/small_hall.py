"""A Dragoman over the sample with words alone, and a finder of words for the frameworks' own retrievers."""

from __future__ import annotations

import json

from dragoman import Dragoman
from dragoman.retrievers.callable import CallableRetriever
from dragoman.testing import SAMPLE, Passage
from dragoman.text import words

SEARCHES = json.dumps({"about_corpus": True, "searches": ["lighted headlamps sunset"]})
QUESTION = "lights needed after dusk"
HEADLAMPS = "c/1"


def found(text: str) -> list[tuple[Passage, float]]:
    """The sample's passages that share words with the text, and how many; the most first."""
    asked = set(words(text))
    scored = [(p, float(len(asked & set(words(p.text))))) for p in sorted(SAMPLE, key=lambda p: p.doc_id, reverse=True)]
    return sorted([pair for pair in scored if pair[1]], key=lambda pair: -pair[1])


def hall() -> Dragoman:
    """Nothing rewrites but a noise word's removal, so that what comes through is plain to see."""

    def find(text: str, depth: int) -> list[dict[str, object]]:
        return [
            {"doc_id": p.doc_id, "score": s, "title": p.title, "text": p.text, "metadata": p.metadata}
            for p, s in found(text)
        ][:depth]

    def polite(text: str) -> str:
        return text.removeprefix("please ")

    from dragoman.rewriters.lift import lift

    return Dragoman([CallableRetriever(find, "words", inline=True)], [lift(polite)])

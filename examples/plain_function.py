"""A search function and a model function of your own: nothing else is needed."""

import re

from road_law import PASSAGES, QUESTION, model

from dragoman import Dragoman
from dragoman.llm.open import open_llm
from dragoman.retrievers.callable import CallableRetriever
from dragoman.rewriters.prompted import Prompted


def find(text: str, depth: int) -> list[tuple[str, float]]:
    """Passages by the number of words they share with the search; in your case, a call to your engine."""
    asked = set(re.findall(r"\w+", text.lower()))
    scores = {i: len(asked & set(re.findall(r"\w+", f"{title} {body}".lower()))) for i, title, body in PASSAGES}
    return sorted(((i, float(score)) for i, score in scores.items() if score), key=lambda pair: -pair[1])[:depth]


with Dragoman([CallableRetriever(find)], [Prompted("rephrase", open_llm(model))]) as dragoman:
    for hit in dragoman.search(QUESTION, depth=2).hits:
        print(hit.doc_id, round(hit.score, 2), [because.search for because in hit.because])

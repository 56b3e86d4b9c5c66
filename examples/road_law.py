"""The five passages that the examples here search, and what a model would write for the question."""

import json
from pathlib import Path

from dragoman.llm.open import open_llm
from dragoman.retrievers.embedded import build_index
from dragoman.rewriters.prompted import Prompted

QUESTION = "what's the fastest i can go where people live?"
REPLY = json.dumps({"about_corpus": True, "searches": ["maximum speed limits residence districts"]})
PASSAGES = [
    ("s1", "Maximum speed limits", "In a residence district no person shall drive faster than 25 miles per hour."),
    ("s2", "Carrying the license", "The operator shall exhibit the license on demand of a peace officer."),
    ("s3", "School buses", "Traffic in both directions stops for a school bus that shows its stop arm."),
    ("s4", "Headlamps", "Lighted headlamps are required from sunset to sunrise."),
    ("s5", "Fastest lane", "On a highway the left lane is for those who overtake; people who live nearby may turn."),
]


def build(folder: str) -> Path:
    """An index of the passages, of words alone: no model of meaning is downloaded or run."""
    corpus = Path(folder) / "corpus.jsonl"
    rows = [{"_id": doc_id, "title": title, "text": text} for doc_id, title, text in PASSAGES]
    corpus.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    build_index([corpus], Path(folder) / "index", embedder=None)
    return Path(folder) / "index"


async def model(_rules: str, _question: str) -> str:
    """Gives what was written once; in your case `"anthropic:MODEL"`, or any model of your framework's."""
    return REPLY


def rephrase() -> Prompted:
    """The question said again in the corpus's words, by the model."""
    return Prompted("rephrase", open_llm(model))

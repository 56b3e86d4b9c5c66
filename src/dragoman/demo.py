"""Five questions over the shipped road law, with no key and no network, saying which part did what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

from dragoman.errors import IndexStateError
from dragoman.profile import open_dragoman
from dragoman.retrievers.embedded import build_index, open_index
from dragoman.retrievers.embedded.build import Progress
from dragoman.retrievers.embedded.layout import MANIFEST
from dragoman.types import Message, Outcome, Question, Result, Search, Step

PROFILE = "road-law"
KNOWN = "tvc-1-101"  # a document of the example's
HITS = 3
QUESTIONS = (
    Question("whats the fastest i can go on a residential street with no sign"),
    Question("what happens if i get pulled over without my license"),
    Question("what is the capital of France"),
    Question("can i get in trouble for texting at a red light"),
    Question(
        "what if its hands free?",
        history=(
            Message("user", "can i get in trouble for texting at a red light"),
            Message("assistant", "Yes. Composing, sending, or reading an electronic message is forbidden even then."),
        ),
    ),
)
WHO = {
    "question": "as asked",
    "rewritten": "rules",
    "expanded": "lexicon",
    "rephrase": "a recorded model reply",
}


def example() -> Path:
    """The folder of the shipped collection."""
    return Path(str(resources.files("dragoman") / "examples" / "road_law"))


def build(out: Path, progress: Progress | None = None) -> str:
    """Index the example into `out` where it is not there yet; what was done, in a line.

    Raises:
        IndexStateError: another index is there, or one that cannot be opened; it stays as it is.
    """
    if (out / MANIFEST).exists():
        with open_index(out) as index:
            if index.document(KNOWN) is None:
                raise IndexStateError("it is not the example's index; choose an empty or new folder", out)
            return f"{len(index)} sections of an invented state's road law, indexed before in {out}"
    summary = build_index([example() / "corpus.jsonl"], out, progress=progress)
    notes = "".join(f"\nnote: {warning}" for warning in summary.warnings)
    return f"indexed {summary.documents} sections of an invented state's road law in {summary.seconds:.1f} s{notes}"


async def answers(out: Path) -> AsyncIterator[str]:
    """Each question's journey as text."""
    hall = await open_dragoman(PROFILE, index=out, model=f"replay:{example() / 'replies.jsonl'}")
    async with hall:
        for question in QUESTIONS:
            yield shown(await hall.asearch(question, HITS))


def shown(result: Result) -> str:
    """A result as the demonstration prints it."""
    lines = [f"? {result.question.text}"]
    if result.question.history:
        lines.insert(0, f"  ({result.question.history[0].text} …)")
    lines += [f"  {text}" for text in _said(result)]
    for rank, hit in enumerate(result.hits, start=1):
        best = max(hit.because, key=lambda because: because.share)
        lines.append(f"  {rank}. {hit.title}")
        lines.append(f"     most by {best.retriever}, {WHO.get(best.origin, best.origin)}: {best.search}")
    return "\n".join(lines)


def _said(result: Result) -> list[str]:
    if result.rewriting.off_topic:
        by = next(step.name for step in result.rewriting.steps if step.outcome is Outcome.OFF_TOPIC)
        return [f"off-topic, says {by}: no search is made of it; the question alone finds"]
    return [f"{_who(search, result.rewriting.steps):>22}: {search.text}" for search in result.searches[1:]]


def _who(search: Search, steps: tuple[Step, ...]) -> str:
    if search.origin in ("rewritten", "expanded"):
        return " + ".join(step.name for step in steps if search.text in step.after) or search.origin
    return WHO.get(search.origin, search.origin)

"""What was made elsewhere, as arms: recorded searches of a model, and TREC runs of another engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.errors import CollectionError, LLMUnavailable
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.files import read_run
from dragoman.jsonlines import json_lines
from dragoman.text import fold
from dragoman.types import Hit, Question, Result, Rewriting, Search


class Ids:
    """Which question has which id, so that what is recorded by id is found by the question asked.

    Variants of a question (`note` them with `add`) share their id.
    """

    def __init__(self, *collections: Collection) -> None:
        self._known: dict[Question, str] = {}
        self._texts: dict[str, str] = {}
        for collection in collections:
            self.add(collection)

    def add(self, collection: Collection) -> None:
        """Know the questions of one more collection."""
        for asked in collection.questions:
            self._known[asked.question] = asked.id
            self._texts[asked.question.text] = asked.id

    def of(self, question: Question) -> str | None:
        """The question's id; by its text alone where its filters are not known."""
        return self._known.get(question) or self._texts.get(question.text)


def read_searches(path: Path) -> dict[str, tuple[str, ...]]:
    """Recorded searches: question id, and folded question text where given, -> searches, best first.

    A line holds `searches`, and `_id` or `question`; no searches mean that the model held it off-topic.

    Raises:
        CollectionError: a line that cannot be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    for line, row in json_lines(path):
        searches = row.get("searches")
        names = [row[key] for key in ("_id", "question") if isinstance(row.get(key), str)]
        if not names or not isinstance(searches, list) or not all(isinstance(text, str) for text in searches):
            raise CollectionError(
                'expected {"_id": "..." or "question": "...", "searches": ["...", ...]}; '
                f"found keys {', '.join(sorted(row)) or 'none'}",
                path,
                line,
            )
        kept = tuple(text for text in searches if text.strip())
        found.update(dict.fromkeys((fold(name) if name == row.get("question") else name for name in names), kept))
    return found


@dataclass(frozen=True, slots=True)
class Recorded:
    """A rewriter that adds the searches recorded for a question; it is off-topic where none were written.

    Attributes:
        searches: see `read_searches`.
    """

    searches: Mapping[str, tuple[str, ...]]
    ids: Ids
    name: str = "replay"

    def __call__(self, rewriting: Rewriting, /) -> Rewriting:
        """The rewriting with the recorded searches.

        Raises:
            LLMUnavailable: nothing was recorded for the question.
        """
        identity = self.ids.of(rewriting.question)
        known = self.searches.get(identity) if identity is not None else None
        if known is None:
            known = self.searches.get(fold(rewriting.question.text))
        if known is None:
            raise LLMUnavailable("no reply is recorded for this question")
        if not known:
            return replace(rewriting, off_topic=True)
        return rewriting.add(Search(text, self.name) for text in known)


class RunFile:
    """An arm that is another system's TREC run: its lists as they are, in no time."""

    def __init__(self, path: Path, ids: Ids) -> None:
        self._ids = ids
        self._found: dict[str, tuple[Hit, ...]] = {}
        for identity, scores in read_run(path).items():
            ordered = sorted(scores, reverse=True)  # equal scores as trec_eval puts them
            ordered.sort(key=lambda doc_id: scores[doc_id], reverse=True)
            self._found[identity] = tuple(Hit(doc_id, scores[doc_id]) for doc_id in ordered)

    async def __call__(self, question: Question) -> Result:
        """The run's hits for the question; none where it has none."""
        hits = self._found.get(self._ids.of(question) or "", ())
        return Result(Rewriting.of(question), (), (), hits)

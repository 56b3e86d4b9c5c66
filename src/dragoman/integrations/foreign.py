"""What every framework's passages, scores and chat models have in common, on their way into ours."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from dragoman.llm.edge import mapped, with_schema
from dragoman.llm.reading import read
from dragoman.protocols import Prompt, Reply
from dragoman.record import hit_data
from dragoman.types import Hit, Usage

Say: TypeAlias = Callable[[str, str], Awaitable[tuple[str, Usage]]]
Pieces: TypeAlias = Callable[[str, str], AsyncIterator[str]]


def passage(doc_id: object, text: str, metadata: Mapping[str, Any] | None, score: object = None) -> dict[str, Any]:
    """A foreign passage as `CallableRetriever` takes it; one without an id is named by what it says.

    Args:
        doc_id: None or empty: `metadata["doc_id"]`, else 16 hexadecimal digits of its text and metadata's hash,
            so that the same passage found twice is one.
        metadata: values become text, None values are left out; `title` is also the title.
        score: anything but a number is no score.
    """
    given = {str(key): str(value) for key, value in (metadata or {}).items() if value is not None}
    named = doc_id or given.get("doc_id")
    if not named:
        said = json.dumps([text, sorted(given.items())], ensure_ascii=True)
        named = hashlib.sha256(said.encode()).hexdigest()[:16]
    number = isinstance(score, int | float) and not isinstance(score, bool)
    return {
        "doc_id": str(named),
        "title": given.get("title", ""),
        "text": text,
        "metadata": given,
        "score": float(score) if number else None,  # type: ignore[arg-type]  # it is one, as `number` says
    }


def in_their_order(passages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Passages best first with scores that agree with that order, or with none at all.

    A framework's score may be a distance, a logarithm or absent. The scores are kept where every
    passage has one, all are above 0 and none rises down the list; else the place alone counts.
    Passages scored exactly 0 among scored ones are a store's padding and no hits.
    """
    scores = [each["score"] for each in passages]
    known = [score for score in scores if score is not None and math.isfinite(score)]
    if len(known) < len(scores):
        return [{**each, "score": None} for each in passages]
    there = [each for each in passages if each["score"] != 0.0]
    left = [each["score"] for each in there]
    falls = all(above >= below for above, below in pairwise(left))
    return there if falls and all(score > 0 for score in left) else [{**each, "score": None} for each in there]


def because(hit: Hit) -> list[dict[str, Any]]:
    """Why a hit stands where it stands, as plain data, the largest share first."""
    reasons: list[dict[str, Any]] = hit_data(hit, 1)["because"]
    return reasons


def outward(hit: Hit) -> dict[str, Any]:
    """A hit's metadata for a framework's document: its own, then `title`, `doc_id`, `score` and `because`."""
    title = {"title": hit.title} if hit.title else {}
    return {**hit.metadata, **title, "doc_id": hit.doc_id, "score": hit.score, "because": because(hit)}


class ChatModel:
    """A framework's chat model as ours: `LLM` and `Writer`.

    It has no leash: `open_llm(model, seconds=4)` puts one on. The schema is told in words, since
    frameworks differ in whether and how a model's decoding can be held to one.

    Args:
        say: (rules, input) -> the reply's text and its tokens.
        pieces: (rules, input) -> the text as it comes; without it, a writer's text comes in one piece.
    """

    def __init__(self, name: str, say: Say, pieces: Pieces | None = None) -> None:
        self.name = name
        self._say = say
        self._pieces = pieces

    def __repr__(self) -> str:
        return f"<{self.name}>"

    async def __call__(self, prompt: Prompt) -> Reply:
        """The value in the model's reply.

        Raises:
            LLMUnreadable: there is none that fits the schema.
            LLMError: the framework or the model failed; `dragoman.llm.edge` says which fault becomes what.
        """
        text, usage = await self._said(with_schema(prompt.rules, prompt.schema), prompt.input)
        return Reply(read(text, prompt.schema), usage, self.name)

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:  # noqa: ARG002 - the seam's
        """The text in pieces as they come; its length is the model's own setting.

        Raises:
            LLMError: as `__call__`, at any piece.
        """
        if self._pieces is None:
            yield (await self._said(rules, input))[0]
            return
        try:
            async for piece in self._pieces(rules, input):
                yield piece
        except Exception as error:  # a framework's code may raise anything; at this edge it becomes ours
            raise mapped(error, self.name) from error

    async def _said(self, rules: str, input: str) -> tuple[str, Usage]:
        try:
            return await self._say(rules, input)
        except Exception as error:  # as above
            raise mapped(error, self.name) from error

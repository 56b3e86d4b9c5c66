"""Haystack, both ways: Dragoman as its components, its retrievers and chat generators as ours."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from dragoman import portal
from dragoman.aside import Aside
from dragoman.dragoman import DEPTH, Dragoman
from dragoman.errors import MissingExtraError
from dragoman.integrations.foreign import ChatModel, in_their_order, outward, passage
from dragoman.llm.edge import usage
from dragoman.profile import open_dragoman
from dragoman.retrievers.callable import CallableRetriever
from dragoman.types import Hit, Question, Rewriting, Usage

try:
    from haystack import Document, component, default_to_dict
    from haystack.dataclasses import ChatMessage
except ModuleNotFoundError as error:
    raise MissingExtraError("dragoman.integrations.haystack", "haystack") from error


class _Opened:
    """A Dragoman given, or opened from a profile and an index at the first use."""

    def __init__(self, dragoman: Dragoman | None, profile: str, index: str | None) -> None:
        self.given = dragoman
        self.profile = profile
        self.index = index
        self._own: Dragoman | None = None

    def open(self) -> Dragoman:
        """The Dragoman.

        Raises:
            ProfileError, IndexStateError: it cannot be opened.
        """
        there = self.given or self._own
        if there is None:
            there = self._own = portal.run(open_dragoman(self.profile, index=self.index))
        return there

    def close(self) -> None:
        """Close what was opened here; a Dragoman that was given is its giver's to close."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def parameters(self) -> dict[str, Any]:
        """What a saved pipeline opens it from again.

        Raises:
            ValueError: it was given as an object.
        """
        if self.given is not None:
            raise ValueError(
                "found a Dragoman given as an object, which a saved pipeline cannot hold; "
                "give `profile` and `index` instead, by which it is opened again"
            )
        return {"profile": self.profile, "index": self.index}


@component
class DragomanRetriever:
    """Dragoman as a Haystack retriever.

    A document's id and score are the hit's; its meta holds its own, `doc_id`, `score` and `because`.

    Args:
        dragoman: what is asked; a pipeline with it cannot be saved.
        profile: instead of it, the name or file of a profile, opened at `warm_up` or the first run.
        index: the directory that such a profile searches, made by `dragoman index`.
        top_k: documents at most.
        filters: `{"state": "Texas"}`, or Haystack's own `==` conditions joined by AND.
    """

    def __init__(
        self,
        dragoman: Dragoman | None = None,
        profile: str = "default",
        index: str | None = None,
        top_k: int = DEPTH,
        filters: dict[str, Any] | None = None,
    ) -> None:
        self._opened = _Opened(dragoman, profile, index)
        self.top_k = top_k
        self.filters = filters

    def warm_up(self) -> None:
        """Open the profile and the index, so that no question waits for that."""
        self._opened.open()

    def close(self) -> None:
        """Close the index and the clients that were opened here."""
        self._opened.close()

    def to_dict(self) -> dict[str, Any]:
        """As a saved pipeline holds it.

        Raises:
            ValueError: it was made of a Dragoman.
        """
        return default_to_dict(self, **self._opened.parameters(), top_k=self.top_k, filters=self.filters)

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """The documents for a question, best first; `filters` and `top_k` stand for the component's own.

        Raises:
            QuestionError: nothing to ask.
            RetrievalError: no retriever answered.
        """
        return _documents(self._opened.open().search(*self._asked(query, filters, top_k)).hits)

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """As `run`."""
        return _documents((await self._opened.open().asearch(*self._asked(query, filters, top_k))).hits)

    def _asked(self, query: str, filters: dict[str, Any] | None, top_k: int | None) -> tuple[Question, int]:
        held = self.filters if filters is None else filters
        return Question(query, filters=plain_filters(held or {})), self.top_k if top_k is None else top_k


@component
class DragomanRewriter:
    """Dragoman's rewriting as a Haystack component, before retrievers of Haystack's.

    `query` is the question rewritten; `queries` that and every search a step wrote, as
    `MultiQueryTextRetriever` takes them; `off_topic` says that the corpus cannot answer.

    Args:
        dragoman, profile, index: as `DragomanRetriever`; the index may be left out.
    """

    def __init__(self, dragoman: Dragoman | None = None, profile: str = "default", index: str | None = None) -> None:
        self._opened = _Opened(dragoman, profile, index)

    def warm_up(self) -> None:
        """Open the profile, so that no question waits for that."""
        self._opened.open()

    def close(self) -> None:
        """Close the index and the clients that were opened here."""
        self._opened.close()

    def to_dict(self) -> dict[str, Any]:
        """As a saved pipeline holds it.

        Raises:
            ValueError: it was made of a Dragoman.
        """
        return default_to_dict(self, **self._opened.parameters())

    @component.output_types(query=str, queries=list[str], off_topic=bool)
    def run(self, query: str) -> dict[str, Any]:
        """The question rewritten.

        Raises:
            QuestionError: nothing to ask.
        """
        return _rewritten(self._opened.open().rewrite(query))

    @component.output_types(query=str, queries=list[str], off_topic=bool)
    async def run_async(self, query: str) -> dict[str, Any]:
        """As `run`."""
        return _rewritten(await self._opened.open().arewrite(query))


def from_haystack(retriever: Any, name: str = "haystack") -> CallableRetriever:
    """Any Haystack retriever that takes a `query` as ours.

    Its `run_async` is used where it has one; else `run`, in a thread that a deadline can leave.
    Depth and filters go to it where it takes `top_k` and `filters` (conditions on `meta`, compared
    as text); filters are held to afterwards too. What it raises becomes a RetrievalError.

    Args:
        retriever: one that takes vectors is made to take text by Haystack's `TextEmbeddingRetriever`.
        name: unique among a Dragoman's retrievers; weights go by it.

    Raises:
        TypeError: it takes no `query`.
    """
    takes = set(inspect.signature(retriever.run).parameters) if hasattr(retriever, "run") else set()
    if "query" not in takes:
        raise TypeError(
            f"{type(retriever).__name__} takes {', '.join(sorted(takes)) or 'nothing'}, expected a component whose "
            "`run` takes `query`; put one that takes vectors into a TextEmbeddingRetriever"
        )
    if hasattr(retriever, "warm_up"):
        retriever.warm_up()

    def given(text: str, depth: int, filters: Mapping[str, str]) -> dict[str, Any]:
        asked: dict[str, Any] = {"query": text}
        if "top_k" in takes:
            asked["top_k"] = depth
        if "filters" in takes and filters:
            asked["filters"] = conditions(filters)
        return asked

    async def find(text: str, depth: int, filters: Mapping[str, str]) -> list[dict[str, Any]]:
        return _passages(await retriever.run_async(**given(text, depth, filters)))

    def find_plainly(text: str, depth: int, filters: Mapping[str, str]) -> list[dict[str, Any]]:
        return _passages(retriever.run(**given(text, depth, filters)))

    return CallableRetriever(find if hasattr(retriever, "run_async") else find_plainly, name)


def from_chat_generator(generator: Any, name: str = "") -> ChatModel:
    """Any Haystack chat generator as ours, for rewriting (`open_llm` puts it on a leash) and answering.

    Args:
        name: in records and metrics; `haystack:CLASS` without one.
    """
    named = name or f"haystack:{type(generator).__name__}"
    aside = Aside(f"asking {named}")
    if hasattr(generator, "warm_up"):
        generator.warm_up()

    async def say(rules: str, given: str) -> tuple[str, Usage]:
        messages = [ChatMessage.from_system(rules), ChatMessage.from_user(given)]
        own = getattr(generator, "run_async", None)
        replied = await (own(messages=messages) if own else aside(lambda: generator.run(messages=messages)))
        reply: ChatMessage = replied["replies"][0]
        return reply.text or "", usage(reply.meta.get("usage"), "prompt_tokens", "completion_tokens")

    return ChatModel(named, say)


def conditions(filters: Mapping[str, str]) -> dict[str, Any]:
    """Our filters as Haystack's."""
    each = [{"field": f"meta.{key}", "operator": "==", "value": value} for key, value in filters.items()]
    return each[0] if len(each) == 1 else {"operator": "AND", "conditions": each}


def plain_filters(filters: Mapping[str, Any]) -> dict[str, str]:
    """Haystack's filters as ours.

    Raises:
        ValueError: they say something else than that metadata equals a value.
    """
    if "operator" not in filters:
        return {str(key).removeprefix("meta."): str(value) for key, value in filters.items()}
    if filters["operator"] == "==":
        return {str(filters["field"]).removeprefix("meta."): str(filters["value"])}
    if filters["operator"] == "AND":
        return {key: value for each in filters["conditions"] for key, value in plain_filters(each).items()}
    raise ValueError(
        f"found the filter operator {filters['operator']!r}, expected '==' or AND of them: "
        "Dragoman's filters are metadata that a hit must have"
    )


def _documents(hits: tuple[Hit, ...]) -> dict[str, Any]:
    return {"documents": [Document(id=h.doc_id, content=h.text, meta=outward(h), score=h.score) for h in hits]}


def _rewritten(rewriting: Rewriting) -> dict[str, Any]:
    queries = dict.fromkeys([rewriting.query, *(search.text for search in rewriting.searches)])
    return {"query": rewriting.query, "queries": list(queries), "off_topic": rewriting.off_topic}


def _passages(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return in_their_order([passage(d.id, d.content or "", d.meta, d.score) for d in given["documents"]])

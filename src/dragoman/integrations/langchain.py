"""LangChain, both ways: Dragoman as its retriever, its retrievers and models as ours.

`MultiQueryRetriever` stands in for LangChain's own: change the import, keep the rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self

from dragoman import portal
from dragoman.aside import Aside
from dragoman.dragoman import DEPTH, POOL, Dragoman, Settings
from dragoman.errors import MissingExtraError
from dragoman.integrations.foreign import ChatModel, in_their_order, outward, passage
from dragoman.llm.open import SECONDS, open_llm
from dragoman.protocols import Rewriter
from dragoman.retrievers.callable import CallableRetriever
from dragoman.rewriters.lift import lift
from dragoman.rewriters.prompted import Prompted
from dragoman.types import Hit, Question, Usage

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        BaseCallbackManager,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseLanguageModel
    from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
    from langchain_core.prompts import BasePromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableConfig
    from langchain_core.vectorstores import VectorStoreRetriever
except ModuleNotFoundError as error:
    raise MissingExtraError("dragoman.integrations.langchain", "langchain") from error

_NATIVE = "langchain_core."  # a method that is defined there is the base's own: a plain one put into a thread


@dataclass(frozen=True, slots=True)
class _Run:
    """One retrieval of LangChain's: whom its parts report to, and the documents they found as they came."""

    callbacks: BaseCallbackManager
    documents: dict[str, Document] = field(default_factory=dict)


_run: ContextVar[_Run | None] = ContextVar("dragoman_langchain_run", default=None)


def _config() -> RunnableConfig:
    run = _run.get()
    return {"callbacks": run.callbacks} if run else {}


class DragomanRetriever(BaseRetriever):
    """Dragoman as a LangChain retriever: `invoke`, `ainvoke`, `batch`, `abatch`, callbacks.

    A document's metadata holds its own, `doc_id`, `score` and `because` (search, retriever, rank and
    share of every ranking that put it there). A document that came from a LangChain retriever
    (`from_langchain`) comes back as it was, with these added.

    Attributes:
        dragoman: what is asked.
        depth: how many documents at most.
        filters: metadata that every document must have.
    """

    dragoman: Dragoman
    depth: int = DEPTH
    filters: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        depth: int | None = None,
        filters: Mapping[str, str] | None = None,
    ) -> list[Document]:
        return portal.run(self._found(_Run(run_manager.get_child()), query, depth, filters))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        depth: int | None = None,
        filters: Mapping[str, str] | None = None,
    ) -> list[Document]:
        return await self._found(_Run(run_manager.get_child()), query, depth, filters)

    async def _found(
        self, run: _Run, query: str, depth: int | None, filters: Mapping[str, str] | None
    ) -> list[Document]:
        question = Question(query, filters=self.filters if filters is None else filters)
        token = _run.set(run)
        try:
            result = await self.dragoman.asearch(question, self.depth if depth is None else depth)
        finally:
            _run.reset(token)
        return [_document(hit, run.documents.get(hit.doc_id)) for hit in result.hits]


class MultiQueryRetriever(DragomanRetriever):
    """What LangChain's class of this name is used for, with Dragoman's rewriting, fusion and deadline.

    Only the import changes. What is different then: the question as asked is always searched too and
    needs no model, so a model that fails or hangs costs at most `seconds` and loses no question;
    searches run side by side; the documents are fused, the best first, each with `because`.
    """

    @classmethod
    def from_llm(  # noqa: PLR0913 - LangChain's own signature, which a drop-in keeps
        cls,
        retriever: BaseRetriever,
        llm: BaseLanguageModel[Any],
        prompt: BasePromptTemplate[Any] | None = None,
        parser_key: str | None = None,  # noqa: ARG003 - LangChain's own takes and ignores it too
        include_original: bool = True,  # noqa: ARG003 - the question as asked is always searched
        *,
        seconds: float = SECONDS,
        depth: int = POOL,
    ) -> Self:
        """A retriever over `retriever`, with searches that `llm` writes.

        Args:
            prompt: one of your own with the variable `question`, whose reply has one search a line;
                without it, Dragoman's `rephrase`, held by its guards.
            parser_key: taken and ignored.
            include_original: taken; the question as asked is always searched.
            seconds: the model's leash.
            depth: documents at most; the default keeps all that LangChain's own would give.
        """
        model = from_chat_model(llm)
        step: Rewriter = Prompted("rephrase", open_llm(model, seconds=seconds))
        if prompt is not None:
            step = lift(_lines(prompt, llm, model.name), "rephrase")
        hall = Dragoman([from_langchain(retriever)], [step], settings=Settings(seconds=max(seconds + 6.0, 10.0)))
        return cls(dragoman=hall, depth=depth)


def from_langchain(retriever: BaseRetriever, name: str = "langchain") -> CallableRetriever:
    """Any LangChain retriever as ours.

    Its coroutine is used where it has one of its own; else its plain method, in a thread that a
    deadline can leave. A vector store's retriever without a `k` of its own is asked for the depth
    wanted; others give what they are set to. Filters are held to afterwards, by the documents'
    metadata. What it raises becomes a RetrievalError.

    Args:
        name: unique among a Dragoman's retrievers; weights go by it.
    """
    deep = isinstance(retriever, VectorStoreRetriever) and "k" not in retriever.search_kwargs

    def more(depth: int) -> dict[str, Any]:
        return {"k": depth} if deep else {}

    async def find(text: str, depth: int) -> list[dict[str, Any]]:
        return _passages(await retriever.ainvoke(text, _config(), **more(depth)))

    def find_plainly(text: str, depth: int) -> list[dict[str, Any]]:
        return _passages(retriever.invoke(text, _config(), **more(depth)))

    own = type(retriever)._aget_relevant_documents.__module__
    return CallableRetriever(find_plainly if own.startswith(_NATIVE + "retrievers") else find, name)


def from_chat_model(model: BaseLanguageModel[Any], name: str = "") -> ChatModel:
    """Any LangChain chat model or text model as ours, for rewriting (`open_llm` puts it on a leash) and answering.

    Args:
        name: in records and metrics; `langchain:CLASS` without one.
    """
    named = name or f"langchain:{type(model).__name__}"
    ask = _asking(model, named)

    async def say(rules: str, given: str) -> tuple[str, Usage]:
        reply = await ask([SystemMessage(rules), HumanMessage(given)])
        return _text(reply), _usage(reply)

    async def pieces(rules: str, given: str) -> AsyncIterator[str]:
        async for piece in model.astream([SystemMessage(rules), HumanMessage(given)], _config()):
            yield _text(piece)

    return ChatModel(named, say, pieces)


def _asking(model: BaseLanguageModel[Any], name: str) -> Any:
    """A coroutine function of the model's input: its own, or its plain one in threads that a leash can leave."""
    own = getattr(type(model), "_agenerate", None)
    if own is None or not own.__module__.startswith(_NATIVE + "language_models."):

        async def ask(given: Any) -> Any:
            return await model.ainvoke(given, _config())

        return ask
    aside = Aside(f"asking {name}")

    async def ask_plainly(given: Any) -> Any:
        return await aside(lambda: model.invoke(given, _config()))

    return ask_plainly


def _lines(prompt: BasePromptTemplate[Any], llm: BaseLanguageModel[Any], name: str) -> Any:
    """A rewriter's function: the question through a prompt of the user's own, one search a line of the reply."""
    ask = _asking(llm, name)

    async def written(prompted: Any) -> list[str]:
        return [line.strip() for line in _text(await ask(prompted)).splitlines() if line.strip()]

    async def rephrase(question: str) -> list[str]:
        return await written(await prompt.ainvoke({"question": question}))

    return rephrase


def _passages(documents: list[Document]) -> list[dict[str, Any]]:
    given = [passage(d.id, d.page_content, d.metadata, d.metadata.get("score")) for d in documents]
    run = _run.get()
    if run is not None:
        for each, document in zip(given, documents, strict=True):
            run.documents.setdefault(each["doc_id"], document)
    return in_their_order(given)


def _document(hit: Hit, found: Document | None) -> Document:
    added = outward(hit)
    if found is None:
        return Document(hit.text, id=hit.doc_id, metadata=added)
    ours = {key: added[key] for key in ("doc_id", "score", "because")}
    return Document(found.page_content, id=hit.doc_id, metadata={**found.metadata, **ours})


def _text(reply: object) -> str:
    return str(reply.text) if isinstance(reply, BaseMessage) else str(reply)


def _usage(reply: object) -> Usage:
    counted = getattr(reply, "usage_metadata", None) or {}
    return Usage(int(counted.get("input_tokens", 0)), int(counted.get("output_tokens", 0)))

"""DSPy, both ways: Dragoman as its modules, its retrievers and language models as ours."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

from dragoman import portal
from dragoman.dragoman import DEPTH, Dragoman
from dragoman.errors import MissingExtraError
from dragoman.integrations.foreign import ChatModel, because, in_their_order, passage
from dragoman.retrievers.callable import CallableRetriever
from dragoman.types import Question, Result, Usage

try:
    import dspy  # type: ignore[import-untyped]
except ModuleNotFoundError as error:
    raise MissingExtraError("dragoman.integrations.dspy", "dspy") from error


class DragomanModule(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    """Dragoman as a DSPy module, called and awaited (`acall`), alone or as a part of a program.

    The prediction holds `passages` (texts, best first), `doc_ids`, `scores`, `because`, and `query`
    and `searches`, what became of the question. An optimiser's copies share the Dragoman.

    Args:
        dragoman: what is asked; without retrievers the prediction has no passages.
        k: passages at most.
    """

    def __init__(self, dragoman: Dragoman, k: int = DEPTH) -> None:
        super().__init__()
        self.dragoman = dragoman
        self.k = k

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return type(self)(self.dragoman, self.k)

    def forward(self, query: str, k: int | None = None, filters: Mapping[str, str] | None = None) -> dspy.Prediction:
        """The prediction for a question; `k` stands for the module's own.

        Raises:
            QuestionError: nothing to ask.
            RetrievalError: no retriever answered.
        """
        return portal.run(self.aforward(query, k, filters))

    async def aforward(
        self, query: str, k: int | None = None, filters: Mapping[str, str] | None = None
    ) -> dspy.Prediction:
        """As `forward`."""
        question = Question(query, filters=filters or {})
        if self.dragoman.retrievers:
            return _prediction(await self.dragoman.asearch(question, self.k if k is None else k))
        rewriting = await self.dragoman.arewrite(question)
        return _prediction(Result(rewriting, rewriting.searches, (), ()))


def from_dspy(retrieve: Callable[..., Any], name: str = "dspy") -> CallableRetriever:
    """Any DSPy retriever as ours: a module, an `Embeddings`, an `rm`, or a function of a query.

    It gives a prediction with `passages`, or a list of texts or of passages with `long_text`;
    `indices`, `doc_ids` and `scores` beside them are used. A module that has `aforward` is awaited;
    anything else is called in a thread that a deadline can leave. It is asked for the depth where it
    takes `k`. What it raises becomes a RetrievalError.

    Args:
        name: unique among a Dragoman's retrievers; weights go by it.
    """
    forward = getattr(retrieve, "aforward", None) or getattr(retrieve, "forward", None) or retrieve
    takes_k = "k" in inspect.signature(forward).parameters

    def more(depth: int) -> dict[str, int]:
        return {"k": depth} if takes_k else {}

    def find_plainly(text: str, depth: int) -> list[dict[str, Any]]:
        return _passages(retrieve(text, **more(depth)))

    if not (hasattr(retrieve, "aforward") and hasattr(retrieve, "acall")):
        return CallableRetriever(find_plainly, name)
    ask: Callable[..., Awaitable[Any]] = retrieve.acall

    async def find(text: str, depth: int) -> list[dict[str, Any]]:
        return _passages(await ask(text, **more(depth)))

    return CallableRetriever(find, name)


def from_lm(lm: Any, name: str = "") -> ChatModel:
    """Any DSPy language model as ours, for rewriting (`open_llm` puts it on a leash) and answering.

    Args:
        name: in records and metrics; `dspy:MODEL` without one.
    """

    async def say(rules: str, given: str) -> tuple[str, Usage]:
        replies = await lm.acall(f"{rules}\n\n{given}")
        first = replies[0]
        return str(first["text"] if isinstance(first, Mapping) else first), Usage()

    return ChatModel(name or f"dspy:{getattr(lm, 'model', type(lm).__name__)}", say)


def _prediction(result: Result) -> dspy.Prediction:
    hits = result.hits
    return dspy.Prediction(
        passages=[hit.text for hit in hits],
        doc_ids=[hit.doc_id for hit in hits],
        scores=[hit.score for hit in hits],
        because=[because(hit) for hit in hits],
        query=result.rewriting.query,
        searches=[search.text for search in result.searches],
    )


def _passages(given: Any) -> list[dict[str, Any]]:
    texts = list(given.passages) if hasattr(given, "passages") else list(given)
    ids = _beside(given, ("doc_ids", "indices"), len(texts))
    scores = _beside(given, ("scores",), len(texts))
    return in_their_order(
        [passage(doc_id, _text(text), {}, score) for text, doc_id, score in zip(texts, ids, scores, strict=True)]
    )


def _beside(given: Any, names: tuple[str, ...], count: int) -> list[Any]:
    """What a prediction has beside each passage; None for each where it has nothing of that name and length."""
    for name in names:
        there = getattr(given, name, None)
        if isinstance(there, list | tuple) and len(there) == count:
            return [str(each) if name != "scores" else each for each in there]
    return [None] * count


def _text(item: object) -> str:
    if isinstance(item, Mapping):
        return str(item.get("long_text") or item.get("text") or "")
    return str(getattr(item, "long_text", item))

"""LlamaIndex, both ways: Dragoman as its retriever and query transform, its retrievers and models as ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from dragoman import portal
from dragoman.aside import Aside
from dragoman.dragoman import DEPTH, Dragoman
from dragoman.errors import MissingExtraError
from dragoman.integrations.foreign import ChatModel, in_their_order, outward, passage
from dragoman.llm.edge import usage
from dragoman.retrievers.callable import CallableRetriever
from dragoman.types import Hit, Question, Usage

try:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
    from llama_index.core.llms import LLM, CustomLLM
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtraError("dragoman.integrations.llamaindex", "llamaindex") from error

_HIDDEN = ["doc_id", "score", "because"]  # for programs; neither a model nor an embedder is to read them


class DragomanRetriever(BaseRetriever):
    """Dragoman as a LlamaIndex retriever: `retrieve`, `aretrieve`, callbacks, instrumentation.

    A node's id is the `doc_id`; its metadata holds its own, `doc_id`, `score` and `because`, the
    last three kept from models and embedders.

    Args:
        dragoman: what is asked.
        depth: nodes at most.
        filters: metadata that every node must have.
    """

    def __init__(
        self,
        dragoman: Dragoman,
        depth: int = DEPTH,
        filters: Mapping[str, str] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self._dragoman = dragoman
        self._depth = depth
        self._filters = dict(filters or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return portal.run(self._aretrieve(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = Question(query_bundle.query_str, filters=self._filters)
        return [_node(hit) for hit in (await self._dragoman.asearch(question, self._depth)).hits]


class DragomanQueryTransform(BaseQueryTransform):
    """Dragoman's rewriting as a LlamaIndex query transform, for a query engine over an index of LlamaIndex's.

    The query becomes the question rewritten; what is embedded is that and every search a step wrote.
    The vectors are averaged by LlamaIndex: `DragomanRetriever` over `from_llamaindex` fuses instead.
    """

    def __init__(self, dragoman: Dragoman) -> None:
        self._dragoman = dragoman

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """There are none: Dragoman's stand in its profile."""

    def _run(self, query_bundle: QueryBundle, metadata: dict[str, Any]) -> QueryBundle:  # noqa: ARG002 - LlamaIndex's
        rewriting = self._dragoman.rewrite(query_bundle.query_str)
        texts = dict.fromkeys([rewriting.query, *(search.meaning or search.text for search in rewriting.searches)])
        return QueryBundle(rewriting.query, custom_embedding_strs=list(texts))


def from_llamaindex(retriever: BaseRetriever, name: str = "llamaindex") -> CallableRetriever:
    """Any LlamaIndex retriever as ours.

    Its coroutine is used where it has one of its own; else its plain method, in a thread that a
    deadline can leave. It gives as many nodes as it is set to (`similarity_top_k`: 2 without): set
    that to what the fusion is to see. Filters are held to afterwards, by the nodes' metadata. What
    it raises becomes a RetrievalError.

    Args:
        name: unique among a Dragoman's retrievers; weights go by it.
    """

    async def find(text: str, depth: int) -> list[dict[str, Any]]:  # noqa: ARG001 - LlamaIndex has none at the call
        return _passages(await retriever.aretrieve(text))

    def find_plainly(text: str, depth: int) -> list[dict[str, Any]]:  # noqa: ARG001 - as above
        return _passages(retriever.retrieve(text))

    own = type(retriever)._aretrieve is not BaseRetriever._aretrieve
    return CallableRetriever(find if own else find_plainly, name)


def from_llm(model: LLM, name: str = "") -> ChatModel:
    """Any LlamaIndex model as ours, for rewriting (`open_llm` puts it on a leash) and answering.

    Args:
        name: in records and metrics; `llamaindex:CLASS` without one.
    """
    named = name or f"llamaindex:{type(model).__name__}"
    aside = Aside(f"asking {named}") if isinstance(model, CustomLLM) else None  # its coroutines are plain inside

    async def say(rules: str, given: str) -> tuple[str, Usage]:
        asked = _messages(rules, given)
        reply = await (aside(model.chat, asked) if aside else model.achat(asked))
        return str(reply.message.content or ""), _usage(reply)

    async def pieces(rules: str, given: str) -> AsyncIterator[str]:
        async for piece in await model.astream_chat(_messages(rules, given)):
            if piece.delta:
                yield piece.delta

    return ChatModel(named, say, pieces)


def _messages(rules: str, given: str) -> list[ChatMessage]:
    return [ChatMessage(rules, role=MessageRole.SYSTEM), ChatMessage(given, role=MessageRole.USER)]


def _usage(reply: ChatResponse) -> Usage:
    return usage(reply.additional_kwargs, "prompt_tokens", "completion_tokens")


def _passages(nodes: list[NodeWithScore]) -> list[dict[str, Any]]:
    return in_their_order(
        [passage(n.node_id, n.node.get_content(MetadataMode.NONE), n.node.metadata, n.score) for n in nodes]
    )


def _node(hit: Hit) -> NodeWithScore:
    node = TextNode(
        id_=hit.doc_id,
        text=hit.text,
        metadata=outward(hit),
        excluded_embed_metadata_keys=_HIDDEN,
        excluded_llm_metadata_keys=_HIDDEN,
    )
    return NodeWithScore(node=node, score=hit.score)

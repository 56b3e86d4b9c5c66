"""LlamaIndex's own components over the stubs; run by the python of LlamaIndex's environment."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from driving import drive, stubs
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever, TransformRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.llms.openai_like import OpenAILike
from stubs import Stub


class StubRetriever(BaseRetriever):
    """A retriever as LlamaIndex's documentation has one made."""

    def __init__(self, stub: Stub, depth: int) -> None:
        self._stub, self._depth = stub, depth
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        texts = [query_bundle.query_str] if self._stub.kind == "words" else query_bundle.embedding_strs
        return [
            NodeWithScore(node=TextNode(text=p.text, id_=p.doc_id), score=p.score)
            for text in texts
            for p in self._stub(text, self._depth)
        ]


def _model(order: dict[str, Any]) -> OpenAILike:
    return OpenAILike(model="scripted", api_base=order["url"], api_key="sk-scripted", is_chat_model=True)


def _ids(nodes: list[NodeWithScore]) -> list[str]:
    return list(dict.fromkeys(node.node.node_id for node in nodes))


def fusion(order: dict[str, Any], searched: list[str]) -> list[str]:
    """`QueryFusionRetriever` over both stubs, with reciprocal rank fusion."""
    retriever = QueryFusionRetriever(
        [StubRetriever(stub, order["depth"]) for stub in stubs(order, searched)],
        llm=_model(order),
        mode="reciprocal_rerank",
        similarity_top_k=order["depth"],
    )
    return _ids(retriever.retrieve(order["question"]))


def hyde(order: dict[str, Any], searched: list[str]) -> list[str]:
    """`HyDEQueryTransform` before the stub of meaning, by `TransformRetriever`."""
    retriever = TransformRetriever(
        retriever=StubRetriever(stubs(order, searched)[1], order["depth"]),
        query_transform=HyDEQueryTransform(llm=_model(order)),
    )
    return _ids(retriever.retrieve(order["question"]))[: max(order["depth"], 0)]


drive(
    {"QueryFusionRetriever": fusion, "HyDEQueryTransform": hyde},
    {name: version(name) for name in ("llama-index-core", "llama-index-llms-openai-like")},
)

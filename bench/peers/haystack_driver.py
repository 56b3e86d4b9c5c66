"""Haystack's own components over the stubs; run by the python of Haystack's environment."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from driving import drive, stubs
from haystack import Document, Pipeline, component
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.query import QueryExpander
from haystack.components.retrievers import MultiQueryTextRetriever
from haystack.utils import Secret
from stubs import Stub


@component
class StubRetriever:
    """A text retriever as Haystack's protocol has it; over both stubs, their lists joined."""

    def __init__(self, both: tuple[Stub, Stub], depth: int) -> None:
        self.both, self.depth = both, depth

    def to_dict(self) -> dict[str, Any]:
        """Nothing worth keeping."""
        return {"type": "StubRetriever", "init_parameters": {}}

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,  # noqa: ARG002
        top_k: int | None = None,
    ) -> dict[str, Any]:
        """The documents of one query."""
        found = [p for stub in self.both for p in stub(query, top_k or self.depth)]
        return {"documents": [Document(content=p.text, id=p.doc_id, score=p.score) for p in found]}


def expand(order: dict[str, Any], searched: list[str]) -> list[str]:
    """`QueryExpander` into `MultiQueryTextRetriever`, as its documentation connects them."""
    model = OpenAIChatGenerator(api_key=Secret.from_token("sk-scripted"), model="scripted", api_base_url=order["url"])
    pipeline = Pipeline()
    pipeline.add_component("expander", QueryExpander(chat_generator=model))
    retriever = StubRetriever(stubs(order, searched), order["depth"])
    pipeline.add_component("retriever", MultiQueryTextRetriever(retriever=retriever))
    pipeline.connect("expander.queries", "retriever.queries")
    documents = pipeline.run({"expander": {"query": order["question"]}})["retriever"]["documents"]
    return [document.id for document in documents][: max(order["depth"], 0)]


drive({"QueryExpander": expand}, {"haystack-ai": version("haystack-ai")})

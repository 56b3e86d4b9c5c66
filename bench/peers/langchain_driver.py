"""LangChain's own components over the stubs; run by the python of LangChain's environment."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from driving import drive, stubs
from langchain_classic.retrievers import EnsembleRetriever, MultiQueryRetriever, RePhraseQueryRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_openai import ChatOpenAI
from stubs import Stub


class StubRetriever(BaseRetriever):
    """A retriever as LangChain's documentation has one made."""

    stub: Any
    k: int = 10

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002
        return [Document(page_content=p.text, id=p.doc_id) for p in self.stub(query, self.k)]


def _retriever(stub: Stub, order: dict[str, Any]) -> StubRetriever:
    return StubRetriever(stub=stub, k=order["depth"])


def _model(order: dict[str, Any]) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=order["url"], api_key="sk-scripted")


def _both(order: dict[str, Any], searched: list[str]) -> EnsembleRetriever:
    return EnsembleRetriever(retrievers=[_retriever(stub, order) for stub in stubs(order, searched)])


def _ids(documents: list[Document]) -> list[str]:
    return [str(document.id) for document in documents]


def multi_query(order: dict[str, Any], searched: list[str]) -> list[str]:
    """`MultiQueryRetriever.from_llm` over an ensemble of both stubs."""
    retriever = MultiQueryRetriever.from_llm(retriever=_both(order, searched), llm=_model(order))
    return _ids(retriever.invoke(order["question"]))


def with_original(order: dict[str, Any], searched: list[str]) -> list[str]:
    """As `multi_query`, told to search the question too."""
    both, model = _both(order, searched), _model(order)
    retriever = MultiQueryRetriever.from_llm(retriever=both, llm=model, include_original=True)
    return _ids(retriever.invoke(order["question"]))


def re_phrase(order: dict[str, Any], searched: list[str]) -> list[str]:
    """`RePhraseQueryRetriever.from_llm` over an ensemble of both stubs."""
    retriever = RePhraseQueryRetriever.from_llm(retriever=_both(order, searched), llm=_model(order))
    return _ids(retriever.invoke(order["question"]))


def ensemble(order: dict[str, Any], searched: list[str]) -> list[str]:
    """`EnsembleRetriever` over both stubs, which asks no model."""
    return _ids(_both(order, searched).invoke(order["question"]))


drive(
    {
        "MultiQueryRetriever": multi_query,
        "include_original": with_original,
        "RePhraseQueryRetriever": re_phrase,
        "EnsembleRetriever": ensemble,
    },
    {name: version(name) for name in ("langchain-classic", "langchain-openai")},
)

"""The columns of the hostile table: Dragoman and its peers' own components, used as their documentation shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.hostile_rows import Form


@dataclass(frozen=True, slots=True)
class System:
    """One column.

    Attributes:
        driver: a script in bench/peers; `environment` says whose python runs it.
        form: in which a good model would answer it; empty: it asks no model.
        both: it has two retrievers, so that one of them can be down.
    """

    column: str
    environment: str
    driver: str
    name: str
    form: Form | None
    both: bool = True


ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "langchain": ("langchain-classic", "langchain-openai"),
    "llamaindex": ("llama-index-core", "llama-index-llms-openai-like"),
    "haystack": ("haystack-ai",),
}
SYSTEMS = (
    System("Dragoman", "", "dragoman_driver.py", "Dragoman", "searches"),
    System("LangChain MultiQuery", "langchain", "langchain_driver.py", "MultiQueryRetriever", "lines"),
    System("LangChain MultiQuery with original", "langchain", "langchain_driver.py", "include_original", "lines"),
    System("LangChain RePhrase", "langchain", "langchain_driver.py", "RePhraseQueryRetriever", "text"),
    System("LangChain Ensemble", "langchain", "langchain_driver.py", "EnsembleRetriever", None),
    System("LlamaIndex QueryFusion", "llamaindex", "llamaindex_driver.py", "QueryFusionRetriever", "lines"),
    System("LlamaIndex HyDE", "llamaindex", "llamaindex_driver.py", "HyDEQueryTransform", "text", both=False),
    System("Haystack QueryExpander", "haystack", "haystack_driver.py", "QueryExpander", "queries"),
)

"""Dragoman in Haystack and Haystack in Dragoman, on Haystack's current release."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
pytest.importorskip("haystack")

from haystack import Document, Pipeline, component
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers import InMemoryBM25Retriever, MultiQueryTextRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from small_hall import HEADLAMPS, QUESTION, SEARCHES, found, hall

from dragoman import Dragoman, LLMUnavailable, Outcome, RetrievalError, Search
from dragoman.integrations.haystack import (
    DragomanRetriever,
    DragomanRewriter,
    from_chat_generator,
    from_haystack,
    plain_filters,
)
from dragoman.llm.open import open_llm
from dragoman.retrievers.embedded import build_index
from dragoman.rewriters.prompted import Prompted
from dragoman.testing import SAMPLE, check_llm, check_retriever


@component
class Plain:
    """Over the sample's words, without scores, filters or a depth."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        return {
            "documents": [
                Document(id=p.doc_id, content=p.text, meta={**p.metadata, "title": p.title}) for p, _ in found(query)
            ]
        }


@component
class Down:
    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        raise ConnectionError("the store is down")


@component
class Slow:
    @component.output_types(replies=list[Any])
    def run(self, messages: list[Any]) -> dict[str, Any]:
        time.sleep(0.6)
        raise ConnectionError("no network")


def store() -> InMemoryDocumentStore:
    there = InMemoryDocumentStore()
    there.write_documents(
        [Document(id=p.doc_id, content=p.text, meta={**p.metadata, "title": p.title}) for p in SAMPLE]
    )
    return there


async def test_documents_carry_their_id_score_and_why_they_are_there() -> None:
    retriever = DragomanRetriever(hall(), top_k=2)
    best = retriever.run("please lighted headlamps")["documents"][0]
    assert best.id == best.meta["doc_id"] == HEADLAMPS
    assert best.score == best.meta["score"] > 0
    assert {each["search"] for each in best.meta["because"]} == {"please lighted headlamps", "lighted headlamps"}
    assert (await retriever.run_async("please lighted headlamps"))["documents"][0] == best
    filters = {"field": "meta.state", "operator": "==", "value": "South"}
    assert {d.meta["state"] for d in retriever.run("speed limit", filters)["documents"]} == {"South"}


def test_a_pipeline_runs_it_and_is_saved_and_loaded_by_profile_and_index(tmp_path: Path) -> None:
    rows = [{"_id": p.doc_id, "title": p.title, "text": p.text, "metadata": dict(p.metadata)} for p in SAMPLE]
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index", embedder=None)
    pipeline = Pipeline()
    pipeline.add_component("search", DragomanRetriever(index=str(tmp_path / "index"), top_k=1))
    saved = pipeline.dumps()
    again = Pipeline.loads(saved, allowed_modules=["dragoman.integrations.haystack"])
    found = again.run({"search": {"query": "lighted headlamps"}})
    assert [d.id for d in found["search"]["documents"]] == [HEADLAMPS]
    again.get_component("search").close()  # type: ignore[attr-defined]  # Haystack's protocol knows `run` alone
    with pytest.raises(ValueError, match="give `profile` and `index`"):
        DragomanRetriever(hall()).to_dict()


def test_a_rewriter_feeds_retrievers_of_theirs() -> None:
    model = open_llm(from_chat_generator(MockChatGenerator(SEARCHES)))
    pipeline = Pipeline()
    pipeline.add_component("rewrite", DragomanRewriter(Dragoman([], [Prompted("rephrase", model)])))
    pipeline.add_component("search", MultiQueryTextRetriever(retriever=InMemoryBM25Retriever(store(), top_k=1)))
    pipeline.connect("rewrite.queries", "search.queries")
    given = pipeline.run({"rewrite": {"query": QUESTION}}, include_outputs_from={"rewrite"})
    assert given["rewrite"]["queries"] == [QUESTION, "lighted headlamps sunset"]
    assert HEADLAMPS in [d.id for d in given["search"]["documents"]]


def test_a_retriever_without_scores_keeps_our_contract() -> None:
    check_retriever(from_haystack(Plain(), "theirs"))


async def test_their_store_is_asked_for_depth_and_filters() -> None:
    retriever = from_haystack(InMemoryBM25Retriever(store(), top_k=1))
    ranking = await retriever(Search("maximum speed limit"), 5, {"state": "South"})  # type: ignore[misc]
    assert len(ranking) == 5
    assert {hit.metadata["state"] for hit in ranking.hits} == {"South"}
    one = await retriever(Search("residence"), 1, {"state": "North", "kind": "statute"})  # type: ignore[misc]
    assert one.doc_ids == ("A-1",)


def test_a_failing_store_is_a_retrieval_error_and_what_takes_no_query_is_told() -> None:
    with pytest.raises(RetrievalError, match="the store is down"):
        from_haystack(Down())(Search("speed"), 3, {})
    with pytest.raises(TypeError, match="TextEmbeddingRetriever"):
        from_haystack(MultiQueryTextRetriever(retriever=InMemoryBM25Retriever(store())))


def test_their_filters_are_ours_or_refused() -> None:
    tree = {
        "operator": "AND",
        "conditions": [
            {"field": "meta.state", "operator": "==", "value": "Texas"},
            {"field": "meta.year", "operator": "==", "value": 2020},
        ],
    }
    assert plain_filters(tree) == {"state": "Texas", "year": "2020"}
    with pytest.raises(ValueError, match="'>'"):
        plain_filters({"field": "meta.year", "operator": ">", "value": 2020})


async def test_a_chat_generator_of_theirs_is_ours_on_a_leash() -> None:
    check_llm(open_llm(from_chat_generator(MockChatGenerator('{"about_the_corpus": true, "searches": ["speed"]}'))))
    began = time.perf_counter()
    slow = open_llm(from_chat_generator(Slow()), seconds=0.05)
    rewriting = await Dragoman([], [Prompted("rephrase", slow)]).arewrite(QUESTION)
    assert rewriting.steps[0].outcome is Outcome.TIMED_OUT
    assert time.perf_counter() - began < 0.5
    with pytest.raises(LLMUnavailable):
        _ = [piece async for piece in from_chat_generator(Slow()).stream("", "", 1)]

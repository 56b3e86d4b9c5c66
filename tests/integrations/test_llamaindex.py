"""Dragoman in LlamaIndex and LlamaIndex in Dragoman, on LlamaIndex's current release."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.llms import CustomLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from small_hall import HEADLAMPS, QUESTION, SEARCHES, found, hall

from dragoman import Dragoman, Outcome, RetrievalError, Search
from dragoman.integrations.llamaindex import DragomanQueryTransform, DragomanRetriever, from_llamaindex, from_llm
from dragoman.llm.open import open_llm, open_writer
from dragoman.rewriters.prompted import Prompted
from dragoman.testing import check_llm, check_retriever


class Plain(BaseRetriever):
    """Over the sample's words, with scores; no coroutine of its own."""

    scored = True

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=p.doc_id, text=p.text, metadata={**p.metadata, "title": p.title}),
                score=score if self.scored else None,
            )
            for p, score in found(query_bundle.query_str)
        ]


class Awaited(Plain):
    scored = False

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._retrieve(query_bundle)


class Broken(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise ConnectionError("the store is down")


class Says(CustomLLM):
    """A model that gives one reply, `after` seconds later."""

    reply: str
    after: float = 0.0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        time.sleep(self.after)
        return CompletionResponse(text=self.reply)

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        words = self.reply.split(" ")
        return (CompletionResponse(text=" ".join(words[: n + 1]), delta=w + " ") for n, w in enumerate(words))


async def test_nodes_carry_their_id_score_and_why_and_hide_it_from_models() -> None:
    retriever = DragomanRetriever(hall(), depth=2)
    best = retriever.retrieve("please lighted headlamps")[0]
    assert best.node.node_id == best.node.metadata["doc_id"] == HEADLAMPS
    assert best.score == best.node.metadata["score"] > 0
    assert {each["search"] for each in best.node.metadata["because"]} == {
        "please lighted headlamps",
        "lighted headlamps",
    }
    assert "because" not in best.node.get_content(MetadataMode.LLM)
    assert "because" not in best.node.get_content(MetadataMode.EMBED)
    again = await retriever.aretrieve("please lighted headlamps")
    assert [n.node.node_id for n in again] == [n.node.node_id for n in retriever.retrieve("please lighted headlamps")]


def test_callbacks_hear_and_a_query_engine_answers_from_it() -> None:
    heard = LlamaDebugHandler(print_trace_on_end=False)
    retriever = DragomanRetriever(hall(), depth=1, callback_manager=CallbackManager([heard]))
    made = get_response_synthesizer(llm=Says(reply="from sunset to sunrise"))
    engine = RetrieverQueryEngine(retriever, response_synthesizer=made)
    assert str(engine.query("lighted headlamps")) == "from sunset to sunrise"
    assert len(heard.get_event_pairs(CBEventType.RETRIEVE)) == 1


def test_filters_are_held_to() -> None:
    nodes = DragomanRetriever(hall(), filters={"state": "North"}).retrieve("maximum speed limit")
    assert {n.node.metadata["state"] for n in nodes} == {"North"}


def test_a_query_transform_rewrites_the_query_and_embeds_the_searches_too() -> None:
    rewriting = Dragoman([], [*hall().chain.steps, Prompted("rephrase", open_llm(from_llm(Says(reply=SEARCHES))))])
    bundle = DragomanQueryTransform(rewriting)("please " + QUESTION)
    assert bundle.query_str == QUESTION
    assert bundle.embedding_strs == [QUESTION, "lighted headlamps sunset"]


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_any_retriever_of_theirs_keeps_our_contract(kind: type[Plain]) -> None:
    check_retriever(from_llamaindex(kind(), "theirs"))


def test_their_scores_are_kept_and_what_they_raise_is_a_retrieval_error() -> None:
    ranking = from_llamaindex(Plain())(Search("lighted headlamps"), 1, {})
    assert (ranking.hits[0].doc_id, ranking.hits[0].score) == (HEADLAMPS, 2.0)  # type: ignore[union-attr]
    with pytest.raises(RetrievalError, match="ConnectionError"):
        from_llamaindex(Broken())(Search("x"), 3, {})


async def test_a_model_of_theirs_is_ours_on_a_leash_and_as_a_writer() -> None:
    check_llm(open_llm(from_llm(Says(reply='{"about_the_corpus": true, "searches": ["speed limit"]}'))))
    writer = open_writer(from_llm(Says(reply="as they come")))
    assert len([piece async for piece in writer.stream("rules", "input", 10)]) > 1
    slow = open_llm(from_llm(Says(reply=SEARCHES, after=0.6)), seconds=0.05)
    began = time.perf_counter()
    rewriting = await Dragoman([], [Prompted("rephrase", slow)]).arewrite(QUESTION)
    assert rewriting.steps[0].outcome is Outcome.TIMED_OUT
    assert time.perf_counter() - began < 0.5

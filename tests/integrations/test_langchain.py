"""Dragoman in LangChain and LangChain in Dragoman, on LangChain's current release."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.prompts import PromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from small_hall import HEADLAMPS, QUESTION, SEARCHES, found, hall

from dragoman import Dragoman, LLMError, Outcome, RetrievalError, Search
from dragoman.integrations.langchain import DragomanRetriever, MultiQueryRetriever, from_chat_model, from_langchain
from dragoman.llm.open import open_llm, open_writer
from dragoman.rewriters.prompted import Prompted
from dragoman.testing import SAMPLE, check_llm, check_retriever


class Plain(BaseRetriever):
    """As LangChain's documentation has one made: no coroutine, no score, a depth of its own."""

    asked: list[str] = []  # noqa: RUF012 - pydantic copies it

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.asked.append(query)
        return [
            Document(p.text, id=p.doc_id, metadata={**p.metadata, "title": p.title, "page": 3}) for p, _ in found(query)
        ]


class Awaited(Plain):
    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=run_manager)


class Broken(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise ConnectionError("the store is down")


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.events: list[tuple[str, Any, Any]] = []

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: Any, parent_run_id: Any = None, **_: Any
    ) -> None:
        self.events.append((f"start {query}", run_id, parent_run_id))

    def on_retriever_end(self, documents: Any, *, run_id: Any, **_: Any) -> None:
        self.events.append((f"end {len(documents)}", run_id, None))

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.events.append((f"error {type(error).__name__}", None, None))

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **_: Any
    ) -> None:
        self.events.append(("model", run_id, parent_run_id))


def test_documents_carry_their_id_score_and_why_they_are_there() -> None:
    best = DragomanRetriever(dragoman=hall(), depth=2).invoke("please lighted headlamps")[0]
    assert (best.id, best.metadata["doc_id"], best.metadata["title"]) == (HEADLAMPS, HEADLAMPS, "Headlamps")
    assert best.page_content.startswith("Lighted headlamps")
    assert best.metadata["score"] > 0
    assert {each["search"] for each in best.metadata["because"]} == {"please lighted headlamps", "lighted headlamps"}
    assert sum(each["share"] for each in best.metadata["because"]) == pytest.approx(best.metadata["score"], abs=1e-5)


async def test_sync_async_batch_and_abatch_give_the_same_and_join_a_chain() -> None:
    retriever = DragomanRetriever(dragoman=hall(), depth=3)
    one = retriever.invoke("speed bridge")
    assert [d.id for d in one] == [d.id for d in await retriever.ainvoke("speed bridge")]
    assert retriever.batch(["speed bridge", "fog"])[0] == one
    assert (await retriever.abatch(["fog", "speed bridge"]))[1] == one
    chain: Runnable[Any, list[Document]] = RunnablePassthrough() | retriever
    assert await chain.ainvoke("speed bridge") == one


def test_filters_and_depth_are_held_to_also_when_given_at_the_call() -> None:
    retriever = DragomanRetriever(dragoman=hall(), filters={"state": "North"}, depth=4)
    assert {d.metadata["state"] for d in retriever.invoke("maximum speed limit")} == {"North"}
    assert [d.metadata["state"] for d in retriever.invoke("speed limit", filters={"state": "South"}, depth=1)] == [
        "South"
    ]


def test_callbacks_hear_the_beginning_the_end_and_a_failure() -> None:
    heard = Heard()
    DragomanRetriever(dragoman=hall(), depth=2).invoke("speed", {"callbacks": [heard]})
    broken = DragomanRetriever(dragoman=Dragoman([from_langchain(Broken())]))
    with pytest.raises(RetrievalError, match="the store is down"):
        broken.invoke("speed", {"callbacks": [heard]})
    names = [name for name, _, _ in heard.events]
    assert names[:2] == ["start speed", "end 2"]
    assert names[-1] == "error RetrievalError"


@pytest.mark.parametrize("kind", [Plain, Awaited])
def test_any_retriever_of_theirs_keeps_our_contract(kind: type[Plain]) -> None:
    check_retriever(from_langchain(kind(), "theirs"))


async def test_without_scores_the_place_counts_and_what_they_raise_is_a_retrieval_error() -> None:
    ranking = await from_langchain(Awaited(), "theirs")(Search("residence district"), 3, {})  # type: ignore[misc]
    assert [hit.score for hit in ranking.hits] == sorted([hit.score for hit in ranking.hits], reverse=True)
    assert ranking.hits[0].doc_id == "A-1"
    with pytest.raises(RetrievalError, match="ConnectionError") as raised:
        from_langchain(Broken())(Search("x"), 3, {})
    assert isinstance(raised.value.__cause__, ConnectionError)


async def test_a_vector_stores_retriever_gives_the_depth_asked_for_unless_it_has_a_k_of_its_own() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts([p.text for p in SAMPLE], ids=[p.doc_id for p in SAMPLE])
    deep = await from_langchain(store.as_retriever())(Search("speed"), 9, {})  # type: ignore[misc]
    own = await from_langchain(store.as_retriever(search_kwargs={"k": 2}))(Search("speed"), 9, {})  # type: ignore[misc]
    assert (len(deep), len(own)) == (9, 2)


def test_documents_without_an_id_are_named_by_what_they_say() -> None:
    class Nameless(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("same"), Document("same"), Document("other", metadata={"doc_id": "own"})]

    ranking = from_langchain(Nameless())(Search("x"), 10, {})
    assert len(ranking) == 2  # type: ignore[arg-type]
    assert "own" in ranking.doc_ids  # type: ignore[union-attr]


async def test_a_chat_model_of_theirs_is_ours_on_a_leash_and_as_a_writer() -> None:
    reply = '{"about_the_corpus": true, "searches": ["maximum speed limit"]}'
    check_llm(open_llm(from_chat_model(FakeListChatModel(responses=[reply]))))
    writer = open_writer(from_chat_model(FakeListChatModel(responses=["as they come"])))
    assert len([piece async for piece in writer.stream("rules", "input", 10)]) > 1
    slow = open_llm(from_chat_model(FakeListChatModel(responses=[reply], sleep=0.5)), seconds=0.05)
    began = time.perf_counter()
    rewriting = await Dragoman([], [Prompted("rephrase", slow)]).arewrite(QUESTION)
    assert rewriting.steps[0].outcome is Outcome.TIMED_OUT
    assert time.perf_counter() - began < 0.4


async def test_a_chat_model_that_fails_is_an_llm_error_from_theirs() -> None:
    class Down(FakeListChatModel):
        def _call(self, *given: Any, **more: Any) -> str:
            raise ConnectionError("no network")

    with pytest.raises(LLMError) as raised:
        _ = [
            piece
            async for piece in from_chat_model(FakeListChatModel(responses=[], error_on_chunk_number=0)).stream(
                "", "", 1
            )
        ]
    assert raised.value.__cause__ is not None
    rewriting = await Dragoman([], [Prompted("rephrase", open_llm(from_chat_model(Down(responses=["x"]))))]).arewrite(
        "x y"
    )
    assert rewriting.steps[0].outcome is Outcome.FAILED


def test_multi_query_changes_in_the_import_alone_and_gives_their_documents_back() -> None:
    heard = Heard()
    model = FakeListChatModel(responses=[SEARCHES])
    retriever = MultiQueryRetriever.from_llm(retriever=Plain(), llm=model)
    documents = retriever.invoke(QUESTION, {"callbacks": [heard]})
    assert documents[0].id == HEADLAMPS
    assert documents[0].metadata["page"] == 3
    outer = heard.events[0][1]
    inner = [event for event in heard.events[1:] if event[0].startswith(("start", "model"))]
    assert {name for name, _, _ in inner} == {f"start {QUESTION}", "start lighted headlamps sunset", "model"}
    assert {parent for _, _, parent in inner} == {outer}


async def test_multi_query_takes_a_prompt_of_ones_own_and_a_text_model() -> None:
    prompt = PromptTemplate.from_template("Other words for: {question}")
    model = FakeListLLM(responses=["lighted headlamps\n\nsunset sunrise"])
    retriever = MultiQueryRetriever.from_llm(retriever=Awaited(), llm=model, prompt=prompt)
    best = (await retriever.ainvoke(QUESTION))[0]
    assert best.id == HEADLAMPS
    assert {"lighted headlamps", "sunset sunrise"} <= {each["search"] for each in best.metadata["because"]}


def test_multi_query_loses_no_question_to_a_model_that_hangs() -> None:
    model = FakeListChatModel(responses=[SEARCHES], sleep=1.0)
    retriever = MultiQueryRetriever.from_llm(retriever=Plain(), llm=model, seconds=0.1)
    began = time.perf_counter()
    assert retriever.invoke("lighted headlamps")[0].id == HEADLAMPS
    assert time.perf_counter() - began < 0.8

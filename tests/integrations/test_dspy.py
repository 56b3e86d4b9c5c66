"""Dragoman in DSPy and DSPy in Dragoman, on DSPy's current release."""

from __future__ import annotations

import copy
import time
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dspy")

import dspy  # type: ignore[import-untyped]
from small_hall import HEADLAMPS, QUESTION, SEARCHES, found, hall

from dragoman import Dragoman, Outcome, RetrievalError, Search
from dragoman.integrations.dspy import DragomanModule, from_dspy, from_lm
from dragoman.llm.open import open_llm
from dragoman.rewriters.prompted import Prompted
from dragoman.testing import check_llm


class Found(dspy.Module):  # type: ignore[misc]  # DSPy has no types
    def forward(self, query: str, k: int = 3) -> Any:
        there = found(query)[:k]
        return dspy.Prediction(passages=[p.text for p, _ in there], doc_ids=[p.doc_id for p, _ in there])


class Awaited(Found):
    async def aforward(self, query: str, k: int = 3) -> Any:
        return self.forward(query, k)


class Model:
    """What a `dspy.LM` is called as."""

    model = "scripted"

    def __init__(self, reply: str, after: float = 0.0) -> None:
        self.reply = reply
        self.after = after

    async def acall(self, prompt: str) -> list[str]:
        import asyncio

        await asyncio.sleep(self.after)
        return [self.reply]


async def test_a_prediction_holds_passages_ids_scores_and_why() -> None:
    module = DragomanModule(hall(), k=2)
    given = module(query="please lighted headlamps")
    assert given.doc_ids[0] == HEADLAMPS
    assert given.passages[0].startswith("Lighted headlamps")
    assert len(given.passages) == len(given.scores) == len(given.because) <= 2
    assert given.query == "lighted headlamps"
    assert (await module.acall(query="please lighted headlamps")).doc_ids == given.doc_ids
    assert module(query="speed", k=1).doc_ids == module(query="speed", k=9).doc_ids[:1]


def test_a_program_holds_it_and_an_optimisers_copy_shares_what_is_asked() -> None:
    class Program(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.search = DragomanModule(hall(), k=1)

        def forward(self, question: str) -> Any:
            return dspy.Prediction(answer=self.search(query=question).passages[0])

    program = Program()
    copied = program.deepcopy()
    assert copied.search is not program.search
    assert copied.search.dragoman is copy.deepcopy(program.search).dragoman is program.search.dragoman
    assert copied(question="lighted headlamps").answer.startswith("Lighted headlamps")


def test_without_retrievers_it_rewrites_alone() -> None:
    given = DragomanModule(Dragoman([], hall().chain.steps))(query="please " + QUESTION)
    assert (given.query, given.passages) == (QUESTION, [])


async def test_modules_functions_and_rms_of_theirs_are_our_retrievers() -> None:
    plain = from_dspy(Found())(Search("lighted headlamps"), 5, {})
    awaited = await from_dspy(Awaited())(Search("lighted headlamps"), 5, {})  # type: ignore[misc]
    assert plain.doc_ids == awaited.doc_ids  # type: ignore[union-attr]
    assert plain.doc_ids[0] == HEADLAMPS  # type: ignore[union-attr]

    def rm(query: str, *, k: int) -> list[Any]:
        return [SimpleNamespace(long_text=p.text) for p, _ in found(query)][:k]

    ranking = from_dspy(rm)(Search("lighted headlamps"), 1, {})
    assert [hit.text[:7] for hit in ranking.hits] == ["Lighted"]  # type: ignore[union-attr]
    texts = from_dspy(lambda query: ["one", "two"])(Search("x"), 5, {})
    assert [hit.text for hit in texts.hits] == ["one", "two"]  # type: ignore[union-attr]


def test_what_they_raise_is_a_retrieval_error() -> None:
    def down(query: str) -> list[str]:
        raise ConnectionError("the store is down")

    with pytest.raises(RetrievalError, match="the store is down"):
        from_dspy(down)(Search("x"), 3, {})


async def test_a_language_model_of_theirs_is_ours_on_a_leash() -> None:
    check_llm(open_llm(from_lm(Model('{"about_the_corpus": true, "searches": ["speed limit"]}'))))
    slow = open_llm(from_lm(Model(SEARCHES, after=0.6)), seconds=0.05)
    began = time.perf_counter()
    rewriting = await Dragoman([], [Prompted("rephrase", slow)]).arewrite(QUESTION)
    assert rewriting.steps[0].outcome is Outcome.TIMED_OUT
    assert time.perf_counter() - began < 0.5


async def test_their_own_scripted_model_answers_through_the_same_door() -> None:
    lm = dspy.utils.DummyLM([{"searches": "speed limit"}])
    text = [piece async for piece in from_lm(lm).stream("Write searches.", "how fast", 100)]
    assert "speed limit" in "".join(text)

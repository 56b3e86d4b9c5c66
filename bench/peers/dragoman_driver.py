"""Dragoman over the stubs; run by the python of this project's own environment."""

from __future__ import annotations

import asyncio
import time
from importlib.metadata import version
from typing import Any

from driving import drive, stubs

from dragoman.dragoman import Dragoman, Settings
from dragoman.llm.open import close, open_llm, warm
from dragoman.retrievers import CallableRetriever
from dragoman.rewriters.prompted import Prompted
from dragoman.types import Message, Question

SECONDS = 3.0  # the budget of a question; the model's leash is the default, four, and so ends with it


def ask(order: dict[str, Any], searched: list[str]) -> tuple[list[str], dict[str, Any]]:
    """One prompted step over both stubs, within a budget; what the step came to beside the hits."""
    return asyncio.run(_ask(order, searched))


async def _ask(order: dict[str, Any], searched: list[str]) -> tuple[list[str], dict[str, Any]]:
    llm = open_llm(f"openai:scripted@{order['url']}")
    await warm(llm)
    both = [
        CallableRetriever(lambda text, depth, stub=stub: [p._asdict() for p in stub(text, depth)], stub.kind)
        for stub in stubs(order, searched)
    ]
    dragoman = Dragoman(both, [Prompted(order["prompt"], llm)], settings=Settings(seconds=SECONDS))
    before = None if order["before"] is None else tuple(Message(role, text) for role, text in order["before"])
    began = time.perf_counter()
    try:
        result = await dragoman.asearch(Question(order["question"], before), order["depth"])
        took = time.perf_counter() - began
    finally:
        await close(llm)
    (step,) = result.rewriting.steps
    failed = "; ".join(dict.fromkeys(f"{failure.retriever} {failure.outcome}" for failure in result.failures))
    said: dict[str, Any] = {
        "outcome": str(step.outcome),
        "reason": step.reason.replace(llm.name, "the model"),
        "failures": failed,
        "seconds": took,
    }
    return [hit.doc_id for hit in result.hits], said


drive({"Dragoman": ask}, {"dragoman": version("dragoman")})

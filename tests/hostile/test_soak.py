"""A little of `make soak`: many questions at once among random faults; none lost, none worse, nothing left behind."""

from __future__ import annotations

import asyncio
import threading

import pytest
from bench import soak
from bench.peers.stubs import clean
from bench.soak_server import Random

from dragoman.dragoman import Dragoman, Settings
from dragoman.retrievers import CallableRetriever
from dragoman.types import Outcome


def test_among_random_faults_no_question_is_lost_or_worse_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "WARM", 40)
    with Random(11) as server:
        count, before, after, _ = asyncio.run(soak.soak(server.port, 150, 50, 11))
        assert server.connections == 0
    assert not count.lost
    assert count.asked == count.answered == count.at_raw == 150
    assert len(count.outcomes) >= 4
    assert (after.tasks, after.sockets) <= (before.tasks, before.sockets)
    assert "| lost | 0 |" in soak.written(count, before, after, 1.0, 50)


async def test_a_retriever_that_hangs_for_ever_starves_no_other() -> None:
    free = threading.Event()

    def hangs(text: str, depth: int) -> list[str]:
        free.wait(30)
        return []

    def well(text: str, depth: int) -> list[str]:
        return [passage.doc_id for passage in clean("words", text, depth)]

    dragoman = Dragoman([CallableRetriever(hangs), CallableRetriever(well)], settings=Settings(seconds=0.5))
    try:
        results = await asyncio.gather(*(dragoman.asearch(f"how fast past a school {n}") for n in range(60)))
    finally:
        free.set()
    for result in results:
        assert result.hits
        assert [(failure.retriever, failure.outcome) for failure in result.failures] == [("hangs", Outcome.TIMED_OUT)]

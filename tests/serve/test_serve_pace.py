"""A service that runs behind leaves the model out, and nothing else."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest
from small_service import FAST, asked, opened

from dragoman.errors import RewriteSkipped
from dragoman.llm.open import innermost
from dragoman.protocols import Prompt, Reply
from dragoman.serve.app import make_app
from dragoman.serve.pace import Pace, Spared
from dragoman.serve.settings import Limits, Settings, Table
from dragoman.testing import Says, ScriptedServer

REPLY = '{"about_corpus": true, "searches": ["maximum speed limit residence district"]}'


class Counts:
    """A model that says how often it was asked."""

    name = "counts"
    state = "half-open"

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, prompt: Prompt) -> Reply:
        self.asked += 1
        return Reply({})


async def test_a_model_is_asked_until_the_process_runs_behind_and_again_when_it_has_caught_up() -> None:
    pace, model = Pace(0.05), Counts()
    spared = Spared(model, pace)
    prompt = Prompt("p", "", "", {}, 1)
    await spared(prompt)
    pace.behind = 0.2
    with pytest.raises(RewriteSkipped, match=r"runs 200 ms behind, so counts was left out"):
        await spared(prompt)
    pace.behind = 0.05
    await spared(prompt)
    assert model.asked == 2
    assert (spared.name, spared.state, innermost(spared)) == ("counts", "half-open", model)


async def test_the_pace_sees_a_loop_that_is_held_up_and_forgets_it() -> None:
    pace = Pace(0.05)
    watching = asyncio.create_task(pace.watch())
    await asyncio.sleep(0.1)
    time.sleep(1)
    await asyncio.sleep(0)
    assert 0 < pace.behind < pace.most  # a single stall
    for _ in range(40):
        time.sleep(0.1)
        await asyncio.sleep(0)
    assert pace.behind > pace.most
    assert pace.late < 20 * pace.most
    async with asyncio.timeout(20):
        while pace.behind > 0.02:
            await asyncio.sleep(0.02)
    watching.cancel()


async def test_a_process_is_lost_when_it_comes_round_far_too_late_time_after_time() -> None:
    pace = Pace(0.01)
    watching = asyncio.create_task(pace.watch())
    await asyncio.sleep(0.1)
    for _ in range(3):
        time.sleep(0.3)
        await asyncio.sleep(0)
    assert pace.late < 20 * pace.most
    for _ in range(9):
        time.sleep(0.3)
        await asyncio.sleep(0)
    assert pace.lost
    async with asyncio.timeout(20):
        while pace.late > 0.1:
            await asyncio.sleep(0.02)
    watching.cancel()


def service_of(client: httpx.AsyncClient) -> Any:
    transport: Any = client._transport
    return transport.app.state.service


async def test_in_a_rush_questions_are_answered_without_the_model_and_say_so(settings: Settings) -> None:
    with ScriptedServer(Says(REPLY)) as model:
        table = replace(settings.tables[0], model=f"openai:m@{model.openai}")
        async with opened(make_app(replace(settings, tables=(table,), limits=Limits()))) as client:
            service = service_of(client)
            service._watching[0].cancel()
            service.pace.behind = 1.0
            found = await asked(client, "search", question=FAST)
            step = next(step for step in found["steps"] if step["name"] == "rephrase")
            assert step["outcome"] == "skipped"
            assert "1000 ms behind" in step["reason"]
            assert found["hits"]
            assert not model.requests
            metrics = (await client.get("/metrics")).text
            assert 'outcome="skipped",profile="road-law",step="rephrase"} 1' in metrics
            service.pace.behind = 0.0
            found = await asked(client, "search", question=FAST)
            assert "rephrase" in {search["origin"] for search in found["searches"]}
            assert len(model.requests) == 1


async def test_a_recording_is_never_left_out_and_nor_is_a_model_where_that_is_switched_off(settings: Settings) -> None:
    with ScriptedServer(Says(REPLY)) as model:
        never = replace(settings, tables=(Table("road-law", settings.tables[0].index, f"openai:m@{model.openai}"),))
        for given in (replace(settings, limits=Limits()), replace(never, limits=Limits(behind=0.0))):
            async with opened(make_app(given)) as client:
                service = service_of(client)
                service._watching[0].cancel()
                service.pace.behind = 1.0
                found = await asked(client, "search", question=FAST, profile="road-law")
                assert "rephrase" in {search["origin"] for search in found["searches"]}


async def test_a_service_that_is_lost_takes_no_more_questions_and_says_when_to_come_again(settings: Settings) -> None:
    async with opened(make_app(replace(settings, limits=Limits()))) as client:
        service = service_of(client)
        service._watching[0].cancel()
        service.pace.late = 1.3
        answer = await client.post("/v1/search", json={"question": FAST})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["detail"] == "this service runs 1.3 s behind; come again in a second"
        assert (await client.get("/readyz")).status_code == 200
        service.pace.late = 0.1
        await asked(client, "search", question=FAST)

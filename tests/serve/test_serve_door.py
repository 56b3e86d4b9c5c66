"""Who may come in, how often, with how much, and how many at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from small_service import FAST, asked, opened, refused

from dragoman.serve.app import make_app
from dragoman.serve.door import Rate
from dragoman.serve.problems import Problem
from dragoman.serve.settings import Limits, Settings
from dragoman.types import Rewriting

KEY = "a-key-of-enough-characters"


class Slow:
    """A rewriter that waits until it is let go."""

    name = "slow"
    gated = False

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.waiting = 0

    async def __call__(self, rewriting: Rewriting) -> Rewriting:
        self.waiting += 1
        await self.gate.wait()
        return rewriting


class Broken:
    """A rewriter with a defect."""

    name = "broken"

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        raise ZeroDivisionError(rewriting.query)


def put(client: httpx.AsyncClient, step: Any) -> None:
    transport: Any = client._transport
    hall = transport.app.state.service.desk(None).hall
    hall.chain.steps = (step,)


async def test_with_keys_a_question_needs_one_and_the_page_does_not(settings: Settings) -> None:
    async with opened(make_app(replace(settings, keys=("another-key-entirely", KEY), host="0.0.0.0"))) as client:
        body = {"question": FAST}
        without = await client.post("/v1/search", json=body)
        assert (without.status_code, without.headers["www-authenticate"]) == (401, "Bearer")
        wrong = await client.post("/v1/search", json=body, headers={"authorization": f"Bearer {KEY}x"})
        assert wrong.status_code == 401
        assert KEY not in wrong.text
        for headers in ({"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}):
            assert (await client.post("/v1/search", json=body, headers=headers)).status_code == 200
        assert (await client.get("/v1/profiles")).status_code == 401
        for path in ("/", "/healthz", "/readyz", "/metrics"):
            assert (await client.get(path)).status_code == 200


async def test_a_page_elsewhere_may_not_ask_a_local_service_that_needs_no_key(client: httpx.AsyncClient) -> None:
    rebound = await client.post("/v1/search", json={"question": FAST}, headers={"host": "evil.example:8080"})
    assert rebound.status_code == 403
    for origin, status in (("https://evil.example", 403), ("null", 403), ("http://localhost:3000", 200)):
        answer = await client.post("/v1/search", json={"question": FAST}, headers={"origin": origin})
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers


async def test_only_an_origin_that_was_allowed_is_told_so(settings: Settings) -> None:
    allowed = "https://search.example"
    async with opened(make_app(replace(settings, origins=(allowed,)))) as client:
        asks = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
        yes = await client.options("/v1/search", headers={"origin": allowed, **asks})
        assert yes.headers["access-control-allow-origin"] == allowed
        posted = await client.post("/v1/search", json={"question": FAST}, headers={"origin": allowed})
        assert (posted.status_code, posted.headers["access-control-allow-origin"]) == (200, allowed)
        no = await client.options("/v1/search", headers={"origin": "https://evil.example", **asks})
        assert "access-control-allow-origin" not in no.headers


async def test_a_body_over_the_limit_is_a_413_however_it_comes(settings: Settings) -> None:
    async with opened(make_app(replace(settings, limits=Limits(body=2_000)))) as client:
        await refused(client, "search", 413, question="x" * 2_000)

        async def pieces() -> Any:
            for _ in range(50):
                yield b" " * 100

        chunked = await client.post("/v1/search", content=pieces(), headers={"content-type": "application/json"})
        assert chunked.status_code == 413
        assert (await asked(client, "search", question=FAST))["hits"]


async def test_a_body_that_drips_is_cut_and_holds_no_place(settings: Settings) -> None:
    async with opened(make_app(replace(settings, limits=Limits(body_seconds=0.2, concurrent=1)))) as client:

        async def dripping() -> Any:
            yield b"{"
            await asyncio.sleep(30)

        headers = {"content-type": "application/json"}
        drip = asyncio.create_task(client.post("/v1/search", content=dripping(), headers=headers))
        await asyncio.sleep(0.05)
        assert (await asked(client, "search", question=FAST))["hits"]
        assert (await drip).status_code == 408


async def test_one_more_than_the_limit_is_told_to_come_again_and_places_are_given_back(settings: Settings) -> None:
    async with opened(make_app(replace(settings, limits=Limits(concurrent=2)))) as client:
        slow = Slow()
        put(client, slow)
        accepted = [asyncio.create_task(asked(client, "search", question=FAST)) for _ in range(2)]
        while slow.waiting < 2:
            await asyncio.sleep(0.005)
        answer = await client.post("/v1/search", json={"question": FAST})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert (await client.get("/readyz")).json()["in_flight"] == 2
        slow.gate.set()
        for done in await asyncio.gather(*accepted):
            assert done["hits"]
        assert (await client.get("/readyz")).json()["in_flight"] == 0
        assert (await asked(client, "search", question=FAST))["hits"]


async def test_raw_search_does_not_wait_for_anyones_model(settings: Settings) -> None:
    async with opened(make_app(settings)) as client:
        slow = Slow()
        put(client, slow)
        waiting = [asyncio.create_task(asked(client, "search", question=FAST)) for _ in range(20)]
        while slow.waiting < 20:
            await asyncio.sleep(0.005)
        raw = await asyncio.wait_for(asked(client, "search", question=FAST, steps=[]), 5)
        assert raw["hits"]
        assert not any(task.done() for task in waiting)
        slow.gate.set()
        await asyncio.gather(*waiting)


async def test_a_key_has_its_own_rate_and_is_told_when_to_come_again(settings: Settings) -> None:
    keys = (KEY, "another-key-entirely")
    async with opened(make_app(replace(settings, keys=keys, limits=Limits(per_minute=2)))) as client:
        client.headers["x-api-key"] = KEY
        for _ in range(2):
            await asked(client, "search", question=FAST)
        answer = await client.post("/v1/search", json={"question": FAST})
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 30
        client.headers["x-api-key"] = keys[1]
        assert (await asked(client, "search", question=FAST))["hits"]


def test_a_rate_is_refilled_steadily() -> None:
    now = [0.0]
    rate = Rate(60, clock=lambda: now[0])
    for _ in range(60):
        rate.spend("one")
    with pytest.raises(Problem, match="the next in 1 s"):
        rate.spend("one")
    now[0] = 2.5
    rate.spend("one")
    rate.spend("one")
    with pytest.raises(Problem):
        rate.spend("one")


async def test_a_defect_is_a_500_without_its_traceback(client: httpx.AsyncClient) -> None:
    put(client, Broken())
    problem = await refused(client, "search", 500, question=FAST)
    assert problem["detail"] == "the service met a defect; its log says more"
    assert (await client.get("/readyz")).json()["in_flight"] == 0

"""What is asked over HTTP is answered as the library answers it."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from small_service import DOCUMENTS, FAST, asked, opened, refused

from dragoman.dragoman import Dragoman
from dragoman.errors import LLMUnavailable, RetrievalError
from dragoman.learn import read_pairs
from dragoman.profile import open_dragoman
from dragoman.record import result_data
from dragoman.retrievers import build_index
from dragoman.serve.answers import AskAnswer, ExplainAnswer, RewriteAnswer, SearchAnswer
from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings, Table
from dragoman.telemetry import Event
from dragoman.testing import ScriptedModel
from dragoman.types import Answer, Metadata, Ranking, Search

TIMES = ("seconds",)


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if key not in TIMES}
    return [without_times(value) for value in data] if isinstance(data, list) else data


class Silent:
    """A retriever that does not answer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        raise RetrievalError(f"{self.name} is down")


def hall_of(client: httpx.AsyncClient, profile: str = "road-law") -> Dragoman:
    """The hall that answers the client's questions, to put other parts into."""
    transport: Any = client._transport
    hall: Dragoman = transport.app.state.service.desk(profile).hall
    return hall


async def test_search_answers_what_the_library_answers(client: httpx.AsyncClient, settings: Settings) -> None:
    over_http = await asked(client, "search", question=FAST, depth=3)
    table = settings.tables[0]
    async with await open_dragoman("road-law", index=table.index, model=table.model) as hall:
        directly = json.loads(json.dumps(result_data(await hall.asearch(FAST, 3))))
    assert without_times(over_http) == without_times(directly)
    assert over_http["hits"][0]["doc_id"] == "s1"


async def test_every_answer_has_the_shape_that_openapi_promises(client: httpx.AsyncClient) -> None:
    shapes: dict[str, type[RewriteAnswer]] = {"rewrite": RewriteAnswer, "search": SearchAnswer, "ask": AskAnswer}
    shapes["explain"] = ExplainAnswer
    for path, shape in shapes.items():
        held = shape.model_validate(await asked(client, path, question=FAST))
        assert held.question == FAST


async def test_no_step_means_the_question_as_it_is(client: httpx.AsyncClient) -> None:
    raw = await asked(client, "search", question=f"hey, {FAST}", steps=[])
    assert raw["steps"] == []
    assert [search["origin"] for search in raw["searches"]] == ["question"]
    some = await asked(client, "rewrite", question=f"hey, {FAST}", steps=["rules"])
    assert [step["name"] for step in some["steps"]] == ["rules"]
    assert some["query"] == FAST


async def test_profiles_stand_side_by_side(client: httpx.AsyncClient) -> None:
    first = await asked(client, "rewrite", question=FAST)
    named = await asked(client, "rewrite", question=FAST, profile="road-law")
    other = await asked(client, "rewrite", question=FAST, profile="default")
    assert without_times(first) == without_times(named)
    assert "rephrase" in [step["name"] for step in first["steps"]]
    assert "rephrase" not in [step["name"] for step in other["steps"]]
    problem = await refused(client, "rewrite", 422, question=FAST, profile="tax-law")
    assert "road-law, default" in problem["detail"]


async def test_a_rewriter_that_fails_is_an_outcome_of_an_answer(client: httpx.AsyncClient) -> None:
    contradicted = await asked(client, "search", question="contradiction about the street")
    outcomes = {step["name"]: step["outcome"] for step in contradicted["steps"]}
    assert outcomes["rephrase"] == "unreadable"
    assert contradicted["hits"][0]["doc_id"] == "s6"


async def test_all_retrievers_down_is_a_502_and_one_of_them_is_not(client: httpx.AsyncClient) -> None:
    hall = hall_of(client)
    hall.retrievers = (*hall.retrievers, Silent("meaning"))
    some = await asked(client, "search", question=FAST)
    assert {failure["retriever"] for failure in some["failures"]} == {"meaning"}
    assert some["hits"]
    hall.retrievers = (Silent("words"),)
    problem = await refused(client, "search", 502, question=FAST)
    assert "words is down" in problem["detail"]
    assert (await refused(client, "ask", 502, question=FAST, stream=True))["status"] == 502


async def test_off_topic_is_said_and_the_question_still_searched(client: httpx.AsyncClient) -> None:
    off = await asked(client, "search", question="what is the capital of France")
    assert off["off_topic"] is True
    assert [search["origin"] for search in off["searches"]] == ["question"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": " \t "},
        {"question": "\u0000\u200b"},
        {"question": 7},
        {"question": "x" * 20_001},
        {"question": FAST, "depth": "3"},
        {"question": FAST, "depth": 0},
        {"question": FAST, "depth": 101},
        {"question": FAST, "unknown": 1},
        {"question": FAST, "history": [{"role": "system", "text": "obey"}]},
        {"question": FAST, "history": [{"role": "user", "text": "x"}] * 41},
        {"question": FAST, "steps": ["fly"]},
    ],
)
async def test_a_bad_question_is_a_422_that_says_where(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    problem = await refused(client, "search", 422, **body)
    assert problem["detail"]
    assert "Traceback" not in json.dumps(problem)


async def test_what_is_not_json_is_a_problem_too(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    broken = await client.post("/v1/search", content=b'{"question": ', headers=headers)
    assert (broken.status_code, broken.headers["content-type"]) == (400, "application/problem+json")
    plain = await client.post("/v1/search", content=b'{"question": "x"}', headers={"content-type": "text/plain"})
    assert plain.status_code == 422
    lone = await client.post("/v1/search", content=b'{"question": "a \\ud800 b"}', headers=headers)
    assert lone.status_code in (200, 422)
    assert (await client.get("/v1/search")).status_code == 405
    assert (await client.delete("/v1/learned")).headers["allow"] == "GET, POST"
    assert (await client.get("/nowhere")).headers["content-type"] == "application/problem+json"


async def test_a_follow_up_is_read_with_its_history_and_nothing_leaks(client: httpx.AsyncClient) -> None:
    history = [{"role": "user", "text": "do i stop for a school bus"}, {"role": "assistant", "text": "Yes."}]
    together = await asyncio.gather(
        asked(client, "search", question="what about it", history=history), asked(client, "search", question=FAST)
    )
    alone = await asked(client, "search", question=FAST)
    assert without_times(together[1]) == without_times(alone)
    assert together[0]["question"] == "what about it"


async def test_an_answer_without_a_model_quotes_and_cites(client: httpx.AsyncClient) -> None:
    answer = await asked(client, "ask", question=FAST)
    assert answer["quoted"] is True
    assert answer["citations"][0] == "s1"
    assert "25 miles per hour" in answer["answer"]


async def events_of(client: httpx.AsyncClient, **body: Any) -> list[tuple[str, Any]]:
    async with client.stream("POST", "/v1/ask", json={**body, "stream": True}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        text = "".join([piece async for piece in answer.aiter_text()])
    found = []
    for event in text.strip().split("\n\n"):
        name, data = event.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


async def test_a_stream_gives_the_hits_then_the_pieces_then_the_whole_answer(client: httpx.AsyncClient) -> None:
    hall_of(client).writer = ScriptedModel("It is 25 miles per hour [s1] [s99].")
    events = await events_of(client, question=FAST)
    assert events[0][0] == "result"
    assert events[0][1]["hits"][0]["doc_id"] == "s1"
    assert "".join(data["text"] for name, data in events if name == "piece") == "It is 25 miles per hour [s1] [s99]."
    name, whole = events[-1]
    assert (name, whole["citations"], whole["removed_citations"]) == ("answer", ["s1"], 1)


async def test_a_model_that_fails_in_a_stream_leaves_the_passages(client: httpx.AsyncClient) -> None:
    hall_of(client).writer = ScriptedModel(LLMUnavailable("out of reach"))
    name, whole = (await events_of(client, question=FAST))[-1]
    assert (name, whole["quoted"], whole["answer_reason"]) == ("answer", True, "out of reach")


async def test_feedback_is_kept_in_the_form_that_learning_reads(client: httpx.AsyncClient, settings: Settings) -> None:
    kept = await asked(client, "feedback", question=FAST, doc_id="s1", rank=1)
    assert kept == {"kept": True}
    await asked(client, "feedback", question=FAST, doc_id="s2", helped=False)
    log = Path(settings.feedback)
    row = json.loads(log.read_text())
    assert (row["question"], row["doc_id"], row["rank"], row["profile"]) == (FAST, "s1", 1, "road-law")
    (pair,) = read_pairs(log, {doc_id: text for doc_id, _, text in DOCUMENTS})
    assert pair.said == (DOCUMENTS[0][2],)
    assert log.stat().st_mode & 0o077 == 0


async def test_feedback_on_a_document_that_is_not_there_is_not_kept(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    await refused(client, "feedback", 404, question=FAST, doc_id="s99")
    assert not Path(settings.feedback).exists()


async def test_what_is_not_set_up_says_what_to_set(settings: Settings) -> None:
    bare = replace(settings, feedback="", proposals="", tables=(replace(settings.tables[1], index=""),))
    async with opened(make_app(bare)) as client:
        assert "--index" in (await refused(client, "search", 409, question=FAST))["detail"]
        assert "--feedback" in (await refused(client, "feedback", 409, question=FAST, doc_id="s1"))["detail"]
        assert (await asked(client, "rewrite", question=f"hey, {FAST}"))["query"] == FAST


async def test_a_streamed_answer_is_told_of_as_any_other(settings: Settings) -> None:
    async def told(stream: bool) -> list[str]:
        events: list[Event] = []
        async with opened(make_app(settings)) as client:
            hall = hall_of(client)
            hall.writer = ScriptedModel("It is 25 miles per hour [s1].")
            hall.events.listeners = (events.append,)
            if stream:
                await events_of(client, question=FAST)
            else:
                await asked(client, "ask", question=FAST)
        answer = next(event for event in events if event.name == "answer.start")
        within = {event.attributes.get("within") for event in events if event.name in ("question.start", "llm.start")}
        assert answer.attributes["id"] in within
        assert isinstance(events[-1].attributes["answer"], Answer)
        return [event.name for event in events if not event.name.startswith(("step", "ranking"))]

    assert await told(stream=True) == await told(stream=False)


async def test_a_variant_of_the_profile_reads_the_same_files_and_closes_with_it(
    settings: Settings, tmp_path: Path
) -> None:
    profile = tmp_path / "own.toml"
    steps = '["rules", "memory", "rephrase", "remember"]'
    stores = '[memory]\npath = "m.sqlite"\n[cache]\npath = "c.sqlite"\n'
    profile.write_text(f'name = "own"\nsteps = {steps}\n{stores}', "utf-8")
    build_index([Path(settings.tables[0].index).with_name("corpus.jsonl")], tmp_path / "index", embedder="default")
    table = Table(str(profile), str(tmp_path / "index"), settings.tables[0].model)

    def kept_open() -> int:
        return sum("sqlite" in os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())

    async with opened(make_app(replace(settings, tables=(table,)))) as client:
        before = kept_open()
        assert before
        for asked_weight in range(1, 6):
            await asked(client, "explain", question=FAST, weights={"asked": asked_weight / 10})
        assert kept_open() == before
    assert kept_open() == 0

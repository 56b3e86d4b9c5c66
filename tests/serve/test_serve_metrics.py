"""Counters in Prometheus's format, of every worker."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import httpx
from small_service import FAST, asked, opened, refused
from the_page import KEY

from dragoman.dragoman import Dragoman
from dragoman.errors import RewriteRejected
from dragoman.serve.app import make_app
from dragoman.serve.metrics import FAMILIES, Metrics
from dragoman.serve.settings import Limits, Settings
from dragoman.telemetry import Event
from dragoman.types import Rewriting, RuleHit, Usage

LINE = re.compile(r'[a-z_]+(?:\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})? [0-9.e+-]+')


def value(text: str, sample: str) -> float:
    found = [line for line in text.splitlines() if line.startswith(f"{sample} ")]
    assert len(found) == 1, sample
    return float(found[0].rpartition(" ")[2])


async def test_a_question_is_counted_by_outcome_rule_and_retriever(client: httpx.AsyncClient) -> None:
    await asked(client, "search", question=f"hey, {FAST}")
    await client.post("/v1/search", json={})
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    assert value(text, 'dragoman_requests_total{path="/v1/search",status="200"}') == 1
    assert value(text, 'dragoman_requests_total{path="/v1/search",status="422"}') == 1
    assert value(text, 'dragoman_steps_total{outcome="rewritten",profile="road-law",step="rules"}') == 1
    assert value(text, 'dragoman_questions_total{profile="road-law"}') == 1
    assert 'dragoman_rankings_total{outcome="answered",profile="road-law",retriever="words"}' in text
    assert value(text, "dragoman_in_flight") == 0
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or LINE.fullmatch(line), line


async def test_paths_that_are_not_there_share_one_counter_and_no_question_is_told(client: httpx.AsyncClient) -> None:
    for path in ("/a", "/b", "/wp-login.php"):
        await client.get(path)
    await asked(client, "search", question="zorble at the streetlight")
    text = (await client.get("/metrics")).text
    assert value(text, 'dragoman_requests_total{path="other",status="404"}') == 3
    assert "zorble" not in text


async def test_who_is_turned_away_at_the_door_is_counted_where_they_knocked(settings: Settings) -> None:
    limits = Limits(body=2_000, per_minute=2)
    async with opened(make_app(replace(settings, keys=(KEY,), limits=limits))) as client:
        assert (await client.post("/v1/search", json={"question": FAST})).status_code == 401
        client.headers["x-api-key"] = KEY
        await refused(client, "search", 413, question="x" * 2_000)
        await refused(client, "proposals/0123456789ab", 404, status="open")
        await refused(client, "proposals/0123456789ab", 429, status="open")
        text = (await client.get("/metrics")).text
    assert value(text, 'dragoman_requests_total{path="/v1/search",status="401"}') == 1
    assert value(text, 'dragoman_requests_total{path="/v1/search",status="413"}') == 1
    for status in (404, 429):
        assert value(text, f'dragoman_requests_total{{path="/v1/proposals/{{identity}}",status="{status}"}}') == 1
    assert 'path="other"' not in text


def test_buckets_hold_everything_at_most_their_bound() -> None:
    metrics = Metrics()
    for seconds in (0.0004, 0.003, 0.003, 42.0):
        metrics.observe("dragoman_question_seconds", seconds, profile="p")
    text = metrics.text()
    assert value(text, 'dragoman_question_seconds_bucket{profile="p",le="0.001"}') == 1
    assert value(text, 'dragoman_question_seconds_bucket{profile="p",le="0.005"}') == 3
    assert value(text, 'dragoman_question_seconds_bucket{profile="p",le="10"}') == 3
    assert value(text, 'dragoman_question_seconds_bucket{profile="p",le="+Inf"}') == 4
    assert value(text, 'dragoman_question_seconds_count{profile="p"}') == 4
    assert value(text, 'dragoman_question_seconds_sum{profile="p"}') == 42.0064


def test_a_scrape_of_one_worker_counts_the_others(tmp_path: Path) -> None:
    one, other = Metrics(tmp_path), Metrics()
    other.count("dragoman_feedback_total", 3, helped="true")
    (tmp_path / "1.json").write_text('[["dragoman_feedback_total", [["helped", "true"]], 3]]')
    one.count("dragoman_feedback_total", helped="true")
    assert value(one.text(), 'dragoman_feedback_total{helped="true"}') == 4


def test_every_family_is_described_and_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.count("dragoman_feedback_total", helped='a"b\\c\nd')
    text = metrics.text()
    assert 'helped="a\\"b\\\\c\\nd"' in text
    for family in FAMILIES:
        assert f"# TYPE {family.name} {family.kind}" in text


def test_an_event_of_another_kind_is_passed_over() -> None:
    metrics = Metrics()
    before = metrics.text()
    metrics.listener("p")(Event("model.stop", {"seconds": 1.0}))
    metrics.listener("p")(Event("step.start", {}))
    assert metrics.text() == before


async def test_what_a_model_said_in_vain_is_counted_with_the_rules_that_turned_it_down() -> None:
    class InVain:
        name = "rephrase"

        def __call__(self, rewriting: Rewriting) -> Rewriting:
            error = RewriteRejected("all of it")
            error.notes = (Usage(30, 4), RuleHit("guard.length", "x"))
            raise error

    metrics = Metrics()
    await Dragoman([], [InVain()], listeners=[metrics.listener("p")]).arewrite(FAST)
    text = metrics.text()
    assert value(text, 'dragoman_steps_total{outcome="rejected",profile="p",step="rephrase"}') == 1
    assert value(text, 'dragoman_tokens_total{direction="in",profile="p",step="rephrase"}') == 30
    assert value(text, 'dragoman_tokens_total{direction="out",profile="p",step="rephrase"}') == 4
    assert value(text, 'dragoman_rules_total{profile="p",rule="guard.length"}') == 1

"""Counters in Prometheus's format, of every worker."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
from small_service import FAST, asked

from dragoman.serve.metrics import FAMILIES, Metrics
from dragoman.telemetry import Event

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

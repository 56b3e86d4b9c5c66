"""OpenAPI tells the truth: generated requests, good and bad, are answered as it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as bounded
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings, Table

MOST = {GenerationMode.POSITIVE: 20, GenerationMode.NEGATIVE: 8}  # examples; a bad one takes long to make
BOUNDED = bounded(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
# What these take is written in the lexicon's format or as a regular expression: JSON Schema cannot say
# which lines can be used, so that one which cannot is a 422 although its shape is right.
WRITTEN = {"POST /v1/explain", "POST /v1/proposals", "POST /v1/proposals/{identity}", "POST /v1/learned"}


@pytest.fixture(scope="module")
def schema(folder: Path, tmp_path_factory: pytest.TempPathFactory, serving: Any) -> Iterator[Any]:
    """What a running service says of itself."""
    kept = tmp_path_factory.mktemp("openapi")
    learned = kept / "learned.txt"
    learned.write_text("# learned: 3 questions; telephone 3 of 3 (0.4 without it)\nzorble => zorble, telephone|0.5\n")
    table = Table("road-law", str(folder / "index"), f"replay:{folder / 'replies.jsonl'}")
    settings = Settings(
        (table,), feedback=str(kept / "clicks"), proposals=str(kept / "proposals"), learned=str(learned)
    )
    with serving(make_app(settings)) as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["good", "bad"])
@pytest.mark.parametrize(
    "label",
    [
        "POST /v1/rewrite",
        "POST /v1/search",
        "POST /v1/ask",
        "POST /v1/explain",
        "POST /v1/feedback",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
        "GET /report",
        "GET /v1/profiles",
        "GET /v1/lexicon",
        "GET /v1/proposals",
        "POST /v1/proposals",
        "POST /v1/proposals/{identity}",
        "GET /v1/accepted",
        "GET /v1/learned",
        "POST /v1/learned",
    ],
)
def test_every_operation_answers_as_it_says(schema: Any, label: str, mode: GenerationMode) -> None:
    method, path = label.split(" ")
    operation = schema[path][method]

    excluded = [positive_data_acceptance] if label in WRITTEN else []

    @bounded(BOUNDED, max_examples=MOST[mode])
    @given(case=operation.as_strategy(generation_mode=mode))
    def hold(case: Any) -> None:
        response = case.call()
        # "Too large" is a refusal as well, which the check does not count as one.
        refused = [negative_data_rejection] if response.status_code == 413 else []
        case.validate_response(response, excluded_checks=[*excluded, *refused])

    if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or operation.path_parameters):
        pytest.skip("it takes nothing that could be wrong")
    hold()


def test_no_operation_is_left_out(schema: Any) -> None:
    found = {f"{result.ok().method.upper()} {result.ok().path}" for result in schema.get_all_operations()}
    marks = test_every_operation_answers_as_it_says.pytestmark
    assert found == set(marks[0].args[1])


async def test_names_served_here_examples_and_problems_are_told(client: httpx.AsyncClient) -> None:
    told = (await client.get("/openapi.json")).json()
    search = told["components"]["schemas"]["SearchBody"]["properties"]
    assert search["profile"]["anyOf"][0]["enum"] == ["road-law", "default"]
    steps = search["steps"]["anyOf"][0]["items"]["enum"]
    assert "lexicon" in steps
    assert "rephrase" not in steps  # one of the two profiles has it not
    operation = told["paths"]["/v1/search"]["post"]
    assert "raw" in operation["requestBody"]["content"]["application/json"]["examples"]
    for status in ("401", "413", "422", "429", "502", "503"):
        assert list(operation["responses"][status]["content"]) == ["application/problem+json"]
    assert "security" not in told


async def test_keys_are_told_where_they_are_needed(settings: Settings) -> None:
    app = make_app(replace(settings, keys=("a-key-of-enough-characters",)))
    async with app.router.lifespan_context(app):
        told = app.openapi()
        assert told["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
        assert told["security"] == [{"key": []}]
        free = {path for path, methods in told["paths"].items() if methods.get("get", {}).get("security") == []}
        assert free == {"/healthz", "/readyz", "/metrics", "/report"}

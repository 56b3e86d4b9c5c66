"""docs/serving.md names every route, option, status and counter there is, and its pictures are there."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from dragoman.cli import main
from dragoman.serve.metrics import FAMILIES
from dragoman.serve.problems import TITLES

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "serving.md").read_text("utf-8")


async def test_every_route_is_in_the_page(client: httpx.AsyncClient) -> None:
    told = (await client.get("/openapi.json")).json()["paths"]
    named = {f"{method.upper()} {path}" for path, methods in told.items() for method in methods}
    named.add("GET /openapi.json")
    assert named <= set(re.findall(r"`((?:GET|POST) /[^`]*)`", TEXT))


def test_every_option_is_in_the_page() -> None:
    options = {name for option in main.commands["serve"].params for name in option.opts if name.startswith("--")}
    assert options <= set(re.findall(r"--[a-z-]+", TEXT))


def test_every_status_and_every_counter_is_in_the_page() -> None:
    statuses = {int(status) for status in re.findall(r"^\| ([45]\d\d) \|", TEXT, re.MULTILINE)}
    assert statuses == set(TITLES)
    assert {family.name for family in FAMILIES} == set(re.findall(r"`(dragoman_\w+)`", TEXT))


def test_every_picture_is_there() -> None:
    for name in re.findall(r"\]\((screenshots/[^)]+)\)", TEXT):
        assert (DOCS / name).is_file(), name

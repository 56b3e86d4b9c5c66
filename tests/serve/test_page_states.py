"""The page in every state, by keyboard, on a phone, in both themes, for those who hear it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from small_service import FAST
from the_page import ASKED, DESK, KEY, PHONE, PLACES, Open, Page, ask, needs_chromium

from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings

pytestmark = needs_chromium


def test_off_topic_is_a_state_of_its_own(show: Open) -> None:
    page = show()
    ask(page, "what is the capital of France")
    assert page.locator(".notice.off strong").inner_text() == "Off-topic"
    assert "rephrase" in page.locator(".notice.off").inner_text()


def test_a_rewriter_that_did_not_answer_is_said_and_the_rest_is_there(show: Open) -> None:
    page = show()
    ask(page, "contradiction about the street")
    assert page.locator(".notice strong").first.inner_text() == "rephrase did not answer: unreadable"
    assert page.locator(".passage").count() >= 1


def test_while_it_travels_the_stages_wait(show: Open) -> None:
    page = show()
    held: list[Any] = []
    page.route("**/v1/explain", lambda route: held.append(route))
    page.get_by_label("Your question").fill(FAST)
    page.keyboard.press("Enter")
    page.wait_for_selector(".wait[aria-busy=true] .stage")
    held[0].continue_()
    page.wait_for_selector(".passage")


def test_a_failure_says_what_to_do_and_trying_again_works(show: Open) -> None:
    page = show(bad="502")
    told = {"title": "No retriever answered", "status": 502, "detail": "words: the index is damaged; build it again"}
    page.route(
        "**/v1/explain",
        lambda route: route.fulfill(status=502, content_type="application/problem+json", body=json.dumps(told)),
    )
    page.get_by_label("Your question").fill(FAST)
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert")
    assert "the index is damaged; build it again" in alert.inner_text()
    page.unroute("**/v1/explain")
    alert.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".passage")


def test_a_service_with_keys_asks_for_one(show: Open, service: Settings, serving: Any) -> None:
    with serving(make_app(replace(service, keys=(KEY,)))) as address:
        page = show(at=address, bad="401")
        page.get_by_label("Key").fill(KEY)
        page.get_by_role("button", name="Use this key").click()
        ask(page, FAST)
        assert page.locator(".passage").count() >= 1


def test_what_is_not_set_up_says_how_to(show: Open, service: Settings, serving: Any) -> None:
    bare = replace(service, feedback="", proposals="", learned="", report="", questions="")
    with serving(make_app(bare)) as address:
        page = show("review", at=address)
        assert "--proposals" in page.locator(".blank").inner_text()
        page.get_by_role("link", name="Effect").click()
        page.wait_for_selector("text=--report effect.html")
        page.get_by_role("link", name="Journey", exact=True).click()
        page.locator(".example").first.click()
        page.wait_for_selector(".passage, .notice")
        assert page.get_by_role("button", name=re.compile("This helped")).count() == 0


def test_everything_is_reached_by_keyboard(show: Open) -> None:
    page = show()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the journey"
    page.keyboard.press("Enter")
    page.get_by_label("Your question").focus()
    page.keyboard.type("how fast")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type(FAST)
    page.keyboard.press("Control+A")
    page.keyboard.type(FAST)
    page.keyboard.press("Enter")
    page.wait_for_selector(".passage")
    page.get_by_role("button", name="Try changes").focus()
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Lexicon").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Guards").get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "Steps"
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("document.activeElement.closest('.fused, .passage, .bench, .top, .ask')?.className ?? ''")
        )
    assert {"bench", "passage"} <= {name.split()[0] for name in reached if name}
    assert any("fused" in name for name in reached)


def test_a_theme_is_kept_and_the_systems_is_the_first(show: Open) -> None:
    page = show(scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.reload()
    page.wait_for_selector(".example")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_wider_than_a_phone(show: Open, place: str) -> None:
    page = show(place, viewport=PHONE)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(show: Open, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    for place in PLACES:
        for viewport in (DESK, PHONE):
            page = show(place, viewport=viewport, scheme=scheme)
            page.wait_for_load_state("networkidle")
            if place == ASKED:
                page.wait_for_selector(".passage")
                page.get_by_role("button", name="Try changes").click()
                for tab in ("Steps", "Weights", "Guards", "Lexicon"):
                    page.get_by_role("tab", name=tab).click()
                    found(axe, page, f"{place} {tab}")
                page.locator(".passage summary").first.click()
                page.locator(".fused .cell").first.focus()
            found(axe, page, place)


def found(axe: Any, page: Page, place: str) -> None:
    results = axe.run(page)
    assert results.violations_count == 0, f"{place}: {results.generate_report()}"


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("same words", "same words", [["same", "same words"]]),
        ("hey how fast", "how fast", [["gone", "hey "], ["same", "how fast"]]),
        (
            "a phone call",
            "a telephone call",
            [["same", "a "], ["gone", "phone"], ["new", "telephone"], ["same", " call"]],
        ),
        ("one two", "three four", [["gone", "one two"], ["new", "three four"]]),
        ("", "new", [["new", "new"]]),
    ],
)
def test_a_diff_is_by_words(show: Open, before: str, after: str, pieces: list[list[str]]) -> None:
    page = show()
    got = page.evaluate(
        "async ([before, after]) => (await import('/page/diff.js')).diff(before, after)", [before, after]
    )
    assert got == pieces

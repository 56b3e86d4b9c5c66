"""The playground in a real browser: the flows, the states, by keyboard, on a phone, for those who hear it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from small_service import FAST

from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings, Table

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'dragoman[dev]'")
Page: TypeAlias = Any  # playwright's own; the import is optional

CHROMIUM = os.environ.get("DRAGOMAN_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed, the page was not tried: apt-get install -y chromium"
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
LEARNED = """\
# status: pending
# learned: 14 questions; device 10 of 14 (0.7 without it)
# e.g. "phone at a red light" -> "handheld device"
#= phone => phone, device|0.52
"""
KEY = "a-key-of-enough-characters"
ASKED = f"?q={FAST.replace(' ', '+')}"
PLACES = ("", ASKED, "?q=what+is+the+capital+of+France", "compare", f"compare{ASKED}", "review", "effect")
REPORT = '<!doctype html><html lang="en"><title>Report</title><main><h1>Does rewriting pay?</h1></main></html>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def service(folder: Path, kept: Path) -> Settings:
    (kept / "learned.txt").write_text(LEARNED)
    (kept / "effect.html").write_text(REPORT)
    index, model = str(folder / "index"), f"replay:{folder / 'replies.jsonl'}"
    return Settings(
        (Table("road-law", index, model), Table("default", index)),
        feedback=str(kept / "clicks.jsonl"),
        proposals=str(kept / "proposals.jsonl"),
        learned=str(kept / "learned.txt"),
        report=str(kept / "effect.html"),
        questions=str(folder / "questions.jsonl"),
    )


@pytest.fixture(scope="module")
def address(service: Settings, serving: Any) -> Iterator[str]:
    with serving(make_app(service)) as address:
        yield address


Open: TypeAlias = Callable[..., Page]


@pytest.fixture
def show(browser: Any, address: str) -> Iterator[Open]:
    """Open the page at a place; at the end nothing may have gone wrong in it or come from elsewhere."""
    wrong: list[str] = []
    contexts: list[Any] = []

    def visit(
        place: str = "", *, viewport: dict[str, int] = DESK, scheme: str = "light", at: str = "", bad: str = ""
    ) -> Page:
        context = browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        home = at or address

        def said(message: Any) -> None:
            if message.type in ("error", "warning") and not (bad and bad in message.text):
                wrong.append(f"{message.type}: {message.text}")

        page.on("console", said)
        page.on("pageerror", lambda error: wrong.append(f"uncaught: {error}"))
        page.on("request", lambda request: None if request.url.startswith(home) else wrong.append(request.url))
        page.goto(f"{home}/#/{place}")
        page.wait_for_selector("main > *:not(.blank)")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".stage .passages, .stage .notice")


def stage(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True)


# --- the journey


def test_an_example_is_one_click_from_its_whole_journey(show: Open) -> None:
    page = show()
    page.get_by_role("button", name=FAST).click()
    page.wait_for_selector(".passage")
    rewritten = stage(page, "Rewritten")
    assert rewritten.locator(".step", has_text="rephrase").locator(".pill").inner_text() == "rewritten"
    assert "maximum speed limit" in rewritten.locator("ins").first.inner_text()
    assert rewritten.locator(".bite").first.inner_text().startswith("fastest")
    assert re.search(r"ms$", rewritten.locator(".ms").first.inner_text())
    searched = stage(page, "Searched")
    assert searched.locator(".search").count() == 3
    word = searched.locator(".search", has_text="rephrase").locator(".word", has_text="speed").first
    assert word.inner_text().split() == ["speed", "1", "documents"]
    assert searched.locator(".word.none", has_text="fastest").count() >= 1
    board = page.get_by_role("region", name="Rankings, side by side")
    assert board.locator(".group").count() == 3
    assert "s1" in (board.locator(".fused [data-doc]").first.get_attribute("data-doc") or "")
    assert board.locator(".fused .bar i").count() >= 3
    best = page.locator(".passage").first
    assert best.locator("h3").inner_text().endswith("Maximum speed limits")
    assert "district" in best.locator("mark.brought").all_inner_texts()
    assert page.title() == f"{FAST} · Dragoman"


def test_pointing_at_a_hit_or_reaching_it_by_keyboard_draws_where_it_stood(show: Open) -> None:
    page = show()
    ask(page, FAST)
    hit = page.locator('.fused [data-doc="s1"]')
    hit.hover()
    assert page.locator(".threads path.live").count() >= 1
    assert page.locator('.cell.on[data-doc="s1"]').count() >= 2
    foot = page.locator(".board-foot")
    assert "Maximum speed limits" in foot.inner_text()
    page.mouse.move(5, 5)
    assert page.locator(".threads path.live").count() == 0
    hit.focus()
    assert page.locator(".threads path.live").count() >= 1
    page.keyboard.press("Enter")
    assert page.locator('.passage[data-hit="s1"]').evaluate("each => each === document.activeElement")


def test_raw_stands_beside_the_fused_list_and_says_what_moved(show: Open) -> None:
    page = show()
    ask(page, FAST)
    assert page.locator(".col.beside [data-doc]").first.get_attribute("data-doc") == "s6"
    moves = page.locator(".fused .cell").evaluate_all(
        "cells => Object.fromEntries(cells.map((cell) => [cell.dataset.doc, cell.querySelector('.moved').className]))"
    )
    assert moves["s1"] == "moved new"
    assert moves["s6"].startswith("moved down")
    assert "new" in page.locator(".board-foot").inner_text()


def test_why_a_hit_stands_where_it_stands_adds_up(show: Open) -> None:
    page = show()
    ask(page, FAST)
    page.locator(".passage").first.locator("summary").click()
    shares = page.locator(".passage").first.locator("td.num").all_inner_texts()
    assert 98 <= sum(int(share.split()[0]) for share in shares) <= 102


def test_a_hit_that_helped_is_kept(show: Open, kept: Path) -> None:
    page = show()
    ask(page, FAST)
    page.get_by_role("button", name="This helped: Maximum speed limits").click()
    page.get_by_text("✓ Kept").wait_for()
    assert json.loads((kept / "clicks.jsonl").read_text().splitlines()[-1])["doc_id"] == "s1"


def test_an_answer_comes_from_the_passages_and_its_citations_lead_to_them(show: Open) -> None:
    page = show()
    ask(page, FAST)
    page.get_by_role("button", name="Answer from these passages").click()
    page.locator(".answer a").first.click()
    assert "no model writes answers here" in page.locator(".answer").inner_text()
    assert page.locator(".passage").first.evaluate("each => each === document.activeElement")


def test_the_address_holds_the_question_and_going_back_goes_back(show: Open) -> None:
    page = show(ASKED)
    page.wait_for_selector(".passage")
    ask(page, "who stops for a school bus")
    page.wait_for_selector("text=School bus stops")
    page.go_back()
    page.locator(".fused [data-doc]").first.wait_for()
    assert page.get_by_label("Your question").input_value() == FAST


def test_another_profile_answers_the_same_question(show: Open) -> None:
    page = show()
    ask(page, FAST)
    page.get_by_label("Profile").select_option("default")
    page.locator(".step", has_text="rephrase").wait_for(state="detached")
    page.wait_for_selector(".passage")
    assert "profile=default" in page.url


def test_in_a_conversation_what_was_asked_and_found_goes_along(show: Open) -> None:
    page = show()
    page.get_by_role("button", name="Conversation").click()
    ask(page, "who stops for a school bus")
    with page.expect_request("**/v1/explain") as sent:
        ask(page, "and if it shows no light?")
    history = sent.value.post_data_json["history"]
    assert [turn["role"] for turn in history] == ["user", "assistant"]
    assert history[0]["text"] == "who stops for a school bus"
    assert history[1]["text"].startswith("School bus stops")
    assert page.get_by_label("The conversation so far").locator("li").count() == 2
    page.get_by_role("button", name="Begin a new conversation").click()
    assert page.get_by_label("The conversation so far").count() == 0


def test_a_follow_up_example_brings_its_history(show: Open) -> None:
    page = show()
    with page.expect_request("**/v1/explain") as sent:
        page.get_by_role("button", name="and if it shows no light?").click()
    assert sent.value.post_data_json["history"][0]["text"] == "do i stop for a school bus"


# --- the workbench


def test_an_edited_entry_shows_its_effect_at_once_and_is_kept_as_a_proposal_to_review(show: Open, kept: Path) -> None:
    page = show()
    ask(page, "can i use my zorble")
    assert stage(page, "Found").locator(".notice strong").inner_text() == "No passage matches"
    page.get_by_role("button", name="Try changes").click()
    page.get_by_label("A new lexicon entry").fill("zorble => handheld telephone")
    page.locator('.fused [data-doc="s4"]').wait_for()
    assert page.locator(".effect").inner_text() == "Against the profile as it is: 1 new."
    assert page.locator(".col.beside h3").inner_text() == "Before"
    page.get_by_label("Why you propose it").fill("people call it that")
    page.get_by_role("button", name="Save as a proposal").click()
    page.get_by_text("It waits under Review").wait_for()
    page.get_by_role("button", name="Undo 1 change").click()
    page.locator('.fused [data-doc="s4"]').wait_for(state="detached")
    page.get_by_role("link", name="Review").click()
    card = page.locator(".review", has_text="zorble => handheld telephone")
    assert "people call it that" in card.inner_text()
    card.get_by_role("button", name="Accept").click()
    page.get_by_role("button", name=re.compile("1 accepted")).click()
    page.get_by_role("button", name="Show the lines").click()
    page.get_by_text("# people call it that").wait_for()
    assert json.loads((kept / "proposals.jsonl").read_text().splitlines()[-1])["status"] == "accepted"


def test_an_entry_that_bit_can_be_changed_and_left_out(show: Open) -> None:
    page = show(bad="422")
    ask(page, "texting on the road")
    page.get_by_role("button", name="Try changes").click()
    entry = page.locator(".entry", has_text="lexicon.txt").first
    entry.wait_for()
    assert "texting" in entry.locator("input").input_value()
    entry.locator("input").fill("texting => school bus")
    page.locator('.fused [data-doc="s3"]').wait_for()
    entry.get_by_role("button", name="Leave out").click()
    page.locator(".effect:not(:empty)").wait_for()
    entry.locator("input").fill("texting =>")
    page.get_by_text("a term is empty").wait_for()


def test_a_guard_can_be_changed(show: Open) -> None:
    page = show(bad="422")
    ask(page, FAST)
    page.get_by_role("button", name="Try changes").click()
    page.get_by_role("tab", name="Guards").click()
    new = page.locator(".entry").last
    new.get_by_label("id").fill("bus")
    new.get_by_label("pattern (regular expression)").fill("residence district")
    new.get_by_label("what stands instead").fill("school bus")
    page.locator('.fused [data-doc="s3"]').wait_for()
    new.get_by_label("pattern (regular expression)").fill("(")
    page.get_by_text("cannot be used").wait_for()


def test_steps_go_off_and_weights_move(show: Open) -> None:
    page = show()
    ask(page, FAST)
    page.get_by_role("button", name="Try changes").click()
    page.get_by_role("tab", name="Steps").click()
    page.get_by_role("switch", name="rephrase").click()
    page.locator(".step", has_text="rephrase").wait_for(state="detached")
    page.get_by_role("tab", name="Weights").click()
    page.get_by_role("slider", name="the rewritten question").fill("3")
    page.locator(".search", has_text="expanded").locator(".meter", has_text=re.compile(r"weight 3$")).wait_for()
    assert page.get_by_role("button", name="Undo 2 changes").count() == 1


def test_two_configurations_stand_side_by_side(show: Open) -> None:
    page = show("compare")
    page.get_by_label("The question for both").fill(FAST)
    page.get_by_role("button", name="Ask both").click()
    page.wait_for_selector(".versus")
    assert page.locator(".verdict").inner_text().startswith("From A to B: ")
    left, right = (page.locator(".versus .col").nth(at).locator("[data-doc]") for at in (0, 1))
    assert [left.first.get_attribute("data-doc"), right.first.get_attribute("data-doc")] == ["s6", "s1"]
    page.get_by_role("region", name="Configuration B").get_by_role("switch", name="rephrase").click()
    page.get_by_role("region", name="Configuration B").get_by_role("switch", name="lexicon").click()
    first = page.locator(".versus .col").nth(1).locator("[data-doc]").first
    sync_api.expect(first).to_have_attribute("data-doc", "s6")


# --- review and effect


def test_what_was_learned_is_accepted_with_its_evidence_in_view(show: Open, kept: Path) -> None:
    page = show("review")
    page.get_by_role("button", name="Learned").click()
    card = page.locator(".review", has_text="phone => phone, device|0.52")
    assert "14 questions; device 10 of 14" in card.inner_text()
    assert "phone at a red light" in card.inner_text()
    card.get_by_role("button", name="Change").click()
    card.get_by_label("The entry, to change").fill("phone => phone, telephone|0.7")
    card.get_by_role("button", name="Accept as changed").click()
    page.get_by_role("button", name="1 accepted").wait_for()
    assert "# status: accepted" in (kept / "learned.txt").read_text()
    assert "phone => phone, telephone|0.7" in (kept / "learned.txt").read_text()


def test_the_effect_report_opens_here(show: Open) -> None:
    page = show("effect")
    assert page.frame_locator("iframe").locator("h1").inner_text() == "Does rewriting pay?"


# --- states


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


# --- everybody


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


# --- what became of a text


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

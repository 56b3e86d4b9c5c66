"""A question travels over the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from small_service import FAST
from the_page import ASKED, Open, ask, needs_chromium, stage

pytestmark = needs_chromium


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

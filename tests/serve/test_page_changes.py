"""Changes are tried on the page, compared, proposed and reviewed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from small_service import FAST
from the_page import Open, ask, needs_chromium, stage

pytestmark = needs_chromium


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


def test_what_is_left_out_is_kept_as_a_proposal_and_named_among_what_was_accepted(show: Open, kept: Path) -> None:
    page = show()
    ask(page, "texting on the road")
    page.get_by_role("button", name="Try changes").click()
    entry = page.locator(".entry", has_text="lexicon.txt").first
    entry.wait_for()
    line = entry.locator("input").input_value()
    entry.get_by_role("button", name="Leave out").click()
    page.locator(".effect:not(:empty)").wait_for()
    page.get_by_role("tab", name="Guards").click()
    guard = page.locator(".entry", has=page.get_by_role("button", name="Leave out"))
    assert guard.get_by_label("id").input_value() == "electronic-message"
    guard.get_by_role("button", name="Leave out").click()
    page.get_by_role("button", name="Undo 2 changes").wait_for()
    page.get_by_label("Why you propose it").fill("nobody says it")
    page.get_by_role("button", name="Save as a proposal").click()
    page.get_by_text("It waits under Review").wait_for()
    page.get_by_role("link", name="Review").click()
    for words in (f"Leave out {line}", "Leave out the guard electronic-message"):
        card = page.locator(".review", has_text=words)
        assert "nobody says it" in card.inner_text()
        assert card.get_by_role("button", name="Change").count() == 0
        card.get_by_role("button", name="Accept").click()
        card.wait_for(state="detached")
    page.get_by_role("button", name=re.compile("accepted")).click()
    page.get_by_role("button", name="Show the lines").click()
    page.get_by_text(f"# leave out: {line}").wait_for()
    page.get_by_role("button", name="Show the guards").click()
    page.get_by_text('# leave out the guard "electronic-message"').wait_for()
    said = [json.loads(row) for row in (kept / "proposals.jsonl").read_text().splitlines()]
    assert [row["without"] for row in said if "without" in row] == [line]


def test_a_guard_is_proposed_with_what_it_replaces_and_changed_in_review(show: Open) -> None:
    page = show()
    ask(page, FAST)
    page.get_by_role("button", name="Try changes").click()
    page.get_by_role("tab", name="Guards").click()
    own = page.locator(".entry").first
    own.get_by_label("what stands instead").fill("telephone message")
    page.get_by_role("button", name="Undo 1 change").wait_for()
    page.get_by_role("button", name="Save as a proposal").click()
    page.get_by_text("It waits under Review").wait_for()
    page.get_by_role("link", name="Review").click()
    card = page.locator(".review", has_text="telephone message")
    assert "→ electronic message text message" in card.locator("dl").inner_text()
    card.get_by_role("button", name="Change").click()
    card.get_by_label("what stands instead").fill("written message")
    card.get_by_role("button", name="Accept as changed").click()
    card.wait_for(state="detached")
    page.get_by_role("button", name=re.compile("accepted")).click()
    page.get_by_role("button", name="Show the guards").click()
    page.get_by_text('replacement = "written message"').wait_for()


def test_who_changes_what_was_left_out_wants_it_again(show: Open) -> None:
    page = show()
    ask(page, "texting on the road")
    page.get_by_role("button", name="Try changes").click()
    entry = page.locator(".entry", has_text="lexicon.txt").first
    entry.wait_for()
    entry.get_by_role("button", name="Leave out").click()
    entry.locator("input").fill("texting => school bus")
    assert entry.get_by_role("button", name="Leave out").count() == 1
    page.locator('.fused [data-doc="s3"]').wait_for()
    page.get_by_role("button", name="Undo 1 change").wait_for()
    entry.get_by_role("button", name="Leave out").click()
    page.locator('.fused [data-doc="s3"]').wait_for(state="detached")


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
    from playwright.sync_api import expect

    first = page.locator(".versus .col").nth(1).locator("[data-doc]").first
    expect(first).to_have_attribute("data-doc", "s6")


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

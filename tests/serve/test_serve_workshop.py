"""What the page reads and keeps: profiles, the lexicon, proposals, what was learned, the report."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import httpx
from small_service import FAST, QUESTIONS, asked, opened, refused

from dragoman.learn import Status, read_review
from dragoman.retrievers.callable import CallableRetriever
from dragoman.rewriters.lexicon import Lexicon
from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings

LEARNED = """\
# status: pending
# learned: 14 questions; device 10 of 14 (0.7 without it)
# e.g. "phone at a red light" -> "handheld device"
#= phone => phone, device|0.52

# learned: 9 questions; yield 8 of 9 (0.6 without it)
goes first => goes first, yield|0.5

mine => my own
"""


async def test_profiles_say_what_is_served_and_what_can_be_asked(client: httpx.AsyncClient) -> None:
    told = (await client.get("/v1/profiles")).json()
    first, second = told["profiles"]
    assert (first["name"], second["name"]) == ("road-law", "default")
    assert first["documents"] == 6
    assert first["lexicon"] > 10
    assert {"rules", "lexicon", "rephrase"} <= set(first["steps"])
    assert first["guards"][0]["id"] == "electronic-message"
    assert first["examples"]
    assert [example["question"] for example in told["examples"]] == [row["text"] for row in QUESTIONS]
    assert told["examples"][1]["history"] == [{"role": "user", "text": "do i stop for a school bus"}]
    assert told["keeps"] == {"feedback": True, "proposals": True, "learned": False, "report": False}


async def test_an_engines_way_is_shown_with_the_weight_that_it_has(settings: Settings) -> None:
    app = make_app(settings)
    async with opened(app) as client:
        ways = [CallableRetriever(lambda text: [], name) for name in ("pg.meaning", "pg.headings", "pg.words")]
        app.state.service.desks["default"].hall.retrievers = tuple(ways)
        _, second = (await client.get("/v1/profiles")).json()["profiles"]
    assert second["weights"]["retrievers"] == {"pg.meaning": None, "pg.headings": 0.0, "pg.words": 1.0}


async def test_lexicon_entries_are_found_by_word_and_by_place(client: httpx.AsyncClient) -> None:
    found = (await client.get("/v1/lexicon", params={"contains": "texti"})).json()
    assert found["matching"] >= 1
    entry = found["entries"][0]
    assert "texting" in entry["left"]
    placed = (await client.get("/v1/lexicon", params={"source": entry["source"]})).json()
    assert [each["line"] for each in placed["entries"]] == [entry["line"]]
    none = (await client.get("/v1/lexicon", params={"profile": "default", "contains": "a"})).json()
    assert none == {"entries": [], "matching": 0, "total": 0}


async def test_a_proposal_is_kept_reviewed_and_given_out_as_a_lexicon(client: httpx.AsyncClient) -> None:
    made = await asked(
        client, "proposals", line="zorble => handheld telephone", question=FAST, reason="people say it", effect="1 up"
    )
    assert (made["status"], made["kind"], made["profile"]) == ("open", "lexicon", "road-law")
    rejected = await asked(client, "proposals", line="a => b")
    await asked(client, f"proposals/{rejected['id']}", status="rejected", note="no")
    changed = await asked(client, f"proposals/{made['id']}", status="accepted", line="zorble => telephone")
    assert changed["line"] == "zorble => telephone"
    told = (await client.get("/v1/proposals")).json()["proposals"]
    assert [(each["id"], each["status"]) for each in told] == [(rejected["id"], "rejected"), (made["id"], "accepted")]
    text = (await client.get("/v1/accepted")).text
    assert "# people say it" in text
    assert Lexicon.parse(text).apply("my zorble").text == "my telephone"
    await refused(client, "proposals/absent", 404, status="accepted")


async def test_an_entry_that_is_to_go_is_proposed_and_named_among_what_was_accepted(client: httpx.AsyncClient) -> None:
    (entry,) = (await client.get("/v1/lexicon", params={"contains": "texting"})).json()["entries"][:1]
    gone = await asked(client, "proposals", without=entry["line"], reason="nobody says it")
    assert (gone["kind"], gone["without"], gone.get("line")) == ("lexicon", entry["line"], None)
    changed = await asked(client, "proposals", line="texting => messages", replaces=entry["line"])
    for each in (gone, changed):
        await asked(client, f"proposals/{each['id']}", status="accepted")
    text = (await client.get("/v1/accepted")).text
    assert f"# nobody says it\n# leave out: {entry['line']}\n\n" in text
    assert f"# instead of: {entry['line']}\ntexting => messages\n" in text
    (kept,) = Lexicon.parse(text).entries
    assert kept.comment == f"instead of: {entry['line']}"
    told = await refused(client, "proposals", 422, without="zorble => never there")
    assert "has no line 'zorble => never there'" in told["detail"]


async def test_accepted_guards_are_given_out_as_a_profile_holds_them(client: httpx.AsyncClient) -> None:
    guard = {"id": "bus", "pattern": r"\b(?<!school )bus\b", "replacement": "school bus", "reason": ""}
    made = await asked(client, "proposals", guard=guard, replaces="bus → coach", reason='codes say "school bus"')
    gone = await asked(client, "proposals", without_guard="electronic-message")
    assert (gone["kind"], gone["without_guard"]) == ("guard", "electronic-message")
    await asked(client, f"proposals/{gone['id']}", status="accepted")
    changed = await asked(
        client, f"proposals/{made['id']}", status="accepted", guard={**guard, "replacement": "school bus vehicle"}
    )
    assert changed["guard"]["replacement"] == "school bus vehicle"
    text = (await client.get("/v1/accepted", params={"kind": "guard"})).text
    assert "# instead of: bus → coach\n[[guards]]" in text
    assert '# leave out the guard "electronic-message"' in text
    (table,) = tomllib.loads(text)["guards"]
    assert table == {**guard, "replacement": "school bus vehicle", "reason": 'codes say "school bus"'}
    assert (await client.get("/v1/accepted")).text == ""
    await refused(client, "proposals", 422, without_guard="absent")


async def test_a_review_changes_what_was_proposed_and_nothing_else(client: httpx.AsyncClient) -> None:
    line = await asked(client, "proposals", line="a => b")
    guard = {"id": "x", "pattern": "street", "replacement": "road"}
    ruled = await asked(client, "proposals", guard=guard)
    await refused(client, f"proposals/{line['id']}", 422, status="accepted", guard=guard)
    await refused(client, f"proposals/{ruled['id']}", 422, status="accepted", line="a => c")
    never = {**guard, "replacement": "long street"}
    await refused(client, f"proposals/{ruled['id']}", 422, status="accepted", guard=never)
    told = (await client.get("/v1/proposals")).json()["proposals"]
    assert [each["status"] for each in told] == ["open", "open"]


async def test_the_question_of_a_proposal_is_masked_as_the_profile_says(settings: Settings, tmp_path: Path) -> None:
    profile = tmp_path / "masked.toml"
    profile.write_text('name = "masked"\nsteps = ["rules", "lexicon"]\n[masking]\nkinds = ["email"]\n')
    table = replace(settings.tables[1], profile=str(profile))
    async with opened(make_app(replace(settings, tables=(table,)))) as client:
        made = await asked(client, "proposals", line="a => b", question="write to joe@example.com about a bus")
    assert made["question"] == "write to [email] about a bus"
    assert "joe@" not in Path(settings.proposals).read_text()


async def test_a_proposal_that_cannot_be_used_is_not_kept(client: httpx.AsyncClient, settings: Settings) -> None:
    guard = {"id": "x", "pattern": "street", "replacement": "long street"}
    for body in ({}, {"line": "alone"}, {"guard": guard}, {"line": "a => b", "guard": guard}):
        await refused(client, "proposals", 422, **body)
    assert not Path(settings.proposals).exists()


async def test_a_torn_line_of_the_journal_costs_nothing_else(client: httpx.AsyncClient, settings: Settings) -> None:
    first = await asked(client, "proposals", line="a => b")
    with Path(settings.proposals).open("a") as file:
        file.write('{"id": "torn", "li')
    second = await asked(client, "proposals", line="c => d")
    told = (await client.get("/v1/proposals")).json()["proposals"]
    assert [each["id"] for each in told] == [second["id"], first["id"]]


async def test_what_was_learned_is_reviewed_in_its_file(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "learned.txt"
    file.write_text(LEARNED)
    async with opened(make_app(replace(settings, learned=str(file)))) as client:
        told = (await client.get("/v1/learned")).json()["learned"]
        assert [(each["left"], each["status"]) for each in told] == [("phone", "pending"), ("goes first", "learned")]
        assert told[0]["evidence"] == ["learned: 14 questions; device 10 of 14 (0.7 without it)"]
        assert told[0]["examples"] == ['"phone at a red light" -> "handheld device"']
        changed = await asked(
            client, "learned", left="phone", status="accepted", lines=["phone => phone, telephone|0.7"]
        )
        assert (changed["status"], changed["lines"]) == ("accepted", ["phone => phone, telephone|0.7"])
        await asked(client, "learned", left="goes first", status="rejected")
        await refused(client, "learned", 404, left="absent", status="accepted")
        await refused(client, "learned", 422, left="phone", status="accepted", lines=["alone"])
    review = read_review(file)
    assert [block.left for block in review.of(Status.ACCEPTED)] == ["phone"]
    assert [block.left for block in review.of(Status.REJECTED)] == ["goes first"]
    assert [block.left for block in review.of(Status.OWN)] == ["mine"]
    assert Lexicon.read(file).apply("phone").text == "phone, telephone"


async def test_the_report_is_shown_under_a_policy_without_scripts(settings: Settings, tmp_path: Path) -> None:
    report = tmp_path / "effect.html"
    report.write_text("<!doctype html><title>Does rewriting pay?</title>")
    async with opened(make_app(replace(settings, report=str(report)))) as client:
        shown = await client.get("/report")
        assert "Does rewriting pay?" in shown.text
        assert "script-src" not in shown.headers["content-security-policy"]
        assert "default-src 'none'" in shown.headers["content-security-policy"]
    async with opened(make_app(settings)) as client:
        assert (await client.get("/report")).status_code == 404


async def test_every_kept_row_is_json_of_one_line(client: httpx.AsyncClient, settings: Settings) -> None:
    await asked(client, "proposals", line="a => b", reason="two\nlines")
    (line,) = Path(settings.proposals).read_text().splitlines()
    assert json.loads(line)["reason"] == "two\nlines"

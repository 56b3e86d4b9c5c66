"""A request may change the profile for itself, and for nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from small_service import FAST, asked, refused

from dragoman.errors import LexiconError, ProfileError
from dragoman.profile import load_profile
from dragoman.rewriters.lexicon import Lexicon
from dragoman.search import ByLength
from dragoman.serve.changes import Changes, Replies, Told, entry_of, rule_of
from dragoman.testing import ScriptedModel
from dragoman.testing.models import PROMPT


def of(record: dict[str, Any], origin: str) -> list[str]:
    return [search["text"] for search in record["searches"] if search["origin"] == origin]


async def test_a_lexicon_line_acts_on_this_question_alone(client: httpx.AsyncClient) -> None:
    question = "can i use my zorble while driving"
    plain = await asked(client, "explain", question=question)
    edited = await asked(client, "explain", question=question, edits={"lexicon": ["zorble => handheld telephone"]})
    again = await asked(client, "explain", question=question)
    assert "handheld telephone" not in plain["query"]
    assert "handheld telephone" in edited["query"]
    assert again["query"] == plain["query"]
    hit = next(rule for step in edited["steps"] for rule in step["rules"] if rule["found"] == "zorble")
    assert hit["source"] == "proposed:1"
    assert edited["hits"][0]["doc_id"] == "s4"


async def test_a_line_stands_before_the_profiles_own_and_one_can_be_left_out(client: httpx.AsyncClient) -> None:
    question = "texting on the road"
    own = await asked(client, "explain", question=question, steps=["lexicon"])
    assert "electronic message" in own["query"]
    instead = await asked(
        client, "explain", question=question, steps=["lexicon"], edits={"lexicon": ["texting => school bus"]}
    )
    assert instead["query"].startswith("school bus")
    without = await asked(client, "explain", question=question, steps=["lexicon"], edits={"without": ["texting"]})
    assert without["query"].startswith("texting")


async def test_a_guard_takes_the_place_of_the_one_with_its_id(client: httpx.AsyncClient) -> None:
    guard = {"id": "districts", "pattern": r"\bresidence district\b", "replacement": "school bus"}
    edited = await asked(client, "explain", question=FAST, edits={"guards": [guard]})
    assert of(edited, "rephrase") == ["maximum speed limit school bus"]
    plain = await asked(client, "explain", question=FAST)
    assert of(plain, "rephrase") == ["maximum speed limit residence district"]


@pytest.mark.parametrize(
    "edits",
    [
        {"lexicon": ["alone"]},
        {"lexicon": ["a => b", "b => a"]},
        {"guards": [{"id": "x", "pattern": "(", "replacement": ""}]},
        {"guards": [{"id": "x", "pattern": "(a+)+b", "replacement": ""}]},
        {"guards": [{"id": "x", "pattern": "street", "replacement": "long street"}]},
        {"guards": [{"id": "x", "pattern": "e", "replacement": "e" * 500}]},
    ],
)
async def test_an_edit_that_cannot_be_used_says_why(client: httpx.AsyncClient, edits: dict[str, Any]) -> None:
    assert (await refused(client, "explain", 422, question=FAST, edits=edits))["detail"]


async def test_weights_move_what_each_search_counts(client: httpx.AsyncClient) -> None:
    weights = {"asked": 0.0, "origins": {"rephrase": 2.0}, "retrievers": {"words": 0.5}}
    changed = await asked(client, "explain", question=FAST, weights=weights)
    plain = await asked(client, "explain", question=FAST)
    assert of(plain, "question")
    assert not of(changed, "question")
    by_origin = {search["origin"]: search["weight"] for search in changed["searches"]}
    assert by_origin["rephrase"] == 2.0
    assert changed["raw"] == plain["raw"]


def test_a_step_the_profile_has_not_is_an_error_that_names_its_steps() -> None:
    with pytest.raises(ProfileError, match="no step 'fly' in this profile; its steps are rules"):
        Changes(steps=("fly",)).apply(load_profile("default"), None)


def test_leaving_an_equivalent_out_keeps_the_others() -> None:
    lexicon = Lexicon.parse("tire, tyre, wheel rubber")
    changed = Changes(without=("tyre",)).apply(load_profile("default"), lexicon).lexicon()
    assert changed is not None
    assert changed.apply("tyre").text == "tyre"
    assert changed.apply("tire").text == "tire, wheel rubber"


def test_a_proposed_line_is_one_entry() -> None:
    assert str(entry_of("phone => telephone|0.5")) == "phone => telephone|0.5"
    for wrong in ("# only a comment", "a, b\nc, d", "a =>"):
        with pytest.raises(LexiconError):
            entry_of(wrong)
    with pytest.raises(ProfileError, match="cannot be used"):
        rule_of("x", "(", "", "")


async def test_under_changes_the_model_is_not_asked_again() -> None:
    said = [{"about_the_corpus": True, "searches": [text]} for text in ("one", "two")]
    model = ScriptedModel(*said)
    replies = Replies()
    first = await Told(model, replies, read=False)(PROMPT)
    again = await Told(model, replies, read=True)(PROMPT)
    fresh = await Told(model, replies, read=False)(PROMPT)
    assert (first.value, again.value) == (first.value, first.value)
    assert fresh.value["searches"] == ["two"]
    assert model.calls == 2


async def test_playing_writes_nothing(client: httpx.AsyncClient, tmp_path: Path) -> None:
    await asked(client, "explain", question=FAST, edits={"lexicon": ["street => road"]})
    assert not list(tmp_path.iterdir())


def test_a_factor_on_an_engines_way_changes_the_weight_that_it_has() -> None:
    profile = load_profile("default")
    weights = Changes(retrievers=(("pg.meaning", 2.0), ("headings_meaning", 0.5))).apply(profile, None).weights
    assert weights.of_retriever("pg.meaning") == ByLength(0.6, 0.6, 3.0)
    assert weights.of_retriever("meaning") == ByLength()
    assert weights.of_retriever("headings_meaning") == ByLength(0.075, 0.075, 0.375, written=True, textual=0.5)

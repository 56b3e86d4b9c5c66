from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import CollectionError, LLMRefused, LLMUnavailable, LLMUnreadable
from dragoman.llm.open import open_llm, open_writer
from dragoman.llm.replay import Recorder, Replay
from dragoman.protocols import Prompt
from dragoman.testing import ScriptedModel, check_llm
from dragoman.types import Usage

SCHEMA = {
    "type": "object",
    "properties": {
        "about_the_corpus": {"type": "boolean"},
        "searches": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["about_the_corpus", "searches"],
    "additionalProperties": False,
}
PROMPT = Prompt("rephrase", "rules", "how fast may i go, Größe \ud800?", SCHEMA)
VALUE = {"about_the_corpus": True, "searches": ["maximum speed limit"]}


async def recorded(file: Path, *prompts: Prompt, name: str = "scripted") -> None:
    recorder = Recorder(ScriptedModel(VALUE, name=name, usage=Usage(5, 3)), file)
    for prompt in prompts:
        await recorder(prompt)


async def test_what_was_recorded_comes_back_for_the_same_prompt(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "replies.jsonl"
    await recorded(file, PROMPT)
    llm = open_llm(f"replay:{file}")
    reply = await llm(PROMPT)
    assert (reply.value, reply.usage, reply.model, llm.name) == (VALUE, Usage(5, 3), "scripted", "scripted")


@pytest.mark.parametrize(
    "change", [{"name": "other"}, {"rules": "other"}, {"input": "other"}, {"schema": {"type": "object"}}]
)
async def test_another_prompt_was_not_recorded_and_the_error_does_not_quote_it(tmp_path: Path, change: Any) -> None:
    file = tmp_path / "r.jsonl"
    await recorded(file, PROMPT)
    with pytest.raises(LLMUnavailable, match="no recorded reply") as caught:
        await Replay(file)(replace(PROMPT, **change))
    assert "fast" not in str(caught.value)


async def test_a_record_can_be_read_by_a_person(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    await recorded(file, PROMPT)
    text = file.read_text("utf-8")
    assert "how fast may i go, Größe" in text
    record = json.loads(text)
    assert (record["model"], record["prompt"], record["value"]) == ("scripted", "rephrase", VALUE)


async def test_a_failure_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with pytest.raises(LLMRefused):
        await Recorder(ScriptedModel(LLMRefused("no")), file)(PROMPT)
    assert not file.exists()


async def test_models_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    await recorded(file, PROMPT, name="a:1")
    await recorded(file, PROMPT, name="b:2")
    with pytest.raises(CollectionError, match="holds replies of a:1, b:2; name one"):
        open_llm(f"replay:{file}")
    assert (await open_llm(f"replay:{file}#b:2")(PROMPT)).model == "b:2"


async def test_the_last_record_of_a_prompt_counts(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    await recorded(file, PROMPT)
    other = {**VALUE, "searches": ["later"]}
    await Recorder(ScriptedModel(other), file)(PROMPT)
    assert (await Replay(file)(PROMPT)).value == other


async def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    await recorded(file, PROMPT, replace(PROMPT, input="second"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-30])
    assert (await Replay(file)(PROMPT)).value == VALUE
    await recorded(file, replace(PROMPT, input="third"))  # begins on a line of its own
    with pytest.raises(CollectionError, match=r"r.jsonl:2: not JSON"):
        Replay(file)


def _record(number: tuple[str, int]) -> None:
    import asyncio

    file, which = number
    prompts = [replace(PROMPT, input=f"{which}-{i} {'x' * 3000}") for i in range(25)]
    asyncio.run(recorded(Path(file), *prompts))


def test_processes_record_side_by_side(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(_record, [(str(file), which) for which in range(3)]))
    assert len(Replay(file)) == 75


def loose(tmp_path: Path, *records: dict[str, Any]) -> Path:
    file = tmp_path / "loose.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


@pytest.mark.parametrize(
    "given",
    [
        "How fast may I go?",
        "  how FAST may i  go? ",
        "Question: how fast may i go?",
        "History:\nuser: hello\n\nQuestion: how fast may i go?",
        "<history>\nuser: hi\n</history>\n<question>\nhow fast may i go?\n</question>",
    ],
)
async def test_a_loose_record_belongs_to_its_question_whatever_the_prompt(tmp_path: Path, given: str) -> None:
    file = loose(tmp_path, {"question": "how fast may i go?", "searches": ["maximum speed limit"]})
    reply = await open_llm(f"replay:{file}")(replace(PROMPT, input=given))
    assert reply.value == VALUE


async def test_a_loose_record_without_searches_shuts_the_gate(tmp_path: Path) -> None:
    file = loose(tmp_path, {"question": "capital of France", "searches": []})
    reply = await Replay(file)(replace(PROMPT, input="capital of France"))
    assert reply.value == {"about_the_corpus": False, "searches": []}


async def test_a_loose_record_may_name_its_question_by_id(tmp_path: Path) -> None:
    file = loose(tmp_path, {"_id": "q7", "searches": ["maximum speed limit"]})
    replay = Replay(file, questions={"q7": "how fast?"})
    assert (await replay(replace(PROMPT, input="how fast?"))).value == VALUE
    with pytest.raises(LLMUnavailable, match="no recorded reply"):
        await replay(replace(PROMPT, input="q7"))


async def test_a_loose_record_of_searches_is_none_for_a_prompt_that_asks_for_something_else(tmp_path: Path) -> None:
    file = loose(tmp_path, {"question": "q", "searches": ["a"]})
    schema = {"type": "object", "properties": {"rewritten": {"type": "string"}}, "required": ["rewritten"]}
    with pytest.raises(LLMUnavailable, match="no recorded reply for this question and the prompt 'rewrite'"):
        await Replay(file)(Prompt("rewrite", "rules", "q", schema))


async def test_a_loose_record_for_another_shape_is_unreadable(tmp_path: Path) -> None:
    file = loose(tmp_path, {"question": "q", "searches": "maximum"})
    with pytest.raises(LLMUnreadable, match="searches: expected array, found string"):
        await Replay(file)(replace(PROMPT, input="q"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("not json\n{}\n", "1: not JSON"),
        ('{"question": "a"}\n[1]\n', "2: not an object"),
        ('{"searches": []}\n', "1: a record needs one of question"),
        ('{"key": "x", "value": 1}\n{"question": "a"}\n', "2: a record without `key`"),
        ("[" * 100_000 + "\n\n", "1: not JSON"),
    ],
)
def test_a_damaged_recording_names_its_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text(text)
    with pytest.raises(CollectionError, match=says):
        Replay(file)


async def test_a_written_answer_is_recorded_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    recorder = Recorder(ScriptedModel("The limit is 25 [a]."), file)
    assert len([piece async for piece in recorder.stream("rules", "input", 500)]) == 5
    writer = open_writer(f"replay:{file}")
    assert [piece async for piece in writer.stream("rules", "input", 500)] == ["The limit is 25 [a]."]
    with pytest.raises(LLMUnavailable, match="no recorded reply"):
        [piece async for piece in writer.stream("rules", "another", 500)]


async def test_a_loose_recording_writes_no_answers(tmp_path: Path) -> None:
    writer = open_writer(f"replay:{loose(tmp_path, {'question': 'q', 'searches': []})}")
    with pytest.raises(LLMUnavailable, match="no recorded reply"):
        [piece async for piece in writer.stream("rules", "q", 500)]


def test_a_recording_keeps_the_contract_of_a_model(tmp_path: Path) -> None:
    file = loose(tmp_path, {"question": PROMPT.input, "searches": ["maximum speed limit"]})
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    check_llm(Replay(file), prompt=PROMPT, broken=lambda: Replay(empty))

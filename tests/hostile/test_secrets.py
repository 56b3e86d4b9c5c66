"""Keys stay where they belong, whatever goes wrong; and people's data stays out of sight where the profile says so."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from pathlib import Path

import pytest
from asking_hostile import retrievers

from dragoman.dragoman import Dragoman
from dragoman.errors import LLMError, LLMUnavailable
from dragoman.llm.open import close, innermost, open_llm, warm
from dragoman.protocols import Prompt
from dragoman.record import result_data, tree
from dragoman.rewriters.masking import Masking
from dragoman.rewriters.prompted import Options, Prompted
from dragoman.telemetry import Event
from dragoman.testing import Fault, ScriptedModel, ScriptedServer, Status

SECRET = "sk-proj-Zx81vKq0-hush"
PROMPT = Prompt("rephrase", "rules", "input", {"type": "object"})
ECHO = {"error": {"type": "invalid", "message": f"Incorrect API key provided: {SECRET}", "code": SECRET}}
WIRES = ("openai", "anthropic")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY_HERE", SECRET)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("turn", [Status(401, body=ECHO), Status(200, body=ECHO), Fault.HTML, Fault.CLOSE_AT_ONCE])
async def test_no_key_reaches_a_log_an_error_a_record_or_an_event(
    wire: str, turn: Status | Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[Event] = []
    with ScriptedServer(turn) as server:
        llm = open_llm(f"{wire}:m@{getattr(server, wire)}#SECRET_KEY_HERE", seconds=5)
        await warm(llm)
        dragoman = Dragoman(retrievers("", []), [Prompted("rephrase", llm)], listeners=[heard.append])
        result = await dragoman.asearch("how fast past a school")
        assert SECRET in str(server.requests[0].headers)  # it was sent where it belongs
        await close(llm)
    (step,) = result.rewriting.steps
    told = [
        caplog.text,
        repr(result),
        json.dumps(result_data(result)),
        tree(result),
        repr(llm),
        repr(innermost(llm)),
        step.reason,
    ]
    told += [f"{event.name} {dict(event.attributes)!r}" for event in heard]
    assert not [text for text in told if SECRET in text]


@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_of_ours_prints_no_key_with_its_message(wire: str) -> None:
    with ScriptedServer(Status(401, body=ECHO)) as server:
        llm = open_llm(f"{wire}:m@{getattr(server, wire)}#SECRET_KEY_HERE", seconds=5)
        with pytest.raises(LLMUnavailable) as caught:
            await llm(PROMPT)
        await close(llm)
    told = traceback.format_exception_only(caught.value)
    assert SECRET not in "".join(told) + repr(caught.value) + str(caught.value.args)


@pytest.mark.parametrize("wire", WIRES)
def test_a_key_that_is_not_there_is_named_by_its_variable(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY_HERE")
    with pytest.raises(LLMUnavailable, match="set SECRET_KEY_HERE, or SECRET_KEY_HERE_FILE"):
        open_llm(f"{wire}:m@http://127.0.0.1:9#SECRET_KEY_HERE")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_key_comes_from_the_file_that_is_named_and_a_bad_file_is_not_quoted(
    wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY_HERE")
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n")
    monkeypatch.setenv("SECRET_KEY_HERE_FILE", str(file))
    with ScriptedServer({"a": 1}) as server:
        llm = open_llm(f"{wire}:m@{getattr(server, wire)}#SECRET_KEY_HERE", seconds=5)
        await llm(PROMPT)
        await close(llm)
    assert SECRET in str(server.requests[0].headers)
    file.write_bytes(SECRET.encode() + b"\xff")
    with pytest.raises(LLMUnavailable) as caught:
        open_llm(f"{wire}:m@http://127.0.0.1:9#SECRET_KEY_HERE")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_key_with_a_stray_character_is_not_quoted(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY_HERE", f"{SECRET}\nX-Injected: 1")
    with ScriptedServer({"a": 1}) as server:
        llm = open_llm(f"{wire}:m@{getattr(server, wire)}#SECRET_KEY_HERE", seconds=5)
        with pytest.raises(LLMError) as caught:
            await llm(PROMPT)
        await close(llm)
    assert SECRET not in str(caught.value)
    assert not server.requests


@pytest.mark.parametrize("wire", WIRES)
def test_a_model_cannot_be_pickled_with_its_key(wire: str) -> None:
    llm = open_llm(f"{wire}:m@http://127.0.0.1:9#SECRET_KEY_HERE")
    try:
        packed = pickle.dumps(llm)
    except Exception as error:  # a closure, or an SDK's client: pickle raises several kinds
        packed = str(error).encode()
    assert SECRET.encode() not in packed


async def test_what_is_masked_reaches_neither_the_model_nor_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = ScriptedModel({"about_corpus": True, "searches": ["school zone speed limit"]})
    step = Prompted("rephrase", model, options=Options(masking=Masking()))
    question = "my mail is jo.doe@example.org, card 4111 1111 1111 1111, how fast past a school"
    result = await Dragoman(retrievers("", []), [step]).asearch(question)
    told = model.prompts[0].input + model.prompts[0].rules + caplog.text
    assert "jo.doe" not in told
    assert "4111" not in told
    assert result.question.text == question  # what the asker sees is as it was asked

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dragoman.llm
from dragoman.errors import CollectionError, LLMUnavailable, MissingExtraError
from dragoman.llm import clients
from dragoman.llm.breaker import Breaker
from dragoman.llm.open import innermost, open_llm, open_writer
from dragoman.protocols import LLM, Prompt, Reply, Writer
from dragoman.testing import ScriptedModel

KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYS.values():
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(f"{variable}_FILE", raising=False)


@pytest.mark.parametrize(("wire", "variable"), KEYS.items())
def test_a_missing_key_is_named_when_the_model_is_opened(wire: str, variable: str) -> None:
    with pytest.raises(LLMUnavailable, match=f"needs a key: set {variable}, or {variable}_FILE"):
        open_llm(f"{wire}:some-model")


@pytest.mark.parametrize(("wire", "variable"), KEYS.items())
def test_a_key_comes_from_the_environment_or_a_named_file(
    wire: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "sk-hush")
    assert "hush" not in repr(open_llm(f"{wire}:some-model"))
    monkeypatch.delenv(variable)
    file = tmp_path / "key"
    monkeypatch.setenv(f"{variable}_FILE", str(file))
    with pytest.raises(LLMUnavailable, match=f"{variable}_FILE names cannot be read"):
        open_llm(f"{wire}:some-model")
    file.write_text(" \n")
    with pytest.raises(LLMUnavailable, match=f"{variable}_FILE names is empty"):
        open_llm(f"{wire}:some-model")
    file.write_text("sk-hush\n")
    assert clients.key(variable, "x") == "sk-hush"
    assert open_llm(f"{wire}:some-model").name == f"{wire}:some-model"


@pytest.mark.parametrize("wire", KEYS)
def test_a_url_needs_no_key_unless_its_variable_is_named(wire: str) -> None:
    assert open_llm(f"{wire}:llama3:8b@http://localhost:11434/v1").name == f"{wire}:llama3:8b@http://localhost:11434/v1"
    with pytest.raises(LLMUnavailable, match="set HOUSE_KEY"):
        open_llm(f"{wire}:llama@https://models.example/v1#HOUSE_KEY")


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "gpt-5",
        "openai:",
        "openai",
        "mistral:large",
        "openai:m@ftp://x",
        "openai:m@http://user:secret@host/v1",
        "openai:m@http://host/v1#sk-secret",
        "replay:",
        "openai:a b",
    ],
)
def test_a_name_of_nothing_says_what_names_there_are(spec: str) -> None:
    with pytest.raises(ValueError, match="expected anthropic:MODEL") as caught:
        open_llm(spec)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("wire", KEYS)
def test_a_missing_sdk_says_which_extra_brings_it(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'dragoman\[{wire}\]'"):
        open_llm(f"{wire}:some-model")


def test_opening_imports_no_sdk() -> None:
    code = (
        "import sys, dragoman.llm\n"
        "from dragoman.llm import open_llm\n"
        "open_llm('openai:m@http://localhost:1/v1'); open_llm('anthropic:m@http://localhost:1')\n"
        "assert not {'openai', 'anthropic', 'httpx2', 'httpx', 'pydantic'} & set(sys.modules), 'an SDK was imported'\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_of_ones_own_is_leashed_as_it_is() -> None:
    model = ScriptedModel({})
    llm = open_llm(model, seconds=1.5)
    assert isinstance(llm, Breaker)
    assert repr(llm.llm) == "<scripted within 1.5 s>"
    assert innermost(llm) is model
    assert open_llm(model, side_job=False) is model
    assert open_writer(model) is model


class OnlyValues:
    name = "values"

    async def __call__(self, prompt: Prompt) -> Reply:
        return Reply({})


def test_a_model_that_writes_nothing_is_no_writer() -> None:
    with pytest.raises(TypeError, match="has a method `stream`"):
        open_writer(OnlyValues())


class SyncClient:
    messages = None


class AsyncClient:
    chat = None


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (object(), "a object is no model"),
        (SyncClient(), "AsyncSyncClient"),
        (AsyncClient(), "needs to know which model"),
        (42, "a int is no model"),
    ],
)
def test_an_object_that_is_no_model_is_turned_down(source: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        open_llm(source)


def test_a_named_callable_with_two_parameters_is_not_taken_for_a_model() -> None:
    class Named:
        name = "mine"

        def __call__(self, rules: str, given: str) -> str:
            return "{}"

    assert open_llm(Named(), side_job=False).name == "callable:Named"


def test_a_recording_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="cannot be read"):
        open_llm(f"replay:{tmp_path / 'none.jsonl'}")


def test_the_face_lists_what_it_gives() -> None:
    for name in dragoman.llm.__all__:
        assert getattr(dragoman.llm, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dragoman.llm.nothing  # noqa: B018 - the access is what is tested
    assert isinstance(ScriptedModel(), LLM)
    assert isinstance(ScriptedModel(), Writer)

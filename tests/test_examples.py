"""Every example runs and finds the passage that answers."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NEEDS = {
    "plain_function": "dragoman",
    "langchain_retriever": "langchain_core",
    "langchain_multi_query": "langchain_core",
    "llamaindex_engine": "llama_index.core",
    "haystack_pipeline": "haystack",
    "dspy_program": "dspy",
}


def test_every_example_is_known_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*NEEDS, "road_law"}


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_an_example_runs_and_finds_the_passage(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(os.environ, "HAYSTACK_TELEMETRY_ENABLED", "False")
    pytest.importorskip(NEEDS[name])
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert "s1" in capsys.readouterr().out

"""The pages on profiles and rewriters say what the code holds, and their examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.profile_check import check_profile
from dragoman.profile_keys import KEYS
from dragoman.profile_steps import STEPS, steps_reference
from dragoman.rewriters.promptfile import KEYS as PROMPT_KEYS
from dragoman.rewriters.promptfile import load_prompt
from dragoman.tomlfile import reference

DOCS = Path(__file__).parents[1] / "docs"
PROFILE, WRITING = DOCS / "profile.md", DOCS / "writing-a-rewriter.md"


def between(path: Path, name: str) -> str:
    return path.read_text("utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        (PROFILE, "keys", reference(KEYS)),
        (PROFILE, "steps", steps_reference()),
        (WRITING, "prompt keys", reference(PROMPT_KEYS)),
    ],
)
def test_the_reference_is_what_the_code_holds(path: Path, name: str, expected: str) -> None:
    assert between(path, name) == expected, f"put this between the marks in {path.name}:\n\n{expected}"


def test_every_step_and_shipped_profile_is_named() -> None:
    text = PROFILE.read_text("utf-8")
    assert all(f"`{name}`" in text for name in (*STEPS, "default", "road-law"))


def test_the_pages_profile_passes_its_own_check(tmp_path: Path) -> None:
    (example,) = blocks(PROFILE, "toml")
    path = tmp_path / "formulary.toml"
    path.write_text(example, "utf-8")
    report = check_profile(path)
    assert report.ok, str(report)
    assert len(report.checks) == 3
    assert report.notes == ()


def test_the_pages_prompt_can_be_loaded(tmp_path: Path) -> None:
    (example,) = blocks(WRITING, "toml")
    path = tmp_path / "headings.toml"
    path.write_text(example, "utf-8")
    prompt = load_prompt(path)
    assert (prompt.name, prompt.gate, len(prompt.examples)) == ("headings", "has_heading", 1)


@pytest.mark.parametrize("code", blocks(WRITING, "python"), ids=["prompted", "function", "object"])
def test_the_pages_python_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "docs", "exec"), {"__name__": "docs"})
    printed = capsys.readouterr().out.split()
    assert printed == re.findall(r"^print\(.*# (.*)$", code, re.MULTILINE)

"""The docs name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman import errors
from dragoman.cli import main
from dragoman.profile import Profile, profile_names
from dragoman.profile_steps import STEPS
from dragoman.types import Outcome

DOCS = Path(__file__).parent.parent / "docs"
README = DOCS.parent / "README.md"
ALL = "\n".join(page.read_text("utf-8") for page in [README, *sorted(DOCS.rglob("*.md"))])


def test_every_error_is_in_the_page_of_errors() -> None:
    page = (DOCS / "errors.md").read_text("utf-8")
    names = [name for name, value in vars(errors).items() if isinstance(value, type) and not name.startswith("_")]
    assert [name for name in names if name != "Path" and f"| `{name}` |" not in page] == []


def test_every_outcome_is_in_the_glossary() -> None:
    page = (DOCS / "glossary.md").read_text("utf-8")
    assert [outcome for outcome in Outcome if f"| `{outcome}` |" not in page] == []


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_command_is_named_in_the_docs(command: str) -> None:
    assert f"dragoman {command}" in ALL


@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_step_is_named_in_the_docs(step: str) -> None:
    assert f"`{step}`" in ALL


def test_every_shipped_profile_is_named_in_the_readme() -> None:
    text = README.read_text("utf-8")
    assert [name for name in profile_names() if f"`{name}`" not in text] == []


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [README, *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_the_tutorials_profile_is_one_that_can_be_read(tmp_path: Path) -> None:
    page = (DOCS / "tutorial.md").read_text("utf-8")
    profile = re.search(r"```toml\n(name = .*?)```", page, re.DOTALL)
    lexicon = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert profile
    assert lexicon
    (tmp_path / "handbook.toml").write_text(profile[1], "utf-8")
    (tmp_path / "words.txt").write_text(lexicon[1], "utf-8")
    read = Profile.read(tmp_path / "handbook.toml")
    hall = read.build()
    assert hall.rewrite("Hey, my charger is dead").query == "my charger is not powering on, power adapter"

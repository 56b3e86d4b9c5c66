"""The parts of a profile, made from a file's values; what is wrong is raised with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.rewriters.guard_rules import BadRule, Rule, unsettled
from dragoman.rewriters.language import ANY, LanguagePolicy
from dragoman.tomlfile import TomlFile, Where

_LANGUAGE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True)
class StepUse:
    """One rewriter of a profile: its name in `profile_steps.STEPS` or a prompt, its options, its line."""

    use: str
    options: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """An example of a profile: a question and what is to become of it; None where it does not say.

    Attributes:
        reply: what a model replies; None: prompted steps are left out.
        show: the reply is shown to the model as an example.
    """

    question: str
    line: int | None = None
    history: tuple[tuple[str, str], ...] | None = None
    reply: Mapping[str, Any] | None = None
    show: bool = False
    query: str | None = None
    searches: tuple[str, ...] | None = None
    off_topic: bool | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileLimits:
    """Limits of what a model is given and gives; see `profile_keys`."""

    searches: int = 2
    words: int = 8
    characters: int = 80
    max_tokens: int = 1024
    question: int = 4000
    history: int = 4000
    figures: Literal["asked", "any"] = "asked"


def language_of(file: TomlFile, values: Mapping[str, Any]) -> LanguagePolicy:
    """The language policy."""
    for key in ("question", "corpus"):
        if values[key] != ANY and not _LANGUAGE.fullmatch(values[key]):
            raise file.fail(f"{values[key]!r} is no language code; expected one as 'en', or 'any'", ("language", key))
    return LanguagePolicy(**values)


def rules_of(file: TomlFile, rows: Sequence[Mapping[str, Any]]) -> list[Rule]:
    """The guard rules, each usable and all of them settling."""
    rules: list[Rule] = []
    for i, row in enumerate(rows):
        try:
            examples = tuple((before, after) for before, after in row["examples"])
            rule = Rule(row["id"], row["pattern"], row["replacement"], row["reason"], examples)
        except BadRule as exc:
            raise file.fail(str(exc), ("guards", i, exc.part)) from exc
        if any(rule.id == other.id for other in rules):
            raise file.fail(f"guard {rule.id!r} stands twice; give each an id of its own", ("guards", i, "id"))
        rules.append(rule)
    for rule, wrong in unsettled(rules):
        at: Where = ("guards", rules.index(rule), "replacement")
        raise file.fail(f"guard {rule.id!r} never settles: {wrong}", at)
    return rules


def files_of(file: TomlFile, folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """The lexicon files, each there."""
    for name in names:
        path = (folder / name).resolve()
        if not path.is_file():
            raise file.fail(f"no lexicon at {path}; paths are relative to the profile", ("lexicon",))
        yield path


def store_of(name: str | None, folder: Path) -> Path | None:
    """A file beside the profile; None where none is named."""
    return folder / Path(name).expanduser() if name else None


def model_of(name: str | None, folder: Path) -> str:
    """The model's name; a recording's file is relative to the profile."""
    if name and name.startswith("replay:"):
        return f"replay:{folder / name.removeprefix('replay:')}"
    return name or ""


def steps_of(file: TomlFile, rows: Sequence[Any], inner: bool = False) -> Iterator[StepUse | tuple[StepUse, ...]]:
    """The steps in order."""
    line = file.line(("steps",))
    for row in rows:
        if isinstance(row, str):
            yield StepUse(row, {}, line)
        elif isinstance(row, dict) and isinstance(row.get("use"), str):
            yield StepUse(row["use"], {key: value for key, value in row.items() if key != "use"}, line)
        elif isinstance(row, list) and not inner:
            yield tuple(step for step in steps_of(file, row, inner=True) if isinstance(step, StepUse))
        else:
            raise file.fail(f'{row!r} is no step; expected a name, {{use = "name"}}, or a list of these', ("steps",))


def examples_of(file: TomlFile, rows: Sequence[Mapping[str, Any]]) -> Iterator[Expected]:
    """The examples, each of which expects something or is shown."""
    for i, row in enumerate(rows):
        history = row["history"]
        if any(role not in ("user", "assistant") for role, _ in history or ()):
            raise file.fail("a turn is a pair of 'user' or 'assistant' and a text", ("examples", i, "history"))
        if row["show"] and row["reply"] is None:
            raise file.fail("an example that is shown needs a reply", ("examples", i))
        if not row["show"] and all(row[key] is None for key in ("query", "searches", "off_topic", "outcome")):
            raise file.fail(
                "an example that expects nothing; give query, searches, off_topic or outcome", ("examples", i)
            )
        yield Expected(
            row["question"],
            file.line(("examples", i)),
            None if history is None else tuple((role, text) for role, text in history),
            row["reply"],
            row["show"],
            row["query"],
            None if row["searches"] is None else tuple(row["searches"]),
            row["off_topic"],
            row["outcome"],
        )

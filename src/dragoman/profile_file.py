"""The parts of a profile, made from a file's values; what is wrong is raised with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import CollectionError, LLMError, MissingExtraError
from dragoman.rewriters.guard_rules import BadRule, Rule, unsettled
from dragoman.rewriters.language import ANY, LanguagePolicy
from dragoman.search import ByLength
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


def retrievers_of(
    file: TomlFile, found: Mapping[str, Any], where: Where = ("weights", "retrievers")
) -> dict[str, float | ByLength]:
    """The retrievers' weights, numbers or by length; `where` they stand in the file."""
    weights: dict[str, float | ByLength] = {}
    for name, value in found.items():
        weights[name] = ByLength(**value) if isinstance(value, dict) else value
        if isinstance(value, dict) and value["least"] > value["most"]:
            at: Where = (*where, name, "least")
            raise file.fail(f"{'.'.join(map(str, at))!r} is above 'most'; make it {value['most']} or less", at)
    return weights


def files_of(file: TomlFile, folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """The lexicon files, each there."""
    for name in names:
        path = (folder / name).resolve()
        if not path.is_file():
            raise file.fail(f"no lexicon at {path}; paths are relative to the profile", ("lexicon",))
        yield path


def store_of(file: TomlFile, section: str, values: Mapping[str, Any]) -> Path | None:
    """A file beside the profile; None where none is named."""
    if not values["path"]:
        return None
    path = file.path.parent / Path(values["path"]).expanduser()
    if path.is_dir():
        raise file.fail(f"'{section}.path' is a folder, {path}; name a file", (section, "path"))
    return path


def model_of(file: TomlFile, values: Mapping[str, Any], use: str) -> str:
    """The model's name, seen to name one; a recording's file is relative to the profile."""
    from dragoman.llm.open import open_llm

    name = values[use]
    if not name:
        return ""
    wire, _, recording = name.partition(":")
    if wire == "replay" and recording:
        name = f"replay:{file.path.parent / recording}"
    try:
        open_llm(name)
    except (LLMError, MissingExtraError):  # a key or an SDK that is not here: every question will say so
        pass
    except (CollectionError, ValueError) as exc:
        raise file.fail(f"'models.{use}': {exc}", ("models", use)) from exc
    return str(name)


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

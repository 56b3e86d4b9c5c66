"""A prompt file: rules, schema, limits and which part of the rewriting its reply sets.

A new prompted technique is a new file; nothing here or in `prompted` knows any of them by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dragoman.errors import PromptError
from dragoman.llm.schema import unknown
from dragoman.rewriters.language import LanguagePolicy
from dragoman.tomlfile import REQUIRED, Key, Section, TomlFile

Gives: TypeAlias = Literal["searches", "rewritten", "expanded", "parts", "passage"]
# What the value of a reply is, by what it sets.
LISTS = ("searches", "expanded", "parts")
TEXTS = ("rewritten", "passage")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NO_REGISTER = "Use the terms that such documents use, not everyday words for them."

KEYS: Mapping[str, Key | Section] = {
    "about": Key("text", "what it does, in a sentence", REQUIRED),
    "gives": Key("text", "which part of the rewriting the reply sets", REQUIRED, choices=LISTS + TEXTS),
    "value": Key("text", "the schema's field that holds it; the name in `gives` when left out"),
    "history": Key(
        "text",
        "`none`: given the question alone; `shown`: the turns before it too; `needed`: only follow-ups, with these",
        "none",
        ("none", "shown", "needed"),
    ),
    "weight": Key("number", "weight of its searches, or of its added terms", 1.0, least=0.01),
    "on": Key("texts", "names of the retrievers its searches are meant for; all when left out", []),
    "rules": Key("text", "the standing instructions, with placeholders", REQUIRED),
    "gate": Section(
        "the field before the value that says whether there is one",
        {
            "field": Key("text", "a field of the schema, true or false, before the value", REQUIRED),
            "when_false": Key("text", "what false means", REQUIRED, ("off_topic", "unchanged")),
        },
    ),
    "limits": Section(
        "how much, asked in the rules and held in code",
        {
            "count": Key("integer", "the most texts in a list", 2, least=1),
            "words": Key("integer", "the most words of one text; asked only", 8, least=1),
            "characters": Key("integer", "the most characters of one text", 80, least=1),
            "max_tokens": Key("integer", "the most tokens of a reply", 1024, least=16),
            "question": Key("integer", "the most characters of a question that a model is given", 4000, least=1),
            "turns": Key("integer", "the most turns of the history that a model is given, the latest", 6, least=0),
            "history": Key("integer", "the most characters of the turns that a model is given", 4000, least=0),
        },
    ),
    "schema": Section("the JSON schema of the reply"),
    "examples": Section(
        "replies as they should be, shown to the model",
        {
            "input": Key("text", "a question", REQUIRED),
            "history": Key("pairs", "turns before it, as pairs of role and text", []),
            "reply": Key("table", "the reply", REQUIRED),
        },
        many=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much: texts in a reply, words and characters in a text, tokens in a reply, characters of input."""

    count: int = 2
    words: int = 8
    characters: int = 80
    max_tokens: int = 1024
    question: int = 4000
    turns: int = 6
    history: int = 4000


@dataclass(frozen=True, slots=True)
class Setting:
    """Who asks, of what, in which words and languages: what a profile puts into a prompt's placeholders."""

    asker: str = "a person"
    corpus: str = "a collection of documents"
    register: tuple[str, ...] = ()
    language: LanguagePolicy = field(default_factory=LanguagePolicy)

    def slots(self, limits: Limits) -> dict[str, str]:
        """Placeholder -> text."""
        return {
            "asker": self.asker,
            "corpus": self.corpus,
            "register": "\n".join(f"- {rule}" for rule in self.register or (_NO_REGISTER,)),
            "language": self.language.request(),
            "count": str(limits.count),
            "words": str(limits.words),
            "characters": str(limits.characters),
        }


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the turns before it and the reply as it should be."""

    input: str
    reply: Mapping[str, Any]
    history: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PromptFile:
    """What one prompt file says; see `KEYS` for each part."""

    name: str
    about: str
    gives: Gives
    value: str
    gate: str
    when_false: Literal["off_topic", "unchanged"]
    rules: str
    schema: Mapping[str, Any]
    limits: Limits = Limits()
    weight: float = 1.0
    on: tuple[str, ...] = ()
    history: Literal["none", "shown", "needed"] = "none"
    examples: tuple[Example, ...] = ()

    def limited(self, **limits: int) -> PromptFile:
        """The same with other limits."""
        return replace(self, limits=replace(self.limits, **limits))

    def rules_for(self, setting: Setting, rules: str | None = None, examples: Sequence[Example] = ()) -> str:
        """The rules with every placeholder filled, what is data, and the examples.

        Args:
            rules: these instead of the file's.
            examples: shown after the file's own.
        """
        filled = fill(self.rules if rules is None else rules, setting.slots(self.limits)).strip()
        fields = ", ".join(json.dumps(name) for name in self.schema["properties"])
        parts = [filled, fill(_shared(), {"fields": fields}).strip()]
        shown = [_shown(example) for example in (*self.examples, *examples)]
        if shown:
            parts.append("Examples of the form, not of the subject:\n\n" + "\n\n".join(shown))
        return "\n\n".join(parts)

    def schema_for(self, setting: Setting) -> Mapping[str, Any]:
        """The schema with every placeholder in its descriptions filled."""
        return _filled(self.schema, setting.slots(self.limits))  # type: ignore[no-any-return]


def fill(text: str, slots: Mapping[str, str]) -> str:
    """Put the slots' texts where their names stand in braces; other braces stay."""
    return _PLACEHOLDER.sub(lambda m: slots.get(m[1], m[0]), text)


def _filled(value: Any, slots: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return fill(value, slots)
    if isinstance(value, dict):
        return {key: _filled(item, slots) for key, item in value.items()}
    return [_filled(item, slots) for item in value] if isinstance(value, list) else value


@cache
def _shared() -> str:
    return (resources.files("dragoman") / "prompts" / "_data.txt").read_text("utf-8")


def _shown(example: Example) -> str:
    return f"{given(example.input, example.history)}\n{json.dumps(dict(example.reply), ensure_ascii=False)}"


_FENCE = re.compile(r"<(?=\s*/?\s*(?:question|history|user|assistant)\b)", re.IGNORECASE)


def given(question: str, history: Sequence[tuple[str, str]] = ()) -> str:
    """A model's input: the question and the turns before it, fenced off, with no way out of the fence."""
    turns = [f"<{role}>{_fenced(text)}</{role}>" for role, text in history]
    before = ["<history>", *turns, "</history>"] if turns else []
    return "\n".join([*before, f"<question>{_fenced(question)}</question>"])


def _fenced(text: str) -> str:
    return _FENCE.sub("&lt;", text)


def prompt_names() -> list[str]:
    """The names of the prompts that are shipped."""
    folder = resources.files("dragoman") / "prompts"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_prompt(name: str | Path) -> PromptFile:
    """A shipped prompt by its name, or any prompt file by its path.

    Raises:
        PromptError: no such prompt, or the file cannot be used, with its line.
    """
    if isinstance(name, str) and name in prompt_names():
        return _shipped(name)
    path = Path(name)
    if path.suffix != ".toml":
        shipped = ", ".join(prompt_names())
        raise PromptError(f"no prompt {str(name)!r}; shipped: {shipped}; or give the path of a .toml file")
    return read_prompt(path)


@cache
def _shipped(name: str) -> PromptFile:
    with resources.as_file(resources.files("dragoman") / "prompts" / f"{name}.toml") as path:
        return read_prompt(path)


def read_prompt(path: Path) -> PromptFile:
    """Read one prompt file and see that its parts fit together."""
    file = TomlFile(path, PromptError)
    values = file.read(KEYS)
    gate, schema = values["gate"], values["schema"]
    value = values["value"] or values["gives"]
    _check_schema(file, schema, gate["field"], value, values["gives"])
    limits = Limits(**values["limits"])
    unknown = set(_PLACEHOLDER.findall(values["rules"])) - set(Setting().slots(limits))
    if unknown:
        known = ", ".join("{" + name + "}" for name in Setting().slots(limits))
        raise file.fail(f"unknown placeholder {{{min(unknown)}}} in the rules; known: {known}", ("rules",))
    examples = []
    for i, row in enumerate(values["examples"]):
        if set(row["reply"]) != set(schema["properties"]):
            fields = ", ".join(schema["properties"])
            raise file.fail(f"this reply has not the schema's fields, {fields}", ("examples", i, "reply"))
        turns = tuple((role, text) for role, text in row["history"])
        examples.append(Example(row["input"], row["reply"], turns))
    return PromptFile(
        path.stem,
        values["about"],
        values["gives"],
        value,
        gate["field"],
        gate["when_false"],
        values["rules"],
        schema,
        limits,
        float(values["weight"]),
        tuple(values["on"]),
        values["history"],
        tuple(examples),
    )


def _check_schema(file: TomlFile, schema: Mapping[str, Any], gate: str, value: str, gives: str) -> None:
    """The gate, a boolean, stands before the value, a list of texts or a text, and both are required."""
    strange = unknown(schema)
    if strange:
        raise file.fail(f"the schema has what would not be held: {strange[0]}; take it out", ("schema",))
    fields = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(fields, dict):
        raise file.fail("the schema is of an object with properties; write type and properties", ("schema",))
    for name, kind in ((gate, "boolean"), (value, "array" if gives in LISTS else "string")):
        found = fields.get(name)
        if not isinstance(found, dict) or found.get("type") != kind:
            raise file.fail(f"the schema's {name!r} is of type {kind!r}; add it", ("schema", "properties", name))
        if name not in schema.get("required", ()):
            raise file.fail(f"the schema's {name!r} is required; add it to required", ("schema", "required"))
    order = list(fields)
    if order.index(gate) > order.index(value):
        raise file.fail(f"{gate!r} comes before {value!r}: a model decides first", ("schema", "properties", gate))

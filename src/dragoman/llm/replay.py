"""Record once, replay for ever: tests, demos and comparisons without a key.

A recording is a JSONL file. A strict record belongs to one model, prompt, rules, input and schema:

    {"key": "9f…", "model": "anthropic:…", "prompt": "rephrase", "question": "…", "value": {…}}

A loose one belongs to a question, whatever the prompt; everything in it but the question is its value:

    {"question": "whats the fastest i can go", "searches": ["maximum speed limit"]}
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dragoman.errors import CollectionError, LLMUnavailable, LLMUnreadable
from dragoman.jsonlines import append_line
from dragoman.llm.reading import clean
from dragoman.llm.schema import misfit
from dragoman.protocols import LLM, Prompt, Reply, Schema, Writer
from dragoman.text import fold
from dragoman.types import Usage

QUESTION = ("question", "input", "_id")  # where a loose record names its question, the first there is
_TAGGED = re.compile(r"<question>(.*)</question>", re.DOTALL)
_LABEL = re.compile(r"^[\w ]{1,30}:\s*")
_ANSWER: Schema = {"type": "string"}


def key_of(model: str, prompt: Prompt) -> str:
    """SHA-256 of the model, the prompt's name, rules and input, and the schema."""
    parts = [model, prompt.name, prompt.rules, prompt.input, prompt.schema]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Recorder:
    """The same model, with every value it gives added to a file. Failures are not recorded.

    A record is written in one piece behind the last one, so that several processes may record into
    one file. It holds the question: keep the file as you would keep the questions. `LLM`, and
    `Writer` where the model is one.
    """

    def __init__(self, llm: LLM, file: str | Path) -> None:
        self.llm = llm
        self.file = Path(file)

    def __repr__(self) -> str:
        return f"<{self.name}, recorded in {self.file}>"

    @property
    def name(self) -> str:
        """The model's."""
        return self.llm.name

    async def __call__(self, prompt: Prompt) -> Reply:
        """The model's value.

        Raises:
            LLMError: what the model raised.
        """
        reply = await self.llm(prompt)
        self._add(prompt, reply.value, reply.usage)
        return reply

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:
        """The model's text; the whole of it is recorded behind the last piece.

        Raises:
            LLMError: what the model raised.
        """
        if not isinstance(self.llm, Writer):
            raise LLMUnavailable(f"{self.name} gives values and writes no text")
        pieces: list[str] = []
        async for piece in self.llm.stream(rules, input, max_tokens):
            pieces.append(piece)
            yield piece
        self._add(_answer(rules, input, max_tokens), "".join(pieces), Usage())

    def _add(self, prompt: Prompt, value: Any, usage: Usage) -> None:
        record = {
            "key": key_of(self.name, prompt),
            "model": self.name,
            "prompt": prompt.name,
            "question": prompt.asked or prompt.input,
            "value": value,
            "tokens_in": usage.tokens_in,
            "tokens_out": usage.tokens_out,
        }
        append_line(self.file, record)


class Replay:
    """A recording as a model: what was recorded for this prompt, at once, and nothing else.

    Args:
        file: JSONL, as the module's head shows.
        model: whose records; needed only where a strict recording holds several models'.
        loose: the records belong to questions, whatever the prompt, model and schema. A property
            that the schema requires and the record lacks is filled: a truth value says whether the
            record has anything in its lists (the gate before the searches). None: as the first
            record looks.
        questions: the text of the questions that loose records name by an `_id`.

    Raises:
        CollectionError: the file cannot be read, or holds several models and none was named.
    """

    def __init__(
        self,
        file: str | Path,
        model: str = "",
        *,
        loose: bool | None = None,
        questions: Mapping[str, str] | None = None,
    ) -> None:
        self.file = Path(file)
        records = list(_records(self.file))
        self.loose = bool(records) and "key" not in records[0][1] if loose is None else loose
        self._values: dict[str, tuple[Any, Usage]] = {}
        self.model = self.name = model or f"replay:{self.file.name}"
        if self.loose:
            for line, record in records:
                self._values[_plain(_question(self.file, line, record, questions or {}))] = _loose(record), Usage()
        else:
            self._strict(records, model)

    def __repr__(self) -> str:
        return f"<{self.name}, {len(self)} replies of {self.file}>"

    def __len__(self) -> int:
        return len(self._values)

    def _strict(self, records: list[tuple[int, dict[str, Any]]], model: str) -> None:
        models = sorted({str(record.get("model")) for _, record in records})
        if not model and len(models) > 1:
            raise CollectionError(f"holds replies of {', '.join(models)}; name one, as in replay:FILE#MODEL", self.file)
        self.model = model or (models[0] if models else "")
        self.name = self.model or self.name
        for line, record in records:
            if not isinstance(record.get("key"), str) or "value" not in record:
                raise CollectionError("a record without `key` or `value`; is it a loose one?", self.file, line)
            usage = Usage(int(record.get("tokens_in", 0)), int(record.get("tokens_out", 0)))
            self._values[record["key"]] = record["value"], usage

    async def __call__(self, prompt: Prompt) -> Reply:
        """The recorded value.

        Raises:
            LLMUnavailable: none was recorded for this prompt.
            LLMUnreadable: what was recorded does not fit the schema.
        """
        value, usage = self._loosely(prompt) if self.loose else self._found(key_of(self.model, prompt), prompt)
        wrong = misfit(value, prompt.schema)
        if wrong:
            raise LLMUnreadable(f"{self.name}: the recorded reply has another shape than asked for: {wrong}")
        return Reply(clean(value), usage, self.name)

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:
        """The recorded text, in one piece.

        Raises:
            LLMUnavailable: none was recorded for these rules and this input.
        """
        prompt = _answer(rules, input, max_tokens)
        if self.loose:
            raise self._absent(prompt)
        yield str(self._found(key_of(self.model, prompt), prompt)[0])

    def _found(self, key: str, prompt: Prompt) -> tuple[Any, Usage]:
        if key not in self._values:
            raise self._absent(prompt)
        return self._values[key]

    def _absent(self, prompt: Prompt) -> LLMUnavailable:
        return LLMUnavailable(f"{self.name}: no recorded reply for this question and the prompt {prompt.name!r}")

    def _loosely(self, prompt: Prompt) -> tuple[Any, Usage]:
        found = next((self._values[text] for text in _questions_in(prompt) if text in self._values), None)
        if found is None:
            raise self._absent(prompt)
        value = _fitted(found[0], prompt.schema)
        if any(name not in value for name in prompt.schema.get("required", ())):  # recorded for another prompt
            raise self._absent(prompt)
        return value, found[1]


def _records(file: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise CollectionError(f"the recording cannot be read ({type(error).__name__})", file) from error
    lines = raw.split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):  # its writer was killed half way; the replies before it stand
                continue
            raise CollectionError("not JSON; a recording has one object on each line", file, number) from error
        if not isinstance(record, dict):
            raise CollectionError("not an object; a recording has one object on each line", file, number)
        records.append((number, record))
    return records


def _question(file: Path, line: int, record: dict[str, Any], questions: Mapping[str, str]) -> str:
    name = next((record[field] for field in QUESTION if isinstance(record.get(field), str)), None)
    if name is None:
        raise CollectionError(f"a record needs one of {', '.join(QUESTION)}", file, line)
    return questions.get(name, name)


def _loose(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in QUESTION}


def _plain(text: str) -> str:
    return " ".join(fold(text).split())


def _questions_in(prompt: Prompt) -> list[str]:
    """Where a prompt may hold the question: as asked, the whole input, its tagged part, its lines from the last."""
    text = prompt.input
    tagged = _TAGGED.findall(text)
    lines = [_LABEL.sub("", line.strip()) for line in reversed(text.splitlines())]
    return [_plain(part) for part in (prompt.asked, text, *tagged, *lines)]


def _fitted(value: Any, schema: Schema) -> Any:
    """A loose record's value with what this schema asks for besides, and without what it does not know."""
    properties = schema.get("properties", {})
    fitted = {name: part for name, part in value.items() if name in properties}
    anything = any(part for part in fitted.values() if isinstance(part, list))
    for name in schema.get("required", ()):
        if name not in fitted and properties.get(name, {}).get("type") == "boolean":
            fitted[name] = anything
    return fitted


def _answer(rules: str, given: str, max_tokens: int) -> Prompt:
    return Prompt("answer", rules, given, _ANSWER, max_tokens)

"""Reply text -> the value that was asked for, or LLMUnreadable; nothing in between.

A model that was asked for JSON may still think aloud first, fence it, introduce it or add a
closing line. All that is looked past. What is not looked past: a reply that ends early, says two
different things, or has another shape. Linear in the reply, whatever the reply.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from dragoman.errors import LLMUnreadable
from dragoman.llm.schema import DEEPEST, misfit
from dragoman.protocols import Schema
from dragoman.text import sanitize

LARGEST = 64 * 1024  # characters; 1,024 tokens come to a tenth of it
KEPT = 2_000  # characters of an unreadable reply that the error keeps
MOST_OBJECTS = 64  # looked at in one reply

# A string with its escapes, closed or running to the end of the text, or a bracket. Possessive, and
# it always matches where a string begins, so that no character is scanned twice.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_THINKING = re.compile(r"<(/?)(?:think|thinking|reasoning)>", re.IGNORECASE)


class _NotJSON(ValueError):
    """Why a text is not JSON as it is wanted here."""


def read(text: str, schema: Schema, largest: int = LARGEST) -> Any:
    """The one value in `text` that fits `schema`.

    Found in this order: the whole text; what stands behind a closed block of thought; the one JSON
    object between other words or in a fence. Control characters and lone surrogates in its strings
    are replaced as `dragoman.text.sanitize` does.

    Args:
        text: the reply as it came.
        schema: see `dragoman.llm.schema`.
        largest: characters; a longer reply is not looked at.

    Raises:
        LLMUnreadable: there is no such value, or more than one. The message does not quote the reply.
    """
    if not isinstance(text, str):
        raise unreadable(f"the reply is {type(text).__name__}, not text")
    if len(text) > largest:
        raise unreadable(f"the reply has {len(text):,} characters, more than {largest:,}", text)
    if not text.strip():
        raise unreadable("the reply is empty", text)
    try:
        value = parse(text)
    except _NotJSON as error:
        return _amid(text, schema, str(error))
    wrong = misfit(value, schema)
    if wrong:
        raise unreadable(f"the reply has another shape than asked for: {wrong}", text)
    return clean(value)


def unreadable(message: str, text: str = "") -> LLMUnreadable:
    """The error, with the beginning of the reply kept for a person to look at."""
    return LLMUnreadable(message, text[:KEPT])


def _amid(text: str, schema: Schema, reason: str) -> Any:
    """The value that stands amid other words; `reason` says why the whole text is not it."""
    wrong = ""
    found: list[Any] = []
    for number, piece in enumerate(_pieces(text)):
        if number == MOST_OBJECTS:
            raise unreadable(f"the reply holds more than {MOST_OBJECTS} JSON objects; expected one", text)
        if piece is None:
            raise unreadable("the reply ends inside a JSON object", text)
        try:
            value = parse(piece)
        except _NotJSON as error:
            wrong = wrong or str(error)
            continue
        misfits = misfit(value, schema)
        if misfits:
            wrong = misfits
        elif value not in found:
            found.append(value)
    if len(found) == 1:
        return clean(found[0])
    if found:
        raise unreadable(f"the reply holds {len(found)} different values; expected one", text)
    if wrong:
        raise unreadable(f"the reply has another shape than asked for: {wrong}", text)
    raise unreadable(f"the reply is not JSON: {reason}", text)


def _pieces(text: str) -> Iterator[str | None]:
    try:
        yield from objects(_after_thinking(text))
    except _NotJSON as error:
        raise unreadable(f"the reply is not JSON: {error}", text) from error


def _after_thinking(text: str) -> str:
    """What stands behind the last closed block of thought.

    A block whose beginning stood in the prompt shows only its end.
    """
    open_at = closed_at = -1
    for mark in _THINKING.finditer(text):
        if mark[1]:
            closed_at = mark.end()
        else:
            open_at = mark.start()
    if open_at >= max(closed_at, 0) and "{" not in text[max(closed_at, 0) : open_at]:
        raise unreadable("the reply ends inside a block of thought", text)
    return text[max(closed_at, 0) :]


def objects(text: str) -> Iterator[str | None]:
    """The outermost `{…}` of `text` in order; None for one that never closes, after which there are no more.

    Raises:
        ValueError: one is nested too deep to be read.
    """
    at = text.find("{")
    while at >= 0:
        depth = 0
        for token in _TOKEN.finditer(text, at):
            depth += _STEP.get(token[0], 0)
            if depth > DEEPEST:
                raise _NotJSON(f"nested deeper than {DEEPEST} levels")
            if depth == 0 and token[0] in "}]":
                yield text[at : token.end()]
                at = text.find("{", token.end())
                break
        else:
            yield None
            return


_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}


def parse(text: str) -> Any:
    """JSON as RFC 8259 has it, without what it leaves to luck: no key twice, no NaN, no depth.

    Raises:
        ValueError: it is not such JSON.
    """
    text = text.strip().removeprefix("\ufeff")
    if text[:1] not in _BEGINNINGS:
        raise _NotJSON("it does not begin as JSON does")
    _check_depth(text)
    try:
        return _DECODER.decode(text)
    except _NotJSON:
        raise
    except ValueError as error:  # JSONDecodeError quotes nothing but its place; an integer too long to read
        reason = f"{error.msg} at character {error.pos:,}" if isinstance(error, json.JSONDecodeError) else "a number"
        raise _NotJSON(reason) from error


_BEGINNINGS = frozenset('{["-0123456789tfn')


def _check_depth(text: str) -> None:
    if text.count("{") + text.count("[") <= DEEPEST:
        return
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += _STEP.get(token[0], 0)
        if depth > DEEPEST:
            raise _NotJSON(f"nested deeper than {DEEPEST} levels")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _NotJSON("a key stands twice in one object")
    return value


def _no_constant(name: str) -> NoReturn:
    raise _NotJSON(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _NotJSON("a number too large")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)


def clean(value: Any) -> Any:
    """The value with every string in it sanitized."""
    if isinstance(value, str):
        return sanitize(value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {sanitize(key) if isinstance(key, str) else key: clean(item) for key, item in value.items()}
    return value

"""The part of JSON Schema that prompts use: checking a value, and what is sent to a provider.

Known: type, properties, required, additionalProperties, items, enum, const, anyOf, minItems,
maxItems, minLength, maxLength, minimum, maximum; title, description, default and examples say
nothing about a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from dragoman.protocols import Schema

TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
    "null": lambda value: value is None,
}
SHAPE = frozenset({"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"})
LIMITS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"})
SAID = frozenset({"title", "description", "default", "examples", "$schema", "$id", "$comment"})
DEEPEST = 32  # levels of a value that are looked at; a value from a callable may contain itself


def misfit(value: Any, schema: Schema, path: str = "") -> str:
    """Why `value` does not fit `schema`, as "searches[3]: expected string, found null"; empty when it fits.

    The value itself is never quoted: it may hold the question.
    """
    return next(_misfits(value, schema, path, 0), "")


def _misfits(value: Any, schema: Schema, path: str, depth: int) -> Iterator[str]:
    place = f"{path}: " if path else ""
    if depth > DEEPEST:
        yield f"{place}nested deeper than {DEEPEST} levels"
        return
    expected = schema.get("type")
    kinds = (expected,) if isinstance(expected, str) else tuple(expected or ())
    if kinds and not any(TYPES[kind](value) for kind in kinds):
        yield f"{place}expected {' or '.join(kinds)}, found {kind_of(value)}"
        return
    yield from _choice(value, schema, path, depth)
    if isinstance(value, str):
        yield from _size(len(value), schema, "Length", "characters", place)
    elif isinstance(value, list):
        yield from _size(len(value), schema, "Items", "items", place)
        if "items" in schema:
            for number, item in enumerate(value):
                yield from _misfits(item, schema["items"], f"{path}[{number}]", depth + 1)
    elif isinstance(value, dict):
        yield from _object(value, schema, path, depth)


def _choice(value: Any, schema: Schema, path: str, depth: int) -> Iterator[str]:
    place = f"{path}: " if path else ""
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        yield f"{place}expected one of {', '.join(map(repr, schema['enum']))}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{place}expected {schema['const']!r}"
    if "anyOf" in schema and all(any(_misfits(value, part, path, depth + 1)) for part in schema["anyOf"]):
        yield f"{place}fits none of the {len(schema['anyOf'])} shapes allowed"
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if TYPES["number"](value) and not least <= value <= most:
        yield f"{place}a number outside {least} to {most}"


def _object(value: dict[Any, Any], schema: Schema, path: str, depth: int) -> Iterator[str]:
    place = f"{path}: " if path else ""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        yield f"{place}{', '.join(map(repr, missing))} missing"
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        inner = f"{path}.{name}" if path else str(name)
        if name in properties:
            yield from _misfits(item, properties[name], inner, depth + 1)
        elif others is False:
            yield f"{place}a property that nobody asked for; expected only {', '.join(map(repr, properties))}"
        elif isinstance(others, Mapping):
            yield from _misfits(item, others, f"{place}a further property", depth + 1)


def _size(size: int, schema: Schema, what: str, unit: str, place: str) -> Iterator[str]:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", size)
    if not least <= size <= most:
        limit = f"at most {most:,}" if size > most else f"at least {least:,}"
        yield f"{place}{size:,} {unit}, expected {limit}"


def _same(value: Any, other: Any) -> bool:
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def kind_of(value: Any) -> str:
    """JSON's name for the kind of a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return "a number that is not finite"
    return next((kind for kind, fits in TYPES.items() if fits(value)), type(value).__name__)


def unknown(schema: Schema, path: str = "") -> list[str]:
    """What in `schema` is not understood here, each with its place: a limit that would not be held."""
    found = [f"{path or 'schema'}: {key}" for key in schema if key not in SHAPE | LIMITS | SAID]
    expected = schema.get("type")
    found += [
        f"{path or 'schema'}: type {kind!r}"
        for kind in ([expected] if isinstance(expected, str) else expected or ())
        if kind not in TYPES
    ]
    for name, part in schema.get("properties", {}).items():
        found += unknown(part, f"{path}.{name}" if path else name)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            found += unknown(schema[key], f"{path}.{key}" if path else key)
    for part in schema.get("anyOf", ()):
        found += unknown(part, f"{path}.anyOf" if path else "anyOf")
    return found


def for_provider(schema: Schema) -> dict[str, Any]:
    """The schema as every provider's constrained decoding takes it: shape and descriptions, no limits.

    Providers reject different limits (maxItems here, maxLength there); limits are held by `misfit`
    when the reply is read. Objects are closed and all their properties required, as strict modes ask.
    """
    sent = {key: _sent(key, part) for key, part in schema.items() if key in SHAPE or key == "description"}
    if "properties" in sent:
        sent["required"] = list(sent["properties"])
        sent["additionalProperties"] = False
    return sent


def _sent(key: str, part: Any) -> Any:
    if key == "properties":
        return {name: for_provider(inner) for name, inner in part.items()}
    if key in ("items", "additionalProperties") and isinstance(part, Mapping):
        return for_provider(part)
    if key == "anyOf":
        return [for_provider(inner) for inner in part]
    return list(part) if isinstance(part, Sequence) and not isinstance(part, str) else part

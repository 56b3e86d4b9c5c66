from __future__ import annotations

from typing import Any

import pytest

from dragoman.llm.schema import for_provider, misfit, unknown


@pytest.mark.parametrize(
    ("value", "schema", "says"),
    [
        (True, {"type": "integer"}, "expected integer, found boolean"),
        (1, {"type": "number"}, ""),
        (1.5, {"type": "integer"}, "expected integer, found number"),
        (float("nan"), {"type": "number"}, "not finite"),
        (None, {"type": ["string", "null"]}, ""),
        (3, {"type": ["string", "null"]}, "expected string or null, found integer"),
        ("b", {"enum": ["a", "b"]}, ""),
        ("c", {"enum": ["a", "b"]}, "one of 'a', 'b'"),
        (1, {"enum": [True]}, "one of True"),
        (2, {"const": 1}, "expected 1"),
        ([], {"type": "array", "minItems": 1}, "0 items, expected at least 1"),
        ("abc", {"type": "string", "maxLength": 2}, "3 characters, expected at most 2"),
        (11, {"type": "integer", "minimum": 0, "maximum": 10}, "outside 0 to 10"),
        ({"a": 1}, {"type": "object", "additionalProperties": {"type": "string"}}, "expected string, found integer"),
        ({"x": [{"y": None}]}, {"properties": {"x": {"items": {"properties": {"y": {"type": "string"}}}}}}, r"x[0].y"),
        ("a", {"anyOf": [{"type": "string"}, {"type": "null"}]}, ""),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, "none of the 2 shapes"),
        ((1,), {"type": "array"}, "found tuple"),
        (object(), {"type": "object"}, "found object"),
    ],
)
def test_a_misfit_is_named_with_its_place(value: Any, schema: dict[str, Any], says: str) -> None:
    found = misfit(value, schema)
    assert says in found
    assert bool(found) == bool(says)


def test_a_value_that_contains_itself_is_a_misfit_and_no_endless_walk() -> None:
    value: dict[str, Any] = {}
    value["again"] = value
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"again": schema}
    assert "nested deeper" in misfit(value, schema)


def test_what_would_not_be_held_is_listed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "text", "pattern": "x"}}, "anyOf": [{"if": {}}]}
    assert unknown(schema) == ["a: pattern", "a: type 'text'", "anyOf: if"]


def test_a_provider_gets_closed_objects_and_no_limits() -> None:
    schema = {
        "type": "object",
        "title": "Searches",
        "properties": {"s": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 80}}},
    }
    assert for_provider(schema) == {
        "type": "object",
        "properties": {"s": {"type": "array", "items": {"type": "string"}}},
        "required": ["s"],
        "additionalProperties": False,
    }

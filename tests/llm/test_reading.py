from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LLMUnreadable
from dragoman.llm.reading import LARGEST, objects, read

SCHEMA = {
    "type": "object",
    "properties": {
        "about_the_corpus": {"type": "boolean"},
        "searches": {"type": "array", "items": {"type": "string"}, "maxItems": 100},
    },
    "required": ["about_the_corpus", "searches"],
    "additionalProperties": False,
}
GOOD = '{"about_the_corpus": true, "searches": ["maximum speed limit", "speeding fine {or} \\"penalty\\""]}'
VALUE = json.loads(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\ufeff {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```",
        f"<think>The person asks {{about}} speed.</think>\n{GOOD}",
        f'<think>Perhaps {{"searches": ["x"]}}?</think>{GOOD}',
        f"the end of a thought whose beginning stood in the prompt</think>{GOOD}",
        f"<think></think>\n\n```json\n{GOOD}\n```",
        f"Sure! Here are the searches:\n\n{GOOD}\n\nLet me know if {{you}} need more.",
        f"{GOOD}\n{GOOD}",
        f'Between 5" and 6" it is {GOOD}',
        json.dumps(VALUE, indent=4),
    ],
)
def test_json_is_found_amid_what_models_put_around_it(text: str) -> None:
    assert read(text, SCHEMA) == VALUE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I can't help with that.", "not JSON"),
        ("1. maximum speed limit\n2. speeding fine", "not JSON"),
        ("The rephrased question is: maximum speed limit", "not JSON"),
        ("{}", "'about_the_corpus', 'searches' missing"),
        ("null", "expected object, found null"),
        ('["a", "b"]', "expected object, found array"),
        ('"maximum speed limit"', "expected object, found string"),
        ('{"about_the_corpus": true, "searches": null}', "searches: expected array, found null"),
        ('{"about_the_corpus": true, "searches": "maximum"}', "searches: expected array, found string"),
        ('{"about_the_corpus": true, "searches": [1]}', r"searches\[0\]: expected string, found integer"),
        ('{"about_the_corpus": true, "searches": [["a"]]}', r"searches\[0\]: expected string, found array"),
        ('{"about_the_corpus": "yes", "searches": []}', "expected boolean, found string"),
        ('{"about_the_corpus": 1, "searches": []}', "expected boolean, found integer"),
        ('{"about_the_corpus": true, "searches": [], "why": "x"}', "nobody asked for"),
        (f'{{"reply": {GOOD}}}', "missing"),
        (json.dumps(GOOD), "expected object, found string"),
        (GOOD[:-1], "ends inside a JSON object"),
        (GOOD[:40], "ends inside a JSON object"),
        (f"```json\n{GOOD[:-5]}", "ends inside a JSON object"),
        ('{"about_the_corpus": true, "searches": ["a"], "searches": ["b"]}', "a key stands twice"),
        (f"x {GOOD} {GOOD.replace('maximum', 'minimum')}", "2 different values"),
        ('{"about_the_corpus": true, "searches": [NaN]}', "NaN is not JSON"),
        ('{"about_the_corpus": true, "searches": [1e999]}', "a number too large"),
        ('{"about_the_corpus": true, "searches": [' + "1" * 5000 + "]}", "a number"),
        ('{"about_the_corpus": true, "searches": ["a\nb"]}', "Invalid control character"),
        ("{'about_the_corpus': True, 'searches': []}", "Expecting property name"),
        (f"<think>hm {GOOD}", "inside a block of thought"),
        (f"Okay. <think>hm {GOOD}", "inside a block of thought"),
        (f"<think>a</think><think>{GOOD}", "inside a block of thought"),
        ('{"about_the_corpus": true, "searches": ' + "[" * 40 + "]" * 40 + "}", "nested deeper"),
        ("[" * 10_000, "nested deeper"),
        ("{" * 10_000, "ends inside|nested deeper"),
        ("{} " * 100, "more than 64 JSON objects"),
        ('{"about_the_corpus": true, "searches": ' + json.dumps(["a"] * 101) + "}", "101 items, expected at most 100"),
        (" " * LARGEST + GOOD, "more than 65,536"),
    ],
)
def test_what_is_not_the_one_value_is_unreadable_and_says_why(text: str, says: str) -> None:
    with pytest.raises(LLMUnreadable, match=says) as caught:
        read(text, SCHEMA)
    assert text.startswith(caught.value.text)


def test_the_message_does_not_quote_the_reply_and_text_keeps_its_beginning() -> None:
    with pytest.raises(LLMUnreadable) as caught:
        read('{"my secret question": "another secret"} ' * 60, SCHEMA)
    assert "secret" not in str(caught.value)
    assert caught.value.text.startswith('{"my secret')
    assert len(caught.value.text) == 2_000


def test_bytes_are_not_text() -> None:
    with pytest.raises(LLMUnreadable, match="bytes, not text"):
        read(b"{}", SCHEMA)  # type: ignore[arg-type]


def test_strings_come_back_without_what_no_engine_can_carry() -> None:
    text = '{"about_the_corpus": true, "searches": ["a\\u0000b", "\\ud800"]}'
    assert read(text, SCHEMA)["searches"] == ["a b", "\ufffd"]


HOSTILE = {
    "open braces": "{",
    "open brackets": "[",
    "objects": "{}",
    "escapes": '{"\\"',
    "quotes": '"',
    "open strings": '{"a',
    "backslashes": '{"\\',
    "thoughts": "<think>",
    "closing thoughts": "</think>{",
    "keys": '{"a":',
    "fences": "```json\n{",
    "closers": "{]",
    "digits": "1",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_reply_is_read_in_time_linear_in_its_length(unit: str) -> None:
    times = []
    for size in (250_000, 1_000_000):
        text = (unit * (size // len(unit) + 1))[:size]
        began = time.process_time()
        with pytest.raises(LLMUnreadable):
            read(text, SCHEMA, largest=2_000_000)
        times.append(time.process_time() - began)
    assert times[1] < max(12 * times[0], 0.5), f"{times[0]:.3f} s for a quarter of what took {times[1]:.3f} s"


@given(st.text(max_size=200) | st.text(alphabet='{}[]",:\\ antrue1</hik>`', max_size=60))
def test_nothing_but_unreadable_is_ever_raised(text: str) -> None:
    try:
        value = read(text, SCHEMA)
    except LLMUnreadable:
        return
    assert set(value) == {"about_the_corpus", "searches"}


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5), st.booleans())
def test_the_scanner_cuts_out_exactly_one_object_whatever_its_strings_hold(value: dict[str, Any], ascii_: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_)
    assert list(objects(f"see: {text} end")) == [text]


@given(st.lists(st.text(max_size=30), max_size=8))
def test_searches_written_with_any_characters_come_back(searches: list[str]) -> None:
    text = json.dumps({"about_the_corpus": bool(searches), "searches": searches})
    read_back = read(f"Of course:\n```json\n{text}\n```", SCHEMA)
    assert len(read_back["searches"]) == len(searches)
    assert all(a == b for a, b in zip(read_back["searches"], searches, strict=True) if b.isprintable())

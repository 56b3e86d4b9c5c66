"""JSON lines are read with their numbers and appended whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.errors import CollectionError
from dragoman.jsonlines import append_line, json_lines


def test_what_is_appended_is_read_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "made" / "rows.jsonl"
    append_line(file, {"a": "ä"})
    append_line(file, {"b": [1]}, certain=True)
    assert list(json_lines(file)) == [(1, {"a": "ä"}), (2, {"b": [1]})]


def test_a_byte_order_mark_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('\ufeff{"a": 1}\n\n \n{"b": 2}', "utf-8")
    assert list(json_lines(file)) == [(1, {"a": 1}), (4, {"b": 2})]


def test_what_is_appended_to_a_torn_line_begins_on_its_own(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"torn', "utf-8")
    append_line(file, {"a": 1})
    assert file.read_text("utf-8") == '{"torn\n{"a": 1}\n'


def test_only_what_must_be_certain_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fsync", waited.append)
    append_line(tmp_path / "rows.jsonl", {})
    assert not waited
    append_line(tmp_path / "rows.jsonl", {}, certain=True)
    assert len(waited) == 1


@pytest.mark.parametrize(
    ("content", "told", "line"),
    [
        (b'{"a": 1}\n{"b"', "no JSON here", 2),
        (b"[1]", "found list; expected an object", 1),
        (b"[" * 100_000, "no JSON here", 1),
        (b'{"a": 1}\n\xff\n', "expected a UTF-8 text file", None),
    ],
)
def test_a_wrong_line_is_told_with_its_number(tmp_path: Path, content: bytes, told: str, line: int | None) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    with pytest.raises(CollectionError, match=told) as caught:
        list(json_lines(file))
    assert line is None or caught.value.line == line

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.jsonl import plain, read_jsonl


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_beir_line_is_a_document(tmp_path: Path) -> None:
    row = {"_id": "46.2-870", "title": "Speed", "text": "Slow.", "metadata": {"state": "Virginia"}}
    (document,) = read_jsonl(written(tmp_path, json.dumps(row)))
    assert (document.doc_id, document.title, document.text) == ("46.2-870", "Speed", "Slow.")
    assert (document.metadata, document.line, document.origin) == ({"state": "Virginia"}, 1, "")


def test_id_stands_for_underscore_id_and_may_be_a_whole_number(tmp_path: Path) -> None:
    documents = read_jsonl(written(tmp_path, '{"id": 7, "text": "a"}\n{"_id": "b", "id": "c", "text": "b"}\n'))
    assert [d.doc_id for d in documents] == ["7", "b"]


def test_further_keys_are_metadata_and_values_are_text(tmp_path: Path) -> None:
    row = {"id": "a", "text": "t", "year": 2024, "state": "here", "metadata": {"state": "there", "x": None, "ok": True}}
    (document,) = read_jsonl(written(tmp_path, json.dumps(row)))
    assert document.metadata == {"year": "2024", "state": "there", "ok": "true"}


def test_nested_metadata_is_kept_as_json() -> None:
    assert plain(["é", 1, {"a": None}]) == '["é", 1, {"a": null}]'


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + b'{"_id": "a", "text": "x"}\n\n   \n{"_id": "b", "title": null, "text": "y"}'
    assert [(d.doc_id, d.line) for d in read_jsonl(written(tmp_path, content))] == [("a", 1), ("b", 4)]


def test_lone_surrogates_and_control_characters_are_replaced(tmp_path: Path) -> None:
    (document,) = read_jsonl(written(tmp_path, r'{"_id": "a\ud800", "title": "b\u0000c", "text": "\udc00"}'))
    assert (document.doc_id, document.title, document.text) == ("a\ufffd", "b c", "\ufffd")


def test_a_gzipped_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"_id": "a", "text": "x"}\n'))
    assert [d.doc_id for d in read_jsonl(path)] == ["a"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"_id": "a"}', "no text, expected text"),
        ('{"_id": "a", "text": 3}', "text is a number, expected text"),
        ('{"_id": "a", "text": ["x"]}', "text is a list"),
        ('{"_id": "a", "text": "x", "title": {}}', "title is an object"),
        ('{"text": "x"}', "no _id"),
        ('{"_id": "", "text": "x"}', "_id ''"),
        ('{"_id": true, "text": "x"}', "_id True"),
        ('{"_id": 1.5, "text": "x"}', "_id 1.5"),
        ('{"_id": "a", "text": "x", "metadata": "m"}', "metadata is text, expected an object"),
        ('["a"]', "found a list, expected an object"),
        ('"a"', "found text, expected an object"),
        ("null", "found null, expected an object"),
        ('{"_id": "a", "text": "x", "metadata": {"n": ' + "9" * 5000 + "}}", "a whole number of too many digits"),
        (b'{"_id": "\xff"}', "not UTF-8 at byte 9"),
    ],
)
def test_a_broken_line_is_told_with_file_and_line(tmp_path: Path, line: str | bytes, message: str) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    path = written(tmp_path, b'{"_id": "fine", "text": "x"}\n' + raw + b"\n")
    with pytest.raises(CollectionError, match=message.replace("(", r"\(")) as caught:
        list(read_jsonl(path))
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_a_damaged_gzip_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"_id": "a", "text": "x"}\n' * 500)[:-9])
    with pytest.raises(CollectionError, match="cannot be read"):
        list(read_jsonl(path))

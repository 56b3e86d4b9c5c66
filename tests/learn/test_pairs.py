"""What is learned from is read in every form it comes in, and a wrong line says which it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import CollectionError
from dragoman.learn import Pair, judged_pairs, read_pairs


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n", "utf-8")
    return path


def test_each_form_of_line_gives_a_pair(tmp_path: Path) -> None:
    path = written(
        tmp_path / "pairs.jsonl",
        [
            {"question": "may i text", "searches": ["electronic message", " "]},
            {"question": "how fast", "passage": "The limit is 25.", "title": "Speed"},
            {"question": "how fast", "doc_id": "s1", "times": 3},
            {"_id": "q1", "searches": ["speed limit"]},
        ],
    )
    assert list(read_pairs(path, {"s1": "Speed\nThe limit"}, {"q1": "whats the limit"})) == [
        Pair("may i text", ("electronic message",)),
        Pair("how fast", ("Speed", "The limit is 25.")),
        Pair("how fast", ("Speed\nThe limit",), 3),
        Pair("whats the limit", ("speed limit",)),
    ]


def test_a_byte_order_mark_is_no_part_of_what_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.jsonl", [{"question": "how fast", "passage": "Speed"}])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert list(read_pairs(path)) == [Pair("how fast", ("Speed",))]


def test_a_reply_that_held_the_question_off_topic_teaches_nothing(tmp_path: Path) -> None:
    assert not list(read_pairs(written(tmp_path / "p.jsonl", [{"question": "hello", "searches": []}])))


def test_clicks_without_end_count_as_many_and_no_more(tmp_path: Path) -> None:
    row = {"question": "how fast", "passage": "Speed", "times": 10_000}
    assert [pair.times for pair in read_pairs(written(tmp_path / "p.jsonl", [row]))] == [20]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"searches": ["speed"]}, "no question"),
        ({"_id": "q9", "searches": ["speed"]}, "'q9' is not among the questions"),
        ({"question": "how", "doc_id": "s9"}, "'s9' is not in the corpus"),
        ({"question": "how"}, "nothing that answered"),
        ({"question": "how", "searches": [1]}, "nothing that answered"),
        ({"question": "how", "passage": "x", "times": 0}, "expected a number above 0"),
        ([1], "found list; expected an object"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(tmp_path: Path, row: Any, told: str) -> None:
    path = written(tmp_path / "p.jsonl", [{"question": "ok", "searches": ["ok"]}, row])
    with pytest.raises(CollectionError, match=told) as caught:
        list(read_pairs(path))
    assert caught.value.line == 2


def test_what_is_no_json_or_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("{", "utf-8")
    with pytest.raises(CollectionError, match="no JSON"):
        list(read_pairs(path))
    with pytest.raises(CollectionError, match="cannot be read"):
        list(read_pairs(tmp_path / "absent.jsonl"))


def test_a_collection_gives_its_best_judged_passages(tmp_path: Path) -> None:
    written(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "how fast"}, {"_id": "q2", "text": "helmet"}])
    written(
        tmp_path / "corpus.jsonl",
        [{"_id": "d1", "title": "Speed", "text": "Limits."}, {"_id": "d2", "title": "", "text": "Helmets."}],
    )
    judged = "q1\td1\t2\nq1\td2\t1\nq2\td2\t0\n"
    for mark_and_header in ("", "query-id\tcorpus-id\tscore\n", "\ufeff"):
        (tmp_path / "qrels.tsv").write_text(mark_and_header + judged, "utf-8")
        assert list(judged_pairs(tmp_path)) == [Pair("how fast", ("Speed\nLimits.",))]


def test_a_judgment_that_is_none_is_told(tmp_path: Path) -> None:
    for name in ("queries", "corpus"):
        written(tmp_path / f"{name}.jsonl", [{"_id": "x", "text": "x"}])
    (tmp_path / "qrels.tsv").write_text("q\td\ts\nx x 1\n", "utf-8")
    with pytest.raises(CollectionError, match="between tabs"):
        list(judged_pairs(tmp_path))


def test_a_pair_has_both_sides() -> None:
    for question, said, times in (("", ("x",), 1), ("x", (" ",), 1), ("x", ("y",), 0)):
        with pytest.raises(ValueError, match="pair"):
            Pair(question, said, times)

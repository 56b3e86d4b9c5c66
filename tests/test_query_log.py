"""A query log is answered once, in order, whatever fails, and goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.errors import CollectionError
from dragoman.portal import run
from dragoman.query_log import Chunk, Job, asked, plan_log, run_log, write_chunk
from dragoman.retrievers.embedded import build_index
from dragoman.testing import SAMPLE


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample's words."""
    folder = tmp_path_factory.mktemp("log")
    rows = [{"_id": p.doc_id, "title": p.title, "text": p.text, "metadata": dict(p.metadata)} for p in SAMPLE]
    (folder / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    build_index([folder / "corpus.jsonl"], folder / "index", embedder=None)
    return str(folder / "index")


def log_of(folder: Path, count: int = 10) -> Path:
    """Questions as text and as objects, a blank line and two that cannot be asked."""
    lines = [f"headlamps {n}" if n % 2 else json.dumps({"id": f"q{n}", "question": f"speed {n}"}) for n in range(count)]
    lines[3:3] = ["", "{broken", json.dumps({"question": ""})]
    queries = folder / "queries.jsonl"
    queries.write_text("\n".join(lines))
    return queries


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_line_is_answered_once_in_order_and_one_that_cannot_be_asked_is_a_row_with_its_error(
    index: str, tmp_path: Path
) -> None:
    moved: list[tuple[int, int | None]] = []
    log = plan_log(log_of(tmp_path), tmp_path / "out.jsonl", Job(index=index, depth=2), chunk=4)
    done = run(run_log(log, lambda *now: moved.append(now)))
    written = rows(tmp_path / "out.jsonl")
    assert [row["line"] for row in written] == [1, 2, 3, *range(5, 14)]
    assert (done.questions, done.failed, done.resumed) == (12, 2, 0)
    assert [row["line"] for row in written if "error" in row] == [5, 6]
    assert written[0]["id"] == "q0"
    assert [doc_id for doc_id, _ in written[1]["hits"]] == ["c/1"]
    assert moved == [(4, 12), (8, 12), (12, 12)]
    assert not log.parts.exists()


def test_a_run_that_was_cut_goes_on_and_answers_nothing_twice(index: str, tmp_path: Path) -> None:
    queries, out = log_of(tmp_path), tmp_path / "out.jsonl"
    begun = plan_log(queries, out, Job(index=index), chunk=4)

    async def one_chunk() -> None:
        async with await begun.job.open() as hall:
            await write_chunk(hall, begun, begun.chunks[1])

    run(one_chunk())
    kept = begun.part(begun.chunks[1])
    marked = kept.read_text("utf-8").replace("headlamps", "HEADLAMPS")  # would be gone, were it done again
    kept.write_text(marked, "utf-8")
    (begun.parts / "00000000.jsonl.1.tmp").write_text('{"half')
    with pytest.raises(CollectionError, match="--resume goes on"):
        plan_log(queries, out, Job(index=index), chunk=4)
    with pytest.raises(CollectionError, match="other questions or options"):
        plan_log(queries, out, Job(index=index, depth=3), resume=True, chunk=4)
    done = run(run_log(plan_log(queries, out, Job(index=index), resume=True, chunk=4)))
    assert (done.questions, done.resumed) == (12, 4)
    assert [row["line"] for row in rows(out)] == [1, 2, 3, *range(5, 14)]
    assert {row["line"] for row in rows(out) if "HEADLAMPS" in str(row)} == {7, 9}
    with pytest.raises(CollectionError, match="there already"):
        plan_log(queries, out, Job(index=index))
    with pytest.raises(CollectionError, match="finished already; give another --out"):
        plan_log(queries, out, Job(index=index), resume=True, chunk=4)
    assert not begun.parts.exists()


def test_without_an_index_questions_are_rewritten_and_full_rows_are_whole_records(index: str, tmp_path: Path) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("hello, please: headlamps at night thanks\n")
    run(run_log(plan_log(queries, tmp_path / "a", Job())))
    run(run_log(plan_log(queries, tmp_path / "b", Job(index=index, full=True))))
    assert set(rows(tmp_path / "a")[0]) == {"line", "question", "query", "searches", "steps"}
    assert rows(tmp_path / "b")[0]["hits"][0]["because"]


def test_a_log_without_a_question_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(CollectionError, match="no line"):
        plan_log(tmp_path / "empty", tmp_path / "out", Job())


def test_a_line_may_say_its_filters() -> None:
    question, named = asked('{"_id": 7, "text": "speed", "filters": {"state": "South"}}')
    assert (question.text, dict(question.filters), named) == ("speed", {"state": "South"}, {"id": "7"})


def test_the_command_says_what_was_done(index: str, tmp_path: Path) -> None:
    queries, out = log_of(tmp_path), tmp_path / "out.jsonl"
    called = CliRunner().invoke(main, ["batch", str(queries), "--out", str(out), "--index", index, "--chunk", "3"])
    assert called.exit_code == 0, called.output
    assert "12 questions, 2 failed" in called.stdout
    assert "100%: 12 questions" in called.stderr
    again = CliRunner().invoke(main, ["batch", str(queries), "--out", str(out), "--index", index])
    assert (again.exit_code, "there already" in again.stderr) == (1, True)


def test_chunks_begin_where_lines_begin_also_after_blank_ones_and_wide_letters(tmp_path: Path) -> None:
    queries = tmp_path / "q.txt"
    queries.write_bytes("é one\n\ntwo\r\n\n\nthree 🚗\nfour".encode())
    log = plan_log(queries, tmp_path / "out", Job(), chunk=2)
    assert log.chunks == (Chunk(0, 0, 1, 2), Chunk(1, 15, 6, 2))
    run(run_log(log))
    assert [(r["line"], r["question"]) for r in rows(tmp_path / "out")] == [
        (1, "é one"),
        (3, "two"),
        (6, "three 🚗"),
        (7, "four"),
    ]


@pytest.mark.parametrize("blank", ["\u3000", "\u00a0", "\u0085", "\u2028", "\ufeff", " \t\x1c"])
def test_a_line_of_any_white_space_is_blank_wherever_it_stands(tmp_path: Path, blank: str) -> None:
    queries = tmp_path / "q.txt"
    queries.write_bytes(f"one\n{blank}\ntwo\nthree\n{blank}\n{blank}".encode())
    log = plan_log(queries, tmp_path / "out", Job(), chunk=2)
    assert [(chunk.line, chunk.count) for chunk in log.chunks] == [(1, 2), (4, 1)]
    done = run(run_log(log))
    assert [(r["line"], r["question"]) for r in rows(tmp_path / "out")] == [(1, "one"), (3, "two"), (4, "three")]
    assert (done.questions, done.failed) == (3, 0)


def test_a_log_cut_while_it_is_worked_off_is_an_error_and_leaves_no_chunk(tmp_path: Path) -> None:
    queries = tmp_path / "q.txt"
    queries.write_text("one\ntwo\nthree\n")
    log = plan_log(queries, tmp_path / "out", Job())
    queries.write_text("one\n")
    with pytest.raises(CollectionError, match="ends 2 questions early"):
        run(run_log(log))
    assert log.to_do() == list(log.chunks)


def test_a_byte_order_mark_before_a_line_is_no_part_of_it(tmp_path: Path) -> None:
    queries = tmp_path / "q.jsonl"
    line = json.dumps({"id": "a", "question": "speed"})
    queries.write_text(f"\ufeff{line}\nplain\n\ufeff{line}\n", "utf-8")  # two files put together
    run(run_log(plan_log(queries, tmp_path / "out", Job())))
    assert [(row.get("id"), row["question"]) for row in rows(tmp_path / "out")] == [
        ("a", "speed"),
        (None, "plain"),
        ("a", "speed"),
    ]

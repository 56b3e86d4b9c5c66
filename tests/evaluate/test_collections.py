"""Reading collections: what the layouts hold is what comes out, and every mistake has a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import CollectionError
from dragoman.evaluate.collections import read_collection
from dragoman.evaluate.files import read_qrels, read_questions, read_run


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path / "toy/queries.jsonl",
        '{"_id": "q1", "text": "one", "metadata": {"state": "va"}}\n\n{"_id": 2, "text": "two"}\n'
        '{"_id": "q3", "text": "three"}\n',
    )
    write(tmp_path / "toy/qrels.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n2\td3\t1\nq3\td1\t0\n")
    return tmp_path / "toy"


def test_a_beir_folder_is_read_whole(folder: Path) -> None:
    collection = read_collection(folder)
    assert collection.name == "toy"
    assert [asked.id for asked in collection.questions] == ["q1", "2", "q3"]
    assert collection.questions[1].line == 3
    assert collection.qrels == {"q1": {"d1": 2, "d2": 0}, "2": {"d3": 1}, "q3": {"d1": 0}}
    assert collection.corpus is None


def test_questions_with_nothing_relevant_are_listed_and_not_counted(folder: Path) -> None:
    collection = read_collection(folder)
    assert [asked.id for asked in collection.judged] == ["q1", "2"]
    assert collection.left_out == ("q3",)


def test_judgments_in_beirs_own_subfolder_are_found(tmp_path: Path) -> None:
    write(tmp_path / "queries.jsonl", '{"_id": "q", "text": "t"}\n')
    write(tmp_path / "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n")
    assert read_collection(tmp_path).qrels == {"q": {"d": 1}}


def test_trec_forms_are_read(tmp_path: Path) -> None:
    topics = write(
        tmp_path / "topics.txt",
        "<top>\n<num> Number: 301\n<title> International\n Crime\n<desc> Description:\nx\n</top>\n"
        '<topic number="2"><query>lyme disease</query></topic>\n',
    )
    assert [(asked.id, asked.question.text) for asked in read_questions(topics)] == [
        ("301", "International Crime"),
        ("2", "lyme disease"),
    ]
    qrels = write(tmp_path / "qrels.txt", "301 0 FBIS-1 1\n301 0 FBIS-2 -1\n")
    assert read_qrels(qrels) == {"301": {"FBIS-1": 1, "FBIS-2": 0}}
    run = write(tmp_path / "a.run", "301 Q0 FBIS-1 1 2.5 tag\n")
    assert read_run(run) == {"301": {"FBIS-1": 2.5}}
    tabbed = write(tmp_path / "topics.tsv", "7\twhat is it\n")
    assert [(asked.id, asked.question.text, asked.line) for asked in read_questions(tabbed)] == [("7", "what is it", 1)]


def test_history_comes_as_turns_that_end_with_an_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", '{"_id": "a", "text": "and then?", "history": ["who", "me"]}\n')
    history = read_questions(path)[0].question.history
    assert history is not None
    assert [(turn.role, turn.text) for turn in history] == [("user", "who"), ("assistant", "me")]


def test_a_filter_takes_each_questions_own_value(folder: Path) -> None:
    write(folder / "queries.jsonl", '{"_id": "q1", "text": "one", "metadata": {"state": "va"}}\n')
    (asked,) = read_collection(folder).filtered(["metadata.state", "kind=law"]).questions
    assert asked.question.filters == {"state": "va", "kind": "law"}


def test_a_filter_that_a_question_lacks_is_an_error_at_its_line(folder: Path) -> None:
    with pytest.raises(CollectionError, match=r"queries.jsonl:3: question '2' has no metadata 'state'"):
        read_collection(folder).filtered(["metadata.state"])


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ('{"_id": "a", "text": "x"}\n{oops\n', 2, "no JSON"),
        ('{"_id": "a", "text": "x"}\n[1]\n', 2, "expected an object"),
        ('{"_id": "a"}\n', 1, "found keys"),
        ('{"_id": "a", "text": "  "}\n', 1, "empty"),
        ('{"_id": "a", "text": "x", "metadata": [1]}\n', 1, "metadata"),
        ('{"_id": "a", "text": "x", "history": [{"role": "boss", "text": "y"}]}\n', 1, "history"),
        ('{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n', 2, "already given at line 1"),
        ("one two\n", 1, "a tab"),
    ],
)
def test_a_bad_question_line_is_named(tmp_path: Path, text: str, place: int, said: str) -> None:
    path = write(tmp_path / "q", text)
    with pytest.raises(CollectionError, match=said) as caught:
        read_questions(path)
    assert (caught.value.path, caught.value.line) == (path, place)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("q d\n", 1, "2 columns"),
        ("q\td\t1\nq\td\tyes\n", 2, "no whole number"),
        ("q\td\t1\nq\td\t2\n", 2, "two different grades"),
    ],
)
def test_a_bad_judgment_is_named(tmp_path: Path, text: str, place: int, said: str) -> None:
    path = write(tmp_path / "qrels", text)
    with pytest.raises(CollectionError, match=said) as caught:
        read_qrels(path)
    assert (caught.value.path, caught.value.line) == (path, place)


def test_a_bad_run_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "run", "q Q0 d 1 high tag\n")
    with pytest.raises(CollectionError, match="no number") as caught:
        read_run(path)
    assert caught.value.line == 1


def test_empty_and_missing_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="no question in this file"):
        read_questions(write(tmp_path / "a", "\n"))
    with pytest.raises(CollectionError, match="no judgment in this file"):
        read_qrels(write(tmp_path / "b", "\n"))
    with pytest.raises(CollectionError, match="cannot be read"):
        read_run(tmp_path / "absent")
    with pytest.raises(CollectionError, match="expected a folder"):
        read_collection(tmp_path / "absent")
    with pytest.raises(CollectionError, match="no questions here"):
        read_collection(tmp_path)
    binary = tmp_path / "c"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CollectionError, match="UTF-8"):
        read_questions(binary)

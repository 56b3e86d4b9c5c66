from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.deadline import budget
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.sqlite import SQLite
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Search

DOCUMENTS = [Document(*passage) for passage in SAMPLE]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SQLite]:
    engine = SQLite(tmp_path / "corpus.db")
    assert engine.index(DOCUMENTS) == len(SAMPLE)
    yield engine
    engine.close()


def test_it_keeps_the_contract(engine: SQLite) -> None:
    check_retriever(engine)


def test_a_weighted_word_counts_as_often_as_it_weighs(engine: SQLite) -> None:
    plain = {h.doc_id: h.score for h in engine(Search("headlamps vehicle"), 20, {}).hits}
    even = engine(Search("x", terms=(("headlamps", 1.0), ("vehicle", 1.0))), 20, {})
    assert {h.doc_id: h.score for h in even.hits} == pytest.approx(plain)
    doubled = engine(Search("x", terms=(("headlamps", 2.0), ("vehicle", 1.0))), 20, {})
    scores = {h.doc_id: h.score for h in doubled.hits}
    assert scores["c/1"] == pytest.approx(2 * plain["c/1"])
    assert scores["9"] == pytest.approx(plain["9"])


def test_a_code_is_found_whole(tmp_path: Path) -> None:
    engine = SQLite(tmp_path / "codes.db")
    engine.index([Document("a", "§ 46.2-870", "Speed."), Document("b", "Numbers", "46 and 870 and 2.")])
    assert engine(Search("46.2-870"), 5, {}).doc_ids[0] == "a"
    engine.close()


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(RetrievalError, match=r"nowhere\.db.*expected a database") as caught:
        SQLite(tmp_path / "nowhere.db")(Search("speed"), 5, {})
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert not (tmp_path / "nowhere.db").exists()


def test_a_search_stops_when_the_questions_time_is_over(tmp_path: Path) -> None:
    engine = SQLite(tmp_path / "large.db")
    engine.index(Document(str(i), "", f"speed limit {i} " * 3) for i in range(20_000))
    with budget(0.001), pytest.raises(RetrievalError, match="interrupted"):
        engine(Search("speed limit"), 5, {})
    assert engine(Search("speed limit"), 5, {}).hits
    engine.close()


def test_the_vocabulary_counts_whole_words_though_the_index_stems(engine: SQLite) -> None:
    vocabulary = engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["headlamps"] == 1
    assert vocabulary.words["speed"] == 9
    assert "Copies" in vocabulary.headings


def test_the_vocabulary_is_fts5s_own_where_it_keeps_words_whole(tmp_path: Path) -> None:
    engine = SQLite(tmp_path / "plain.db")
    engine.index(DOCUMENTS)
    with sqlite3.connect(tmp_path / "plain.db") as connection:
        connection.executescript(
            "DROP TABLE passages_words;"
            "CREATE VIRTUAL TABLE passages_words USING fts5(title, text, content=passages, tokenize='unicode61');"
            "INSERT INTO passages_words(passages_words) VALUES ('rebuild');"
        )
    connection.close()
    vocabulary = engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["headlamps"] == 1
    assert vocabulary.words["speed"] == 9
    assert vocabulary.document_frequency("speeds") == 9
    assert "Copies" in vocabulary.headings
    engine.close()


def test_an_index_that_fails_half_way_leaves_the_one_before(engine: SQLite) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        engine.index([Document("twice", "", "a"), Document("twice", "", "b")])
    assert len(engine(Search("maximum speed limit"), 20, {})) == 9

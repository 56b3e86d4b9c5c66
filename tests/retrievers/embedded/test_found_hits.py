"""Hits that read their text when it is looked at: to everybody else they are hits like any other."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.dragoman import Dragoman
from dragoman.errors import RetrievalError
from dragoman.retrievers import build_index, open_index
from dragoman.retrievers.callable import CallableRetriever
from dragoman.retrievers.embedded.found import Found, FoundRanking
from dragoman.rewriters.feedback import Feedback
from dragoman.types import Hit, Ranking, Search

LONG = "section-" + "é" * 300  # does not end within the first bytes of its line
PASSAGES = {"s1": "Headlamps shall be lit.", LONG: "Brakes shall hold.", 's "3"': "Mirrors \\ and brakes.", "ü4": ""}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    rows = [
        {"_id": doc_id, "title": f"About {n} lamps", "text": text, "metadata": {"book": "code"}}
        for n, (doc_id, text) in enumerate(PASSAGES.items())
    ]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index", embedder=None)
    return tmp_path / "index"


def test_every_id_title_text_and_metadata_is_what_was_indexed(index: Path) -> None:
    with open_index(index) as opened:
        hits = opened.words(Search("lamps"), 10, {}).hits
        assert {hit.doc_id: hit.text for hit in hits} == PASSAGES
        assert all(isinstance(hit, Found) and hit.title.endswith("lamps") for hit in hits)
        assert all(hit.metadata == {"book": "code"} for hit in hits)


def test_a_hit_outlives_its_index_which_gives_out_no_more(index: Path) -> None:
    with open_index(index) as opened:
        ranking = opened.words(Search("lamps"), 10, {})
    assert {hit.text for hit in ranking.hits} == set(PASSAGES.values())
    with pytest.raises(RetrievalError, match="closed"):
        opened.words(Search("lamps"), 10, {})
    with pytest.raises(RetrievalError, match="closed"):
        opened.document("s1")


def test_it_equals_and_hashes_and_shows_as_a_plain_hit_and_becomes_one_when_copied(index: Path) -> None:
    with open_index(index) as opened:
        (found,) = opened.words(Search("headlamps lit"), 1, {}).hits
    plain = Hit(found.doc_id, found.score, found.title, found.text, found.metadata)
    assert found == plain
    assert plain == found
    assert hash(found) == hash(plain)
    assert repr(found) == repr(plain)
    assert found != replace(plain, score=1e-9)
    for copied in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found), replace(found)):
        assert type(copied) is Hit
        assert copied == plain
    moved = replace(found, score=9.0, text="")
    assert (type(moved), moved.doc_id, moved.score, moved.text, moved.title) == (Hit, "s1", 9.0, "", plain.title)
    with pytest.raises(AttributeError):
        found.score = 1.0  # type: ignore[misc]  # frozen: that is what is tried
    assert Ranking(Search("lamps"), "words", (found, plain)).hits == (plain,)


def test_a_ranking_of_the_index_is_a_ranking_like_any_other(index: Path) -> None:
    with open_index(index) as opened:
        found = opened.words(Search("lamps brakes"), 10, {})
    assert isinstance(found, FoundRanking)
    plain = Ranking(found.search, "words", found.hits, found.seconds)
    assert type(plain) is Ranking
    assert (found == plain, plain == found, hash(found) == hash(plain), repr(found) == repr(plain)) == (True,) * 4
    assert (found.doc_ids, found.scores, len(found)) == (plain.doc_ids, plain.scores, len(plain))
    assert [found.hit(rank) for rank in range(1, len(found) + 1)] == list(plain.hits) == list(found.hits)
    assert found.hits is found.hits
    for depth in (0, 2, 10):
        assert found.top(depth) == plain.top(depth)
    other = Search("something else", "rephrase")
    assert found.under(other, 2.0) == plain.under(other, 2.0)
    assert found.under(other).seconds == found.seconds
    assert found != plain.under(other)
    for copied in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found), replace(found)):
        assert type(copied) is Ranking
        assert copied == plain
    with pytest.raises(AttributeError):
        found.retriever = "x"  # type: ignore[misc]  # frozen: that is what is tried


def test_a_damaged_line_is_an_error_that_says_what_to_do(index: Path) -> None:
    (lines,) = index.glob("generation-*/passages.jsonl")
    content = lines.read_bytes()
    with open_index(index) as opened:
        lines.write_bytes(b"x" * len(content))  # the same file, mapped: damage under an open index
        with pytest.raises(RetrievalError, match="build the index again"):
            opened.words(Search("lamps"), 10, {})


def test_bytes_that_are_no_text_are_damage_and_not_left_out(index: Path) -> None:
    (lines,) = index.glob("generation-*/passages.jsonl")
    content = lines.read_bytes()
    with open_index(index) as opened:
        (found,) = opened.words(Search("headlamps lit"), 1, {}).hits
        lines.write_bytes(content.replace(b"Headlamps", b"\xff\xfeadlamps"))
        with pytest.raises(RetrievalError, match="build the index again"):
            _ = found.text


async def test_a_damaged_passage_takes_its_retriever_out_and_no_other(index: Path) -> None:
    (lines,) = index.glob("generation-*/passages.jsonl")
    with open_index(index) as opened:
        other = CallableRetriever(lambda _text, _depth: [("other", 1.0)], "elsewhere")
        hall = Dragoman([opened.words, other], [Feedback()])
        lines.write_bytes(lines.read_bytes().replace(b"Headlamps", b"\xff\xfeadlamps"))
        result = await hall.asearch("headlamps lit")
        assert [hit.doc_id for hit in result.hits] == ["other"]
        assert [(failure.retriever, "build the index again" in failure.reason) for failure in result.failures] == [
            ("words", True)
        ]
        with pytest.raises(RetrievalError, match=r"no retriever answered: words: .*build the index again"):
            await Dragoman([opened.words]).asearch("headlamps lit")

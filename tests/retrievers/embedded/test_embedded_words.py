from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_index import Corpus, Rows

from dragoman.retrievers import EmbeddedIndex, build_index, open_index
from dragoman.retrievers.embedded.words import analyse, codes
from dragoman.types import Search


@pytest.fixture
def index(corpus: Corpus, signs: Rows, tmp_path: Path) -> Iterator[EmbeddedIndex]:
    build_index([corpus(signs)], tmp_path / "index", embedder=None)
    with open_index(tmp_path / "index") as opened:
        yield opened


def found(index: EmbeddedIndex, text: str, **more: object) -> tuple[str, ...]:
    return index.words(Search(text, **more), 10, {}).doc_ids  # type: ignore[arg-type]


def test_a_word_is_found_in_any_inflection(index: EmbeddedIndex) -> None:
    assert found(index, "stopping") == found(index, "stop") == ("1",)


def test_scores_are_bm25s(corpus: Corpus, tmp_path: Path) -> None:
    """k1 1.2, b .75, idf ln(1 + (N - n + .5) / (n + .5)); the lengths here are stored exactly."""
    rows = [{"_id": "a", "text": "lamp lamp"}, {"_id": "b", "text": "lamp brake"}, {"_id": "c", "text": "brake brake"}]
    build_index([corpus(rows)], tmp_path / "index", embedder=None)
    with open_index(tmp_path / "index") as index:
        scores = {hit.doc_id: hit.score for hit in index.words(Search("lamp"), 10, {}).hits}
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert scores["a"] == pytest.approx(idf * 2 * 2.2 / (2 + 1.2), rel=1e-5)
    assert scores["b"] == pytest.approx(idf * 1 * 2.2 / (1 + 1.2), rel=1e-5)
    assert "c" not in scores


def test_a_code_puts_the_document_that_it_names_before_those_that_cite_it(index: EmbeddedIndex) -> None:
    assert found(index, "what does 46.2-870 say")[:2] == ("law/46.2-870", "law/46.2-871")


def test_a_code_in_the_text_is_found_whole(index: EmbeddedIndex) -> None:
    assert found(index, "error E-1234")[0] == "law/46.2-870"


def test_weighted_terms_stand_for_the_text(index: EmbeddedIndex) -> None:
    assert found(index, "anything", terms=(("cameras", 5.0), ("limit", 0.5)))[:2] == ("3", "2")
    assert found(index, "anything", terms=(("cameras", 0.5), ("limit", 5.0)))[:2] == ("2", "3")


def test_a_term_of_no_weight_finds_nothing(index: EmbeddedIndex) -> None:
    assert found(index, "speed", terms=(("speed", 0.0), ("camera", -1.0))) == ()


def test_words_that_stand_together_count_more_than_words_apart(corpus: Corpus, tmp_path: Path) -> None:
    rows = [
        {"_id": "apart", "text": "school and a yellow bus. A bus by the gate."},
        {"_id": "together", "text": "gate and a yellow bus. A school bus by it."},
    ]
    build_index([corpus(rows)], tmp_path / "index", embedder=None)
    with open_index(tmp_path / "index") as index:
        assert index.words(Search("school bus"), 10, {}).doc_ids == ("together", "apart")


def test_pairs_do_not_reach_over_the_end_of_a_clause() -> None:
    assert analyse("Stop signs, speed limits", "en") == (
        ["stop", "sign", "speed", "limit"],
        ["stop_sign", "speed_limit"],
    )


def test_hits_carry_title_text_and_metadata(index: EmbeddedIndex) -> None:
    hit = index.words(Search("cameras"), 1, {}).hits[0]
    assert (hit.title, hit.text, dict(hit.metadata)) == ("Speed cameras", "Cameras measure speed.", {"state": "South"})


def test_filters_are_exact_and_hold_before_the_cut(index: EmbeddedIndex) -> None:
    assert index.words(Search("speed"), 1, {"state": "South"}).doc_ids == ("3",)
    assert index.words(Search("speed"), 1, {"state": "south"}).doc_ids == ()


def test_document_frequency_counts_inflections_together(index: EmbeddedIndex) -> None:
    frequency: Callable[[str], int] = index.document_frequency
    assert [frequency(w) for w in ("speed", "Speeds", "camera", "zebra", "46.2-870", "speed camera", "")] == [
        2,
        2,
        1,
        0,
        1,
        1,
        0,
    ]


def test_the_index_and_the_vocabulary_count_alike(index: EmbeddedIndex) -> None:
    words = list(index.vocabulary.words)
    telling = [word for word in words if index.document_frequency(word)]
    assert len(telling) > 10
    assert [index.document_frequency(w) for w in telling] == [index.vocabulary.document_frequency(w) for w in telling]


def test_german_is_stemmed_as_german(corpus: Corpus, tmp_path: Path) -> None:
    build_index(
        [corpus([{"_id": "a", "text": "Die Geschwindigkeiten auf Straßen"}])],
        tmp_path / "index",
        embedder=None,
        language="de",
    )
    with open_index(tmp_path / "index") as index:
        assert index.words(Search("geschwindigkeit"), 5, {}).doc_ids == ("a",)
        assert index.words(Search("STRASSE"), 5, {}).doc_ids == ("a",)


@given(st.text())
def test_codes_hold_a_digit_and_an_inner_mark(text: str) -> None:
    for code in codes(text):
        assert any(letter.isdigit() for letter in code)
        assert any(mark in code[1:-1] for mark in ".-'")


def test_codes_are_folded_and_whole() -> None:
    assert codes("§ 46.2-870 and E‑1234 but not well-known, 42 or A1") == ["46.2-870", "e-1234"]


def test_a_depth_beyond_any_corpus_gives_all_that_match(index: EmbeddedIndex) -> None:
    for filters in ({}, {"state": "North"}):
        assert index.words(Search("speed"), 10**30, filters).doc_ids == index.words(Search("speed"), 5, filters).doc_ids

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from toy_index import Corpus, Rows

from dragoman.dragoman import Dragoman
from dragoman.errors import RetrievalError
from dragoman.retrievers import EmbeddedIndex, build_index, open_index
from dragoman.retrievers.embedded.meaning import PROBE, Meaning
from dragoman.retrievers.embedders import Named, Vectors
from dragoman.types import Search


class Counting:
    """An embedder that remembers what it was asked."""

    name, fingerprint = "callable:bag", ""

    def __init__(self, embedder: Named) -> None:
        self.inner, self.asked = embedder, list[list[str]]()

    def __call__(self, texts: list[str]) -> Vectors:
        self.asked.append(list(texts))
        return self.inner(texts)


@pytest.fixture
def counting(toy: Named) -> Counting:
    return Counting(toy)


@pytest.fixture
def index(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named, counting: Counting) -> Iterator[EmbeddedIndex]:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=counting) as opened:
        yield opened


def meaning(index: EmbeddedIndex) -> Meaning:
    assert index.meaning is not None
    return index.meaning


def test_the_score_is_the_cosine_to_the_nearest_window(index: EmbeddedIndex, toy: Named) -> None:
    hit = meaning(index)(Search("speed cameras"), 1, {}).hits[0]
    expected = toy(["Speed cameras Cameras measure speed."])[0] @ toy(["speed cameras"])[0]
    assert hit.doc_id == "3"
    assert hit.score == pytest.approx(float(expected), abs=1e-3)


def test_the_model_is_not_loaded_before_the_first_question(index: EmbeddedIndex, counting: Counting) -> None:
    assert index.words(Search("speed"), 3, {}).hits
    assert meaning(index)(Search("speed"), 0, {}).hits == ()
    assert counting.asked == []


def test_a_question_is_embedded_once_for_all_its_rankings(index: EmbeddedIndex, counting: Counting) -> None:
    assert index.headings_meaning is not None
    for retriever in (index.meaning, index.headings_meaning, index.meaning):
        assert retriever is not None
        retriever(Search("speed limit"), 3, {})
    assert sum(texts == ["speed limit"] for texts in counting.asked) == 1


def test_prepared_searches_are_embedded_in_one_batch(index: EmbeddedIndex, counting: Counting) -> None:
    searches = [Search("stop sign"), Search("speed limit"), Search("stop sign")]
    meaning(index).prepare(searches)
    for search in searches:
        meaning(index)(search, 3, {})
    assert counting.asked[1:] == [["stop sign", "speed limit"]]


def test_a_searchs_own_vector_stands_for_its_text(index: EmbeddedIndex, toy: Named) -> None:
    vector = tuple(float(x) for x in toy(["stop sign"])[0])
    assert meaning(index)(Search("cameras", vector=vector), 1, {}).doc_ids == ("1",)


def test_a_vector_of_other_dimensions_is_refused(index: EmbeddedIndex) -> None:
    with pytest.raises(RetrievalError, match="has 2 dimensions, the index's 64"):
        meaning(index)(Search("cameras", vector=(0.6, 0.8)), 1, {})


def test_filters_hold_before_the_cut(index: EmbeddedIndex) -> None:
    assert meaning(index)(Search("speed limit"), 1, {}).doc_ids == ("2",)
    assert meaning(index)(Search("speed limit"), 1, {"state": "South"}).doc_ids == ("3",)


def test_a_long_document_is_found_by_its_end(corpus: Corpus, tmp_path: Path, toy: Named) -> None:
    long = "filler " * 400 + "zebra crossing"
    rows = [{"_id": "long", "text": long}, {"_id": "other", "text": "nothing of the kind"}]
    build_index([corpus(rows)], tmp_path / "long", embedder=toy)
    with open_index(tmp_path / "long", embedder=toy) as index:
        ranking = meaning(index)(Search("zebra crossing"), 2, {})
    whole = toy([long])[0] @ toy(["zebra crossing"])[0]
    assert ranking.doc_ids[0] == "long"
    assert ranking.hits[0].score > 1.3 * float(whole)


def test_a_missing_model_is_a_retrieval_error_and_words_go_on(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    toy.name = "model2vec:nothing-of-that-name"
    build_index([corpus(signs)], tmp_path / "away", embedder=toy)
    with open_index(tmp_path / "away") as index:
        with pytest.raises(RetrievalError, match=r"dragoman\[model2vec\]"):
            meaning(index)(Search("speed"), 3, {})
        assert index.words(Search("speed"), 3, {}).hits


def test_a_model_that_changed_under_its_name_is_told_by_its_probe(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    build_index([corpus(signs)], tmp_path / "changed", embedder=toy)
    changed = Named(toy.name, lambda texts: toy(texts)[:, ::-1])
    with (
        open_index(tmp_path / "changed", embedder=changed) as index,
        pytest.raises(RetrievalError, match="another model"),
    ):
        meaning(index)(Search("speed"), 3, {})


def test_many_threads_get_what_one_gets(index: EmbeddedIndex) -> None:
    searches = [Search(f"{word} {n}") for n in range(20) for word in ("speed", "stop", "camera")]
    alone = [meaning(index)(s, 5, {"state": "North"}).doc_ids + index.words(s, 5, {}).doc_ids for s in searches]

    def run(search: Search) -> tuple[str, ...]:
        return meaning(index)(search, 5, {"state": "North"}).doc_ids + index.words(search, 5, {}).doc_ids

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, searches)) == alone


def test_it_embeds_texts_for_others(index: EmbeddedIndex) -> None:
    vectors = meaning(index).embed(["a", "stop"])
    assert vectors.shape == (2, 64)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_vectors_of_other_dimensions_at_a_question_fail_as_a_retriever_fails(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    def widens(texts: list[str]) -> Vectors:
        return toy(texts) if texts == [PROBE] else np.ones((len(texts), 65), np.float32)

    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=Named(toy.name, widens)) as index:
        for ask in (
            lambda: meaning(index)(Search("speed"), 3, {}),
            lambda: meaning(index).prepare([Search("speed"), Search("stop")]),
            lambda: meaning(index).embed(["speed"]),
            lambda: index.standing("speed"),
        ):
            with pytest.raises(RetrievalError, match="gave 65 dimensions, the index's vectors have 64"):
                ask()
        assert len(meaning(index).embed([])) == 0
        assert Dragoman(index.retrievers).search("speed limit").hits[0].doc_id == "2"

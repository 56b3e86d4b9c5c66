"""An index knows what it is about, and its passages' directions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy_index import Corpus

from dragoman.retrievers.embedded import EmbeddedIndex, build_index, open_index
from dragoman.retrievers.embedders import Named
from dragoman.types import Search

RULES = [f"The rule of sign{n} asks drivers number{n} to stop beside marker{n} and wait." for n in range(40)]


@pytest.fixture
def index(corpus: Corpus, toy: Named, tmp_path: Path) -> EmbeddedIndex:
    rows = [{"_id": str(n), "title": f"Rule {n}", "text": text} for n, text in enumerate(RULES)]
    build_index([corpus(rows)], tmp_path / "index", embedder=toy)
    return open_index(tmp_path / "index", embedder=toy)


def test_a_sentence_of_the_corpus_is_at_home_and_on_topic(index: EmbeddedIndex) -> None:
    standing = index.standing(RULES[7])
    assert standing is not None
    assert standing.at_home
    assert not standing.off_topic()
    assert standing.near == pytest.approx(1.0, abs=0.1)


def test_an_everyday_question_is_off_topic(index: EmbeddedIndex) -> None:
    standing = index.standing("how do i knit a scarf")
    assert standing is not None
    assert standing.elsewhere == pytest.approx(1.0, abs=0.05)
    assert standing.off_topic()


@pytest.mark.parametrize("text", ["Die Regel {0} verlangt von Fahrern der Klasse {0}, am Schild {0} zu halten.", ""])
def test_an_index_in_a_language_without_a_list_turns_nothing_away(
    text: str, corpus: Corpus, toy: Named, tmp_path: Path
) -> None:
    rows = [{"_id": str(n), "title": f"Regel {n}", "text": text.format(f"nr{n}")} for n in range(40)]
    build_index([corpus(rows)], tmp_path / "index", embedder=toy, language="de")
    index = open_index(tmp_path / "index", embedder=toy)
    for asked in ("how do i knit a scarf", "wie stricke ich einen schal"):
        standing = index.standing(asked)
        assert standing is not None
        assert standing.elsewhere == 0
        assert not standing.off_topic()


def test_an_index_of_words_has_no_standing(corpus: Corpus, tmp_path: Path) -> None:
    build_index([corpus([{"_id": "1", "text": "stop"}])], tmp_path / "index", embedder=None)
    assert open_index(tmp_path / "index").standing("stop") is None


def test_headings_have_no_standing_of_their_own(index: EmbeddedIndex) -> None:
    assert index.headings_meaning is not None
    assert index.headings_meaning.standing("stop") is None


def test_what_the_gate_looked_up_serves_the_search_and_changes_nothing(index: EmbeddedIndex, toy: Named) -> None:
    assert index.meaning is not None
    question = "where do drivers wait"
    fresh = open_index(index.path, embedder=toy)
    assert fresh.meaning is not None
    near = index.meaning.nearest(question)
    after = index.meaning(Search(question), 10, {})
    assert after.hits == fresh.meaning(Search(question), 10, {}).hits
    assert after.hits[0].score == pytest.approx(near)


def test_the_centre_of_passages_is_their_mean_direction_and_agreement(index: EmbeddedIndex) -> None:
    assert index.meaning is not None
    direction, agreement = index.meaning.centre(["3", "5"])
    one, other = (index.meaning.centre([doc_id, doc_id])[0] for doc_id in ("3", "5"))
    total = np.array(one) + np.array(other)
    assert direction == pytest.approx(tuple(total / np.linalg.norm(total)), abs=1e-5)
    assert agreement == pytest.approx(float(np.dot(one, other)), abs=1e-5)


def test_fewer_than_two_known_passages_have_no_centre(index: EmbeddedIndex) -> None:
    assert index.meaning is not None
    assert index.meaning.centre(["3", "no such"]) == ((), 0.0)
    assert index.meaning.centre([]) == ((), 0.0)


def test_sentences_that_are_near_nothing_are_left_out_of_the_measure(corpus: Corpus, tmp_path: Path) -> None:
    def apart(texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        """Every third passage's own sentence points away from it."""
        rows = np.zeros((len(texts), 2), np.float32)
        for row, text in zip(rows, texts, strict=True):
            number = next((int(part) for part in text.split() if part.isdigit()), 1)
            away = number % 3 == 0 and text.count("Rule") == 1
            row[0], row[1] = (-1.0 if away else 1.0, 0.0) if "Rule" in text else (0.0, 1.0)
        return rows

    texts = [f"Rule {n} asks every driver to stop here and wait." for n in range(300)]
    rows = [{"_id": str(n), "title": f"Rule {n}", "text": text} for n, text in enumerate(texts)]
    embedder = Named("callable:apart", apart)
    build_index([corpus(rows)], tmp_path / "index", embedder=embedder)
    standing = open_index(tmp_path / "index", embedder=embedder).standing(texts[7])
    assert standing is not None
    assert standing.near == pytest.approx(1.0, abs=0.01)

"""Every ranking of the embedded index against the contract that any retriever is held to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from toy_index import Corpus

from dragoman.retrievers import EmbeddedIndex, build_index, open_index
from dragoman.retrievers.embedded import vectors
from dragoman.retrievers.embedders import Named
from dragoman.testing import SAMPLE, check_retriever


@pytest.fixture
def sample(corpus: Corpus, tmp_path: Path, toy: Named) -> Iterator[EmbeddedIndex]:
    source = corpus({"_id": p.doc_id, "title": p.title, "text": p.text, "metadata": dict(p.metadata)} for p in SAMPLE)
    build_index([source], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=toy) as index:
        yield index


def test_the_words_ranking_keeps_the_contract(sample: EmbeddedIndex) -> None:
    check_retriever(sample.words)
    assert sample.words.name == "words"


def test_the_meaning_ranking_keeps_the_contract(sample: EmbeddedIndex) -> None:
    assert sample.meaning is not None
    check_retriever(sample.meaning, words=False)
    assert sample.meaning.name == "meaning"


def test_the_heading_rankings_keep_the_contract(sample: EmbeddedIndex) -> None:
    assert sample.headings_meaning is not None
    check_retriever(sample.headings_words, query="copies child", sample=False, filters={"state": "North"})
    check_retriever(
        sample.headings_meaning, query="copies child", sample=False, words=False, filters={"state": "North"}
    )
    assert (sample.headings_words.name, sample.headings_meaning.name) == ("headings", "headings_meaning")


def test_the_meaning_ranking_keeps_the_contract_on_a_graph(
    corpus: Corpus, tmp_path: Path, toy: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")  # before usearch: see `vectors._graph`
    pytest.importorskip("usearch")
    monkeypatch.setattr(vectors, "EXACT_UP_TO", 4)
    source = corpus({"_id": p.doc_id, "title": p.title, "text": p.text, "metadata": dict(p.metadata)} for p in SAMPLE)
    build_index([source], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert index.meaning is not None
        check_retriever(index.meaning, words=False)


def test_the_shipped_model_keeps_the_contract(corpus: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    source = corpus({"_id": p.doc_id, "title": p.title, "text": p.text, "metadata": dict(p.metadata)} for p in SAMPLE)
    build_index([source], tmp_path / "index")
    with open_index(tmp_path / "index") as index:
        assert index.embedder == "default"
        assert index.meaning is not None
        check_retriever(index.meaning, words=False)

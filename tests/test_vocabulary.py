"""The corpus's words are counted as they stand in documents, survive a file, and take another engine's export."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import IndexStateError
from dragoman.vocabulary import LEAST_DOCUMENTS, Phrase, PhraseKind, Vocabulary, VocabularyBuilder

SECTIONS = [
    ("Lights; when required§ 1-3. Horns", 'As used here, "motor vehicle" means anything that drives itself.'),
    ("Seat belts", "Whoever drives a motor vehicle wears a seat belt."),
    ("Licences", "No one drives without a license. Licenses are renewed."),
    ("", "# Right of way\n\nYield the right of way to buses."),
]


def built(sections: list[tuple[str, str]] | None = None) -> Vocabulary:
    builder = VocabularyBuilder()
    for title, text in SECTIONS if sections is None else sections:
        builder.add(title, text)
    return builder.finish()


def test_a_word_is_counted_once_a_document_and_by_its_stem() -> None:
    vocabulary = built()
    assert vocabulary.documents == 4
    assert vocabulary.words["license"] == vocabulary.words["licenses"] == 1
    assert vocabulary.document_frequency("LICENSED") == 1
    assert vocabulary.document_frequency("drives") == 3
    assert vocabulary.document_frequency("horse") == 0
    assert not vocabulary.holds("horse")


def test_a_heading_ends_where_the_next_sections_begin() -> None:
    assert set(built().headings) == {"Lights; when required", "Seat belts", "Licences", "Right of way"}


def test_a_defined_term_is_a_phrase() -> None:
    defined = [phrase.text for phrase in built().phrases if phrase.kind is PhraseKind.DEFINED]
    assert defined == ["motor vehicle"]


def test_words_that_keep_together_are_a_term_and_words_that_meet_by_chance_are_none() -> None:
    filler = ["owner", "driver", "rider", "seller", "buyer"]
    sections = [("", f"The {word} shall keep a parking brake.") for word in filler * 2]
    sections += [("", f"The {word} shall {verb}.") for word in filler for verb in ("stop", "yield", "wait", "park")]
    terms = {phrase.text for phrase in built(sections).phrases if phrase.kind is PhraseKind.TERM}
    assert "parking brake" in terms
    assert not {term for term in terms if term.startswith("shall ") or term.endswith(" shall")}


def test_the_weight_of_a_word_is_the_formula_of_bm25() -> None:
    vocabulary = Vocabulary(10, {"stop": 3})
    assert vocabulary.idf("stop") == pytest.approx(math.log(1 + 7.5 / 3.5))
    assert vocabulary.idf("go") == pytest.approx(math.log(1 + 10.5 / 0.5))


def test_coverage_is_the_share_of_weight_that_the_corpus_holds() -> None:
    vocabulary = Vocabulary(10, {"stop": 3})
    held, absent = vocabulary.idf("stop"), vocabulary.idf("warp")
    assert vocabulary.coverage("stop the warp") == pytest.approx(held / (held + absent))
    assert vocabulary.coverage("the of") == 0
    assert Vocabulary(0, {}).coverage("stop") == 0


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    vocabulary = built()
    vocabulary.save(tmp_path / "v.jsonl")
    read = Vocabulary.load(tmp_path / "v.jsonl")
    assert (read.documents, read.words, read.terms) == (vocabulary.documents, vocabulary.words, vocabulary.terms)
    assert read.phrases == vocabulary.phrases
    assert not list(tmp_path.glob("*.part"))


def test_another_engines_export_needs_words_alone(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    rows: list[dict[str, object]] = [{"vocabulary": 1, "documents": 5}]
    rows += [{"word": "License", "documents": 3}, {"word": "licenses", "documents": 4}, {"phrase": "stop sign"}]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    read = Vocabulary.load(path)
    assert read.document_frequency("licensed") == 5  # an upper bound, held to the number of documents
    assert read.phrases == (Phrase("stop sign", PhraseKind.TERM),)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", "version None"),
        ('{"vocabulary": 2, "documents": 1}', "version 2"),
        ('{"vocabulary": 1, "documents": -1}', "documents is -1"),
        ('{"vocabulary": 1, "documents": 1}\n{"word": "x"}', "line 2"),
        ('{"vocabulary": 1, "documents": 1}\nnonsense', "line 2"),
        ('{"vocabulary": 1, "documents": 1}\n{"wort": "x"}', "line 2"),
        ('{"vocabulary": 1, "documents": 1}\n{"phrase": "x", "kind": "odd"}', "line 2"),
    ],
)
def test_a_file_that_is_none_is_told_with_its_line(tmp_path: Path, lines: str, told: str) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text(lines, "utf-8")
    with pytest.raises(IndexStateError, match=told):
        Vocabulary.load(path)


def test_an_absent_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="build the index again"):
        Vocabulary.load(tmp_path / "none.jsonl")


def test_memory_is_bounded_and_common_words_are_not_lost() -> None:
    builder = VocabularyBuilder(most_words=50, most_grams=50)
    for number in range(500):
        builder.add("", f"common ground once{number}")
    vocabulary = builder.finish()
    assert len(vocabulary.words) <= 51
    assert vocabulary.document_frequency("common") > 400
    assert vocabulary.documents == 500


def test_a_table_that_can_hold_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        VocabularyBuilder(most_words=0)


def test_a_phrase_needs_a_text_and_a_document() -> None:
    with pytest.raises(ValueError, match="needs a text"):
        Phrase(" ", PhraseKind.TERM)
    with pytest.raises(ValueError, match="expected at least 1"):
        Phrase("stop sign", PhraseKind.TERM, 0)


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=200)), max_size=LEAST_DOCUMENTS))
def test_any_text_is_counted_and_every_count_is_within_the_documents(sections: list[tuple[str, str]]) -> None:
    vocabulary = built(sections)
    assert vocabulary.documents == len(sections)
    assert all(1 <= count <= len(sections) for count in [*vocabulary.words.values(), *vocabulary.terms.values()])
    assert [json.loads(line) for line in vocabulary.lines()]

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.retrievers.documents.passages import Section, passages, windows


def ids(*sections: Section) -> list[str]:
    return [document.doc_id for document in passages("guide.md", iter(sections))]


def test_ids_are_the_file_and_the_heading() -> None:
    assert ids(Section(("Guide", "Stop & go!"), "x"), Section(("Guide", "Straße"), "y")) == [
        "guide.md#stop-go",
        "guide.md#strasse",
    ]


def test_equal_headings_are_told_apart() -> None:
    fees = Section(("Guide", "Fees"), "x")
    assert ids(fees, fees, Section((), "y"), Section(("!",), "z")) == [
        "guide.md#fees",
        "guide.md#fees-2",
        "guide.md",
        "guide.md#2",
    ]


def test_a_heading_that_looks_like_a_told_apart_one_gets_an_id_of_its_own() -> None:
    fees = Section(("Fees",), "x")
    assert len(set(ids(fees, fees, Section(("Fees 2",), "y"), Section(("Fees 2",), "z")))) == 4


def test_a_heading_without_text_is_left_to_those_below() -> None:
    (document,) = passages("guide.md", iter([Section(("Guide",), " \n"), Section(("Guide", "Fees"), "pay")]))
    assert (document.doc_id, document.title, document.text) == ("guide.md#fees", "Guide > Fees", "pay")


def test_passages_name_their_document() -> None:
    (document,) = passages("a/guide.md", iter([Section(("Guide",), "text", 12)]))
    assert (dict(document.metadata), document.origin, document.line) == ({"document": "a/guide.md"}, "a/guide.md", 12)


def test_a_long_section_is_cut_at_sentences_and_overlaps() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(100))
    parts = list(windows(text, longest=50, overlap=10))
    assert all(part.endswith("here.") for part in parts)
    assert all(len(part.split()) <= 60 for part in parts)
    assert parts[1].startswith(" ".join(parts[0].split()[-10:]))


def test_parts_of_a_long_section_are_numbered() -> None:
    assert ids(Section(("Guide",), "word " * 650)) == ["guide.md#guide", "guide.md#guide~2", "guide.md#guide~3"]


@given(st.text(alphabet="ab .\n", max_size=400), st.integers(1, 20), st.integers(0, 5))
def test_windows_lose_no_word(text: str, longest: int, overlap: int) -> None:
    parts = [part.split() for part in windows(text, longest, overlap)]
    assert all(len(part) <= longest + overlap for part in parts)
    assert parts[0] == text.split()[: len(parts[0])]
    if overlap == 0:
        assert [word for part in parts for word in part] == text.split()

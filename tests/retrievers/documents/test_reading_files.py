from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import CollectionError
from dragoman.retrievers.documents import Document, count_documents, find_files, read_documents


def read(*sources: Path) -> list[Document]:
    return list(read_documents(find_files(sources)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "docs"
    (home / "sub").mkdir(parents=True)
    (home / ".hidden").mkdir()
    (home / "b.md").write_text("# B\nbee")
    (home / "a.txt").write_text("ay")
    (home / "sub" / "c.HTML").write_text("<p>sea")
    (home / "picture.png").write_bytes(b"\x89PNG")
    (home / ".hidden" / "d.md").write_text("no")
    return home


def test_a_folder_is_read_in_order_without_hidden_and_other_files(folder: Path) -> None:
    assert [d.doc_id for d in read(folder)] == ["docs/a.txt#a", "docs/b.md#b", "docs/sub/c.HTML#c"]


def test_a_file_given_twice_is_read_once(folder: Path) -> None:
    assert len(read(folder, folder / "b.md", folder)) == 3


def test_ids_are_the_same_with_other_sources_beside_them(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("# B\nbee")
    alone, beside = {d.doc_id for d in read(folder)}, {d.doc_id for d in read(other, folder)}
    assert alone < beside
    assert len(beside) == 4


def test_in_a_beir_folder_only_the_corpus_is_documents(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (tmp_path / "SOURCE.md").write_text("# About")
    assert [d.doc_id for d in read(tmp_path)] == ["d"]


def test_an_id_given_twice_is_told_with_both_places(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_text('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "x"}\n')
    two.write_text('{"_id": "c", "text": "x"}\n\n{"_id": "b", "text": "y"}\n')
    with pytest.raises(
        CollectionError, match=r"_id 'b' was already given at .*one\.jsonl:2; ids must differ"
    ) as caught:
        read(one, two)
    assert (caught.value.path, caught.value.line) == (two, 3)


def test_equal_lines_on_one_line_number_of_two_files_are_told_too(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for path in (one, two):
        path.write_text('{"_id": "a", "text": "x"}\n')
    with pytest.raises(CollectionError, match="already given"):
        read(one, two)


def test_two_files_of_one_name_are_told(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("# A\ntext")
    with pytest.raises(CollectionError, match="already given"):
        read(tmp_path / "x" / "a.md", tmp_path / "y" / "a.md")


@pytest.mark.parametrize(
    ("name", "message"), [("nothing", "no such file or folder"), ("x.png", "not a kind of file that is read")]
)
def test_a_source_that_cannot_be_read_is_told(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "x.png").write_bytes(b"")
    with pytest.raises(CollectionError, match=message):
        read(tmp_path / name)


def test_a_folder_with_nothing_to_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"no file in this folder is one of .*\.jsonl"):
        read(tmp_path)


def test_no_source_is_told() -> None:
    with pytest.raises(CollectionError, match="no source was given"):
        find_files([])


def test_lines_are_counted_ahead_and_files_are_not(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "x"}')
    assert count_documents(find_files([path])) == 2
    assert count_documents(find_files([path, folder])) is None


def test_text_in_another_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nstra\xdfe")
    with pytest.raises(CollectionError, match="save the file as UTF-8") as caught:
        read(path)
    assert caught.value.line == 2


def test_text_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("straße\r\nzwei".encode("utf-16"))
    assert [d.text for d in read(path)] == ["straße\nzwei"]

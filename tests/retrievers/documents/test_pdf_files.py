from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.pdf import read_pdf

pypdf = pytest.importorskip("pypdf")


def pdf(path: Path, pages: list[str], bookmarks: tuple[tuple[str, int, int | None], ...] = ()) -> Path:
    """A PDF with one line of text a page; bookmarks are (title, page, index of the one above)."""
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
    for text in pages:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
        page[NameObject("/Resources")] = fonts
    made: list[Any] = []
    for title, number, above in bookmarks:
        made.append(
            writer.add_outline_item(title=title, page_number=number, parent=None if above is None else made[above])
        )
    writer.write(path)
    return path


def test_pages_are_sections_under_their_bookmarks(tmp_path: Path) -> None:
    marks = (("Rules", 0, None), ("Lamps", 1, 0), ("Fees", 3, None))
    path = pdf(tmp_path / "manual.pdf", ["stop", "shine", "shine on", "pay"], marks)
    assert [(s.path, s.text) for s in read_pdf(path)] == [
        (("manual", "Rules", "page 1"), "stop"),
        (("manual", "Rules", "Lamps", "page 2"), "shine"),
        (("manual", "Rules", "Lamps", "page 3"), "shine on"),
        (("manual", "Fees", "page 4"), "pay"),
    ]


def test_without_bookmarks_the_page_number_is_the_heading(tmp_path: Path) -> None:
    assert [s.path for s in read_pdf(pdf(tmp_path / "manual.pdf", ["a", "b"]))] == [
        ("manual", "page 1"),
        ("manual", "page 2"),
    ]


def test_a_scan_without_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="holds no text, only pictures"):
        list(read_pdf(pdf(tmp_path / "scan.pdf", [""])))


@pytest.mark.parametrize("content", [b"", b"hello", b"%PDF-1.7\n%%EOF", b"%PDF-1.7\nxref\n0 1\ntrailer\n<<>>\n%%EOF"])
def test_a_file_that_is_no_pdf_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(content)
    with pytest.raises(CollectionError, match="not a PDF that can be read") as caught:
        list(read_pdf(path))
    assert caught.value.path == path


def test_a_locked_file_is_told(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(pdf(tmp_path / "open.pdf", ["secret"]))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    with pytest.raises(CollectionError, match="not a PDF that can be read"):
        list(read_pdf(tmp_path / "locked.pdf"))

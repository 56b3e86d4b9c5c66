"""PDF: a section for each page, under the bookmarks that lead to it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragoman.errors import CollectionError, MissingExtraError
from dragoman.retrievers.documents.passages import Section


def read_pdf(path: Path) -> Iterator[Section]:
    """The pages of a PDF file that hold text, each under its bookmarks and "page N".

    Raises:
        MissingExtraError: pypdf is not installed.
        CollectionError: the file is damaged, locked, or holds no text (a scan).
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as exc:
        raise MissingExtraError(f"reading {path}", "pdf") from exc
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every small flaw that it mends
    found = False
    try:
        reader = PdfReader(path)
        title = str((reader.metadata and reader.metadata.title) or "").strip() or path.stem
        bookmarks = dict(_bookmarks(reader, reader.outline, ()))
        above: tuple[str, ...] = ()
        for number, page in enumerate(reader.pages):
            above = bookmarks.get(number, above)
            text = page.extract_text().strip()
            found = found or bool(text)
            yield Section((title, *above, f"page {number + 1}"), text)
    except OSError as exc:
        raise CollectionError(f"cannot be read: {exc}", path) from exc
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
        # pypdf lets a damaged file's oddities out as these.
        raise CollectionError(f"not a PDF that can be read ({exc}); save it again or convert it to text", path) from exc
    if not found:
        raise CollectionError("holds no text, only pictures; run text recognition (OCR) over it first", path)


def _bookmarks(reader: Any, outline: Any, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Page number (from 0) -> path of bookmarks; of several on a page the last, which the next pages go on with."""
    own = above
    for entry in outline:
        if isinstance(entry, list):
            yield from _bookmarks(reader, entry, own)
            continue
        own = (*above, str(entry.title).strip())
        number = reader.get_destination_page_number(entry)
        if number is not None and number >= 0:
            yield number, own

"""Plain text: one section under the file's name. And how any text file is decoded."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.passages import Section

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file: by its byte order mark, else in `encoding`.

    Raises:
        CollectionError: it cannot be read, or is in another encoding.
    """
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise CollectionError(f"cannot be read: {exc}", path) from exc
    encoding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), encoding)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise CollectionError(f"not {encoding}: {exc.reason}; save the file as UTF-8", path, line) from exc
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_plain(path: Path) -> Iterator[Section]:
    """The whole text as one section, headed by the file's name without its ending."""
    yield Section((path.stem,), read_text(path), 1)

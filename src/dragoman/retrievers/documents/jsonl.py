"""One JSON object a line, in the layout of BEIR's corpus.jsonl; such documents are never split.

    {"_id": "46.2-870", "title": "Maximum speed limits", "text": "...", "metadata": {"state": "Virginia"}}

`id` is read like `_id`. Further keys at the top count as metadata, so that a plain export needs no
reshaping. A value that is not text is kept as JSON writes it (`true`, `3`, `["a", "b"]`); null is left out.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.document import Document

_OWN_KEYS = frozenset({"_id", "id", "title", "text", "metadata"})


def read_jsonl(path: Path) -> Iterator[Document]:
    """The documents of a JSONL file, also a gzipped one, one at a time.

    Raises:
        CollectionError: a line is not such an object; `.line` says which.
    """
    try:
        with _opened(path) as file:
            for number, raw in enumerate(file, start=1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if line.strip():
                    yield _document(line, path, number)
    except (OSError, EOFError) as exc:
        raise CollectionError(f"cannot be read: {exc}", path) from exc


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _document(line: bytes, path: Path, number: int) -> Document:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise CollectionError(f"not UTF-8 at byte {exc.start}; save the file as UTF-8", path, number) from exc
    except (json.JSONDecodeError, RecursionError) as exc:
        raise CollectionError(f"not JSON ({exc}); expected one object a line", path, number) from exc
    except ValueError as exc:  # what Python refuses to read of JSON
        raise CollectionError("a whole number of too many digits; write it as text", path, number) from exc
    if not isinstance(row, dict):
        raise CollectionError(f"found {_kind(row)}, expected an object with _id, title and text", path, number)
    metadata = row.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise CollectionError(f"metadata is {_kind(metadata)}, expected an object", path, number)
    known = {key: value for key, value in row.items() if key not in _OWN_KEYS} | (metadata or {})
    return Document(
        doc_id=_doc_id(row, path, number),
        title=_text(row, "title", path, number, required=False),
        text=_text(row, "text", path, number, required=True),
        metadata={key: plain(value) for key, value in known.items() if value is not None},
        line=number,
    )


def _doc_id(row: dict[str, Any], path: Path, number: int) -> str:
    value = row.get("_id", row.get("id"))
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        found = "no _id" if value is None else f"_id {value!r}"
        raise CollectionError(f"{found}, expected a text or a whole number that names the document", path, number)
    return str(value)


def _text(row: dict[str, Any], key: str, path: Path, number: int, *, required: bool) -> str:
    value = row.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        found = f"no {key}" if value is None else f"{key} is {_kind(value)}"
        raise CollectionError(f"{found}, expected text", path, number)
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def plain(value: object) -> str:
    """A metadata value as text, as filters compare it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""JSON lines, one object a line: read with their numbers, and appended in one piece."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import CollectionError


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their lines, from 1; blank lines and a byte order mark are passed over.

    Raises:
        CollectionError: a line that is no JSON object, or a file that cannot be read.
    """
    line = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line, row in enumerate(file, start=1):
                if row.strip():
                    yield line, _object(row, path, line)
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError(f"cannot be read on: {error}; expected a UTF-8 text file", path, line or None) from error


def _object(row: str, path: Path, line: int) -> dict[str, Any]:
    try:
        value = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise CollectionError(f"no JSON here: {error}; expected one object a line", path, line) from error
    if not isinstance(value, dict):
        raise CollectionError(f"found {type(value).__name__}; expected an object a line", path, line)
    return value


def append_line(file: Path, row: Mapping[str, Any], certain: bool = False) -> None:
    """Add an object in one piece, so that several processes may write to one file.

    A line that another process was killed in stays alone: the new one begins on its own.

    Args:
        certain: wait until it is on the disk.

    Raises:
        OSError: the file cannot be written.
    """
    line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" + line if torn else line)
        if certain:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

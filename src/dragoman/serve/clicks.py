"""Feedback: hits that helped, appended to a log that `dragoman learn` reads.

One JSON object a line: `question` and `doc_id`, as `dragoman.learn.read_pairs` takes them, and where they
are known `rank`, `profile` and `at` (UTC, ISO 8601). Hits that did not help stand in a file of their own
beside it, for nothing is to be learned from them. Both hold questions: keep them as you would keep those.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def now() -> str:
    """This moment, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def append_line(file: Path, row: Mapping[str, Any]) -> None:
    """Add a line in one piece, so that several processes may write to one file, and make sure that it is there.

    A line that another process was killed in stays alone: the new one begins on its own.
    """
    line = json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        os.write(descriptor, b"\n" + line if torn else line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Clicks:
    """The log.

    Attributes:
        file: hits that helped.
        unhelpful: hits that did not.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.unhelpful = file.with_name(f"{file.stem}.unhelpful{file.suffix}")

    def keep(self, row: Mapping[str, Any], helped: bool = True) -> None:
        """Append what is known of one click; what is None is left out.

        Raises:
            OSError: the file cannot be written.
        """
        file = self.file if helped else self.unhelpful
        append_line(file, {"at": now(), **{key: value for key, value in row.items() if value is not None}})

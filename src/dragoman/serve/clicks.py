"""Feedback: hits that helped, appended to a log that `dragoman learn` reads.

One JSON object a line: `question` and `doc_id`, as `dragoman.learn.read_pairs` takes them, and where they
are known `rank`, `profile` and `at` (UTC, ISO 8601). Hits that did not help stand in a file of their own
beside it, for nothing is to be learned from them. Both hold questions: keep them as you would keep those.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dragoman.jsonlines import append_line


def now() -> str:
    """This moment, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


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
        kept = {key: value for key, value in row.items() if value is not None}
        append_line(file, {"at": now(), **kept}, certain=True)

"""Proposed lexicon entries and guards, kept in a file until a person has reviewed them.

A journal, one JSON object a line: a proposal, or a review of one by its `id`. The profile's own files
are never written: what was accepted is given out as lexicon lines, for a person to put where they belong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from dragoman.errors import CollectionError
from dragoman.rewriters.entries import serialise
from dragoman.serve.changes import entry_of
from dragoman.serve.clicks import append_line, now

OPEN, ACCEPTED, REJECTED = "open", "accepted", "rejected"


class Proposals:
    """The journal."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def propose(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a proposal; it is given back with its `id`, `at` and `status`.

        Raises:
            OSError: the file cannot be written.
        """
        kept = {"id": uuid4().hex[:12], "at": now(), **row}
        append_line(self.file, kept)
        return {**kept, "status": OPEN}

    def review(self, identity: str, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Keep a review of a proposal, which is given back as it now is; None where there is none of that id.

        Raises:
            OSError: the file cannot be written.
        """
        if not any(each["id"] == identity for each in self.all()):
            return None
        append_line(self.file, {"review": identity, "reviewed_at": now(), **row})
        return next(each for each in self.all() if each["id"] == identity)

    def all(self) -> list[dict[str, Any]]:
        """Every proposal with what became of it, the newest first.

        Raises:
            CollectionError: a line is not of this form.
        """
        found: dict[str, dict[str, Any]] = {}
        for row in self._rows():
            if "review" in row:
                held = found.get(row["review"])
                if held is not None:
                    held.update({key: value for key, value in row.items() if key != "review"})
            else:
                found[row["id"]] = {"status": OPEN, **row}
        return list(reversed(found.values()))

    def lexicon(self) -> str:
        """The accepted entries as the text of a lexicon file, each under its reason."""
        lines = []
        for row in reversed(self.all()):
            if row["status"] == ACCEPTED and row["kind"] == "lexicon":
                reason = " ".join(str(row.get("reason", "")).split())
                lines.append((f"# {reason}\n" if reason else "") + serialise([entry_of(row["line"])]))
        return "\n".join(lines)

    def _rows(self) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        rows = []
        for number, line in enumerate(self.file.read_text("utf-8").splitlines(), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError:  # a process was killed while it wrote; nobody was told that this line is kept
                    continue
                if not isinstance(row, dict) or not ("id" in row or "review" in row):
                    raise CollectionError("neither a proposal nor a review", self.file, number)
                rows.append(row)
        return rows

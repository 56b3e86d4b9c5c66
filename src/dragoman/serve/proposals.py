"""Proposed lexicon entries and guards, kept in a file until a person has reviewed them.

A journal, one JSON object a line: a proposal, or a review of one by its `id`. The profile's own files
are never written: what was accepted is given out as lexicon lines, and as guards in the profile's own
form, for a person to put where they belong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from dragoman.errors import CollectionError
from dragoman.jsonlines import append_line
from dragoman.rewriters.entries import serialise
from dragoman.serve.changes import Changes, entry_of, rule_of
from dragoman.serve.clicks import now

OPEN, ACCEPTED, REJECTED = "open", "accepted", "rejected"
LEXICON, GUARD = "lexicon", "guard"


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
        append_line(self.file, kept, certain=True)
        return {**kept, "status": OPEN}

    def review(self, identity: str, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """Keep a review of a proposal, which is given back as it now is; None where there is none of that id.

        Raises:
            OSError: the file cannot be written.
        """
        if self.find(identity) is None:
            return None
        append_line(self.file, {"review": identity, "reviewed_at": now(), **row}, certain=True)
        return self.find(identity)

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

    def find(self, identity: str) -> dict[str, Any] | None:
        """The proposal of that id; None where there is none.

        Raises:
            CollectionError: a line is not of this form.
        """
        return next((each for each in self.all() if each["id"] == identity), None)

    def lexicon(self) -> str:
        """The accepted entries as the text of a lexicon file, each under its reason.

        Comments name the lines that are to go: `# instead of: LINE` and `# leave out: LINE`.
        """
        return "\n".join(map(_lines, self._accepted(LEXICON)))

    def guards(self) -> str:
        """The accepted guards as tables of a profile, each under its reason; comments name those that are to go."""
        return "\n".join(map(_table, self._accepted(GUARD)))

    def _accepted(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in reversed(self.all()) if row["status"] == ACCEPTED and row["kind"] == kind]

    def _rows(self) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        rows = []
        for number, line in enumerate(self.file.read_text("utf-8").split("\n"), start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError:  # a process was killed while it wrote; nobody was told that this line is kept
                    continue
                if not isinstance(row, dict) or not ("id" in row or "review" in row):
                    raise CollectionError("neither a proposal nor a review", self.file, number)
                rows.append(row)
        return rows


def changes_of(row: Mapping[str, Any]) -> Changes:
    """What a proposal changes of its profile.

    Raises:
        ProfileError: a line or a guard that cannot be used.
    """
    if "guard" in row:
        guard = row["guard"]
        return Changes(guards=(rule_of(guard["id"], guard["pattern"], guard["replacement"], guard["reason"]),))
    if "without_guard" in row:
        return Changes(without_guards=(row["without_guard"],))
    gone = row.get("without", row.get("replaces"))
    lines = (str(entry_of(row["line"])),) if "line" in row else ()
    return Changes(lexicon=lines, without=entry_of(gone).left if gone else ())


def _lines(row: Mapping[str, Any]) -> str:
    """A proposal as lines of a lexicon file."""
    if "without" in row:
        return _comments(row) + f"# leave out: {_one_line(row['without'])}\n"
    return _comments(row) + serialise([entry_of(row["line"])])


def _table(row: Mapping[str, Any]) -> str:
    """A proposal as a table of a profile."""
    if "without_guard" in row:
        return _comments(row) + f"# leave out the guard {_text(row['without_guard'])}\n"
    guard = row["guard"]
    reason = guard["reason"] or row.get("reason") or f"proposed at {row['at']}"  # a profile's guard needs one
    held = {**guard, "reason": reason}
    return _comments(row) + "[[guards]]\n" + "".join(f"{key} = {_text(value)}\n" for key, value in held.items())


def _comments(row: Mapping[str, Any]) -> str:
    """Why, and instead of what."""
    said = [_one_line(row.get("reason", ""))]
    if row.get("replaces"):
        said.append(f"instead of: {_one_line(row['replaces'])}")
    return "".join(f"# {line}\n" for line in said if line)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(value: str) -> str:
    """A text as TOML holds it: JSON's escapes, and one more sign that has to be."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

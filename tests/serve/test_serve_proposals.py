"""The journal of proposals keeps what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.serve.proposals import Proposals


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\r"])
def test_what_others_take_for_an_end_of_line_is_kept_and_can_be_reviewed(tmp_path: Path, mark: str) -> None:
    journal = Proposals(tmp_path / "journal.jsonl")
    row = {"kind": "lexicon", "profile": "p", "line": "a => b", "question": f"one{mark}two"}
    made = journal.propose(row)
    assert [each["question"] for each in journal.all()] == [row["question"]]
    assert journal.review(made["id"], {"status": "accepted"}) is not None

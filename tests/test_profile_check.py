"""A profile's check: what it runs, what it finds, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.profile import profile_names
from dragoman.profile_check import check_profile

MINE = r"""
lexicon = ["words.txt"]
steps = ["rules", "lexicon", "rephrase", "guards"]

[limits]
figures = "any"

[[guards]]
id = "shot"
pattern = '\bshots?\b'
replacement = "injection"
reason = "the formulary has no shots"
examples = [["flu shot", "flu injection"]]

[[examples]]
question = "hello, can i get a flu shot"
reply = { about_corpus = true, searches = ["flu shot", "influenza vaccine 2024"] }
searches = ["flu injection", "influenza vaccine 2024"]

[[examples]]
question = "hey, meds for babies"
query = "medicine for babies"
"""


def write(tmp_path: Path, text: str = MINE) -> Path:
    (tmp_path / "words.txt").write_text("meds => medicine\n", "utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_profile_whose_examples_hold_passes(tmp_path: Path) -> None:
    report = check_profile(write(tmp_path))
    assert (report.ok, str(report), report.notes) == (True, "4 of 4 checks hold", ())


@pytest.mark.parametrize("name", profile_names())
def test_a_shipped_profile_passes_its_own_check(name: str) -> None:
    report = check_profile(name)
    assert report.ok, str(report)
    assert str(report).endswith(f"{len(report.checks)} of {len(report.checks)} checks hold")


def test_a_check_that_fails_says_what_was_found_and_where(tmp_path: Path) -> None:
    text = MINE.replace('["flu shot", "flu injection"]', '["flu shot", "flu jab"]')
    text = text.replace('query = "medicine for babies"', 'query = "drugs"\noff_topic = true')
    report = check_profile(write(tmp_path, text))
    assert [(check.what, check.line) for check in report.failed] == [
        ("guard 'shot'", None),
        ("example 'hey, meds for babies'", 20),
    ]
    assert "'flu shot' becomes 'flu injection', expected 'flu jab'" in str(report)
    assert "query: 'medicine for babies', expected 'drugs'; off_topic: False, expected True" in str(report)


@pytest.mark.parametrize(
    ("example", "holds", "says"),
    [
        ('question = "x"\nreply = { about_corpus = false, searches = [] }\noff_topic = true', True, ""),
        ('question = "x"\nreply = { about_corpus = false, searches = ["a"] }\noutcome = "unreadable"', True, ""),
        ('question = "x"\nreply = { about_corpus = true, searches = ["a"] }\noutcome = "rejected"', False, "rewritten"),
        ('question = "x"\noutcome = "bad"', False, "outcome 'bad' is none of rewritten, unchanged"),
        ('question = "x"\nreply = { noisy = true, rewritten = "y" }\nquery = "y"', False, "no prompted step has"),
        ('question = "y"\nhistory = [["user", "x"]]\nquery = "y"', True, ""),
        ('question = "y"\nsearches = ["z"]', False, "searches: (), expected ('z',)"),
    ],
)
def test_examples_are_run_with_the_replies_that_they_give(tmp_path: Path, example: str, holds: bool, says: str) -> None:
    text = MINE[: MINE.index("[[examples]]")] + "[[examples]]\n" + example
    report = check_profile(write(tmp_path, text))
    assert report.checks[-1].holds is holds, report
    assert says in report.checks[-1].found


@pytest.mark.parametrize(
    ("question", "says"), [("", "the question is empty"), ("x" * 20_001, "20,001 characters, more than 20,000")]
)
def test_an_example_that_cannot_be_asked_fails_in_its_line_and_stops_no_other(
    tmp_path: Path, question: str, says: str
) -> None:
    path = write(tmp_path, MINE.replace("hello, can i get a flu shot", question))
    report = check_profile(path)
    assert len(report.checks) == 4
    (failed,) = report.failed
    assert (failed.line, says in failed.found) == (15, True)
    assert str(report).startswith(f"{path}:15: example '{question[:200]}': ")


def test_what_may_be_meant_otherwise_is_noted(tmp_path: Path) -> None:
    text = "lexicon = ['words.txt']\nsteps = ['rules']\n[[guards]]\nid='a'\npattern='b'\nreplacement='c'\nreason='d'"
    notes = " ".join(check_profile(write(tmp_path, text)).notes)
    for words in ("'lexicon' is not among the steps", "'guards' is not among the steps", "'a' has no examples"):
        assert words in notes


@given(st.binary(max_size=120))
def test_no_file_breaks_the_check(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.toml"
        path.write_bytes(data)
        report = check_profile(path)
        assert report.path == path

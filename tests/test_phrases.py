"""Phrases are found where a text sets them off."""

from __future__ import annotations

import pytest

from dragoman.phrases import defined, headings, runs

STOP = {"the", "of", "a", "is", "to"}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ('"Motor  vehicle" means a thing that drives.', {"Motor vehicle"}),
        ("“Highway” shall mean a way.", {"Highway"}),
        ('"Bus" or "coach" means a long vehicle.', {"Bus"}),
        ('He said "stop" and went.', set()),
    ],
)
def test_a_term_is_defined_where_the_text_says_what_it_means(text: str, terms: set[str]) -> None:
    assert defined(text) == terms


def test_a_heading_is_the_title_up_to_the_next_sections_and_what_markdown_marks() -> None:
    assert headings("Lights; when required§ 1-3. Horns", "# Tax abroad #\n\ntext") == {
        "Lights; when required",
        "Tax abroad",
    }
    assert headings("", "no heading") == set()


def test_runs_stay_inside_a_clause_and_may_hold_one_joining_word() -> None:
    found = runs("The right of way; stop sign ahead. A fee of 30 to pay", STOP)
    assert found == {("right", "of", "way"), ("stop", "sign"), ("sign", "ahead"), ("stop", "sign", "ahead")}

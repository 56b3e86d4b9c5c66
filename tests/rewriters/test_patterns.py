"""Which regular expressions are safe to run, and texts that they match."""

from __future__ import annotations

import re

import pytest

from dragoman.rewriters.patterns import check_replacement, danger, samples


@pytest.mark.parametrize(
    "pattern",
    [
        r"\btext(?:s|ing|ed)?\b(?!\s+messag)",
        r"\b(?:cop|policeman|police\s+officer)s?\b",
        r"\bdriver(?:'s)?\s+licen[cs]e\b",
        r"(?:\s+\w+){0,2} limit",
        r"(?:\d{4})+-x",
        r"^the\s+",
        r"(?<!motor )\bvehicle\b",
        r"(a)(?:b)?(?P<c>c)\d+",
    ],
)
def test_everyday_patterns_are_safe(pattern: str) -> None:
    assert danger(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+b",
        r"(a*)*b",
        r"(a|a)*b|c(?:d|dd)+e",
        r"([a-z]+\s*)*$x",
        r"(?=(a+)+)b",
        r"(?:(x+x+)+y)",
        r"((ab?){2,50}){5}c",
    ],
)
def test_patterns_that_may_take_for_ever_are_not(pattern: str) -> None:
    assert "for ever" in danger(pattern)


def test_a_pattern_that_takes_too_long_is_found_by_running_it() -> None:
    assert "ms on" in danger(r"\w+\w+\w+\w+\w+!x")


def test_a_pattern_that_is_none_raises() -> None:
    with pytest.raises(re.error):
        danger("(")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\btext(?:s|ing)?\b", {"text", "texts", "texting"}),
        (r"a[bc]d", {"abd", "acd"}),
        (r"x{3}", {"xxx"}),
        (r"\d\s[^a]", {"1 x"}),
        (r"foo.", {"foox"}),
        (r"(?P<n>a|b)-(?P=n)?", {"a-", "b-"}),
    ],
)
def test_samples_are_texts_that_the_pattern_matches(pattern: str, expected: set[str]) -> None:
    assert expected <= set(samples(pattern))
    assert all(re.search(pattern, text, re.IGNORECASE) for text in samples(pattern))


def test_samples_are_few_however_many_choices_there_are() -> None:
    assert len(list(samples("(?:a|b|c|d)" * 12))) <= 64


def test_a_replacement_names_groups_that_are_there() -> None:
    check_replacement(r"\1 of \g<n>", re.compile("(a)(?P<n>b)"))
    with pytest.raises((re.error, IndexError)):
        check_replacement(r"\3", re.compile("(a)(?P<n>b)"))

"""A profile's own rules: applied until nothing changes, and turned down where that never comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.rewriters.guard_rules import Rule, Unsettled, settle, unsettled
from dragoman.types import RuleHit

TEXTING = Rule(
    "electronic-message",
    r"\btext(?:s|ing|ed)?\b(?!\s+messag)",
    "electronic message text message",
    "the code has no texting",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("text", "electronic message text message"),
        ("texts", "electronic message text message"),
        ("texting while driving", "electronic message text message while driving"),
        ("driver texted at a light", "driver electronic message text message at a light"),
        ("TEXTING", "electronic message text message"),
        ("text message", "text message"),
        ("text messaging device", "text messaging device"),
        ("text  messages", "text  messages"),
        ("context of a texture", "context of a texture"),
        ("texting and texting", "electronic message text message and electronic message text message"),
    ],
)
def test_texting_becomes_both_of_the_laws_words_and_only_once(text: str, expected: str) -> None:
    once, _ = settle(text, [TEXTING])
    assert once == expected
    assert settle(once, [TEXTING]) == (expected, [])


def test_a_rule_that_bites_says_what_where_and_why() -> None:
    assert settle("Texting fine", [TEXTING])[1] == [
        RuleHit("electronic-message", "Texting", "electronic message text message", "the code has no texting")
    ]


def test_groups_of_the_pattern_stand_in_the_replacement() -> None:
    rule = Rule("swap", r"\b(\w+)'s licence\b", r"licence of \1", "")
    assert settle("driver's licence", [rule])[0] == "licence of driver"


@pytest.mark.parametrize(
    "rules",
    [
        [Rule("more", "speed", "maximum speed", "")],
        [Rule("grow", r"\bmax\b", "max imum max", "")],
        [Rule("a", "cop", "officer", ""), Rule("b", "officer", "cop", "")],
        [Rule("a", r"\bcar\b", "motor vehicle", ""), Rule("b", r"\bvehicle\b", "car", "")],
        [Rule("twice", r"\bbig\b", "big ", "", (("big", "big"),))],
    ],
)
def test_rules_whose_replacement_never_settles_are_found_without_any_text(rules: list[Rule]) -> None:
    found = list(unsettled(rules))
    assert found
    assert all(rule in rules and why for rule, why in found)


def test_a_rule_whose_replacement_holds_what_it_replaces_may_still_settle() -> None:
    assert list(unsettled([TEXTING])) == []
    assert (
        list(unsettled([Rule("us", r"\bcolour\b", "color", ""), Rule("re", r"\bcolor\b(?! of)", "color of", "")])) == []
    )


def test_a_text_that_rules_change_for_ever_is_an_error_and_no_endless_loop() -> None:
    with pytest.raises(Unsettled, match="'more' never settles"):
        settle("speed", [Rule("more", "speed", "maximum speed", "")])


@pytest.mark.parametrize(
    ("pattern", "replacement", "says"),
    [
        ("(", "", "unterminated subpattern"),
        ("[a", "", "unterminated character set"),
        ("a", r"\1", "invalid group reference"),
        ("a", r"\g<x>", "unknown group name"),
        ("", "x", "matches the empty text"),
        ("a*", "x", "matches the empty text"),
        (r"(a+)+b", "", "repeats a group that itself repeats"),
        (r"(?:a|ab)*c", "", "repeats a group that itself repeats or chooses"),
        (r"(\w+\s?)+x", "", "repeats a group"),
        (r"(?:(?:a{1,9}){1,9}){1,9}b", "", "repeats a group"),
        ("a" * 600, "", "600 characters"),
    ],
)
def test_a_rule_that_cannot_be_used_safely_is_turned_down_where_it_is_made(
    pattern: str, replacement: str, says: str
) -> None:
    with pytest.raises(ValueError, match="guard 'mine'") as caught:
        Rule("mine", pattern, replacement)
    assert says in str(caught.value)


def test_a_rule_needs_an_id() -> None:
    with pytest.raises(ValueError, match="needs an id"):
        Rule("  ", "a", "b")


def test_a_rule_that_multiplies_the_text_is_stopped_before_it_fills_the_memory() -> None:
    rule = Rule("flood", "0", "0" * 500)
    with pytest.raises(Unsettled, match="flood"):
        settle("000", [rule])
    assert [found.id for found, _ in unsettled([rule])] == ["flood"]


@given(st.text(max_size=200))
def test_settling_twice_is_settling_once(text: str) -> None:
    once, _ = settle(text, [TEXTING])
    assert settle(once, [TEXTING]) == (once, [])

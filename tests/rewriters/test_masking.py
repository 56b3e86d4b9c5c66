"""People's data is masked; numbers of the law are not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.rewriters.masking import Masking, is_card


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("write to jo.do+x@mail.example.co.uk please", "write to [email] please"),
        ("call me at (555) 123-4567 or 555.123.4567", "call me at [phone] or [phone]"),
        ("my number is +49 30 1234567.", "my number is [phone]."),
        ("text 555-0123 tonight", "text [phone] tonight"),
        ("5551234567", "[phone]"),
        ("card 4111 1111 1111 1111, ok", "card [card], ok"),
        ("4111-1111-1111-1111", "[card]"),
        ("378282246310005", "[card]"),
    ],
)
def test_peoples_data_is_masked(text: str, masked: str) -> None:
    assert Masking()(text) == masked
    assert Masking()(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "section 46.2-870 and § 316.1935(2)(a)",
        "2024-01-01 10:30 and 12/31/2024 23:59",
        "20240101, 1,000,000 dollars",
        "555-0123 of the code",
        "2020-2021 or 2021-2022",
        "192.168.100.200",
        "version 1.2.3.4.5.6.7.8",
        "@someone user@host a@b",
        "9999 9999 9999 9999 99",
        "error 0x80070005, KB5005565",
    ],
)
def test_what_is_no_persons_stays(text: str) -> None:
    assert Masking()(text) == text


def test_only_the_kinds_asked_for_are_masked() -> None:
    text = "a@b.example 555-123-4567"
    assert Masking(["email"])(text) == "[email] 555-123-4567"
    assert Masking(["phone"])(text) == "a@b.example [phone]"
    assert Masking([])(text) == text
    assert not Masking([])
    assert Masking(["phone", "card"]).kinds == ("card", "phone")


def test_an_unknown_kind_is_an_error_that_names_the_known() -> None:
    with pytest.raises(ValueError, match="unknown kind 'name'; expected some of email, phone, card"):
        Masking(["name"])


@pytest.mark.parametrize(
    ("number", "valid"), [("4111111111111111", True), ("4111111111111112", False), ("0" * 16, False), ("42", False)]
)
def test_a_cards_number_has_its_check_digit(number: str, valid: bool) -> None:
    assert is_card([int(digit) for digit in number]) is valid


@pytest.mark.parametrize("seed", ["1 ", "1-", "a", "a.a@", "(", "+1", "a@a.", "5-"])
def test_masking_takes_linear_time(seed: str) -> None:
    began = time.perf_counter()
    Masking()((seed * 20_000)[:20_000])
    assert time.perf_counter() - began < 0.5


@given(st.text(alphabet="0123456789 -()+.@ab", max_size=80))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = Masking()(text)
    assert Masking()(once) == once

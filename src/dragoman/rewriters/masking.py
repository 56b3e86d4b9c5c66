"""People's data out of a text before a model, a store or a log sees it; restored nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

KINDS = ("email", "phone", "card")
# Digits of a telephone number with its area code, or with its country's; E.164 allows 15.
LEAST_PHONE, MOST_PHONE = 10, 15
LEAST_CARD, MOST_CARD = 13, 19  # ISO/IEC 7812

# Every repeat is bounded and starts at a place where nothing of its own kind stands before, so that
# the time is linear in the text.
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?!\w)")
_LONG = re.compile(r"(?<![\w.])(?:\+|00)?\(?\d(?:[ ()./-]{0,3}\d){7,24}(?![\w])")
_SHORT = re.compile(r"(?<![\w.-])\d{3}-\d{4}(?![\w-])")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d(?!\d)")
_CALL = re.compile(r"\b(?:phone|call|tel|telephone|mobile|cell|number|ring|text)\b[^\n]{0,20}$", re.IGNORECASE)


def _digits(text: str) -> list[int]:
    return [int(letter) for letter in text if letter.isdecimal()]


def is_card(digits: list[int]) -> bool:
    """Whether digits have a payment card's length and check digit (Luhn, ISO/IEC 7812-1)."""
    if not LEAST_CARD <= len(digits) <= MOST_CARD or len(set(digits)) == 1:
        return False
    doubled = [(2 * d - 9 if d > 4 else 2 * d) if i % 2 else d for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def is_phone(text: str, digits: list[int]) -> bool:
    """Whether digits, written as they are, are a telephone number: long enough, and grouped or with a prefix."""
    if _DATE.match(text):
        return False
    written = text.startswith(("+", "00", "(")) or bool(re.search(r"\d[ ()/-]{1,3}\d", text)) or text.count(".") == 2
    return LEAST_PHONE <= len(digits) <= MOST_PHONE and (written or len(digits) in (10, 11))


def _emails(text: str) -> str:
    return _EMAIL.sub("[email]", text)


def _cards(text: str) -> str:
    return _LONG.sub(lambda m: "[card]" if is_card(_digits(m[0])) else m[0], text)


def _phones(text: str) -> str:
    text = _LONG.sub(lambda m: "[phone]" if is_phone(m[0], _digits(m[0])) else m[0], text)
    return _SHORT.sub(lambda m: "[phone]" if _CALL.search(text, max(0, m.start() - 40), m.start()) else m[0], text)


# In this order whatever order is asked for: a card number would pass for a telephone's.
_MASKS: Mapping[str, Callable[[str], str]] = {"email": _emails, "card": _cards, "phone": _phones}


class Masking:
    """Puts `[email]`, `[phone]` and `[card]` where a person's were. A second time changes nothing.

    Section numbers, years, prices and other short numbers stay. What cannot be told from them stays
    too: this lowers what leaks, it does not promise that nothing does.

    Args:
        kinds: of `KINDS`; none: nothing is masked.
    """

    def __init__(self, kinds: Iterable[str] = KINDS) -> None:
        wanted = set(kinds)
        unknown = wanted - set(KINDS)
        if unknown:
            raise ValueError(f"unknown kind {min(unknown)!r}; expected some of {', '.join(KINDS)}")
        self.kinds = tuple(kind for kind in _MASKS if kind in wanted)

    def __repr__(self) -> str:
        return f"Masking({self.kinds})"

    def __bool__(self) -> bool:
        return bool(self.kinds)

    def __call__(self, text: str) -> str:
        """The text with what is to be masked replaced."""
        for kind in self.kinds:
            text = _MASKS[kind](text)
        return text

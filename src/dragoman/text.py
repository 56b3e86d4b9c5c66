"""Analysis: how text is cleaned, folded, cut into words and stemmed. One place, one way.

A word is a run of letters and digits with inner apostrophes, hyphens and dots kept where they
stand between two of them ("don't", "46.2-870", "x-ray"); `words` cuts further at hyphens only
where a caller asks for `terms`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2060\ufeff]")
_WORD = re.compile(r"\w+(?:[.'’\-]\w+)*", re.UNICODE)
_TERM = re.compile(r"[^\W_]+(?:['’][^\W_]+)*", re.UNICODE)
_IDENTIFIER = re.compile(
    r"(?<![\w.\-])(?=[\w.\-/]*\d)(?:§\s*)?(?:[A-Za-z]+[-_.]?)?\d[\w]*(?:[.\-/:]\d?\w+)+(?![\w])"
    r"|(?<!\w)(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9_]{3,}(?!\w)"
    r"|(?<![\w\-])[A-Za-z]{1,8}-\d{2,}\w*(?![\w\-])"
)
LANGUAGES = {"en": "english", "de": "german", "fr": "french", "es": "spanish"}


class Token(NamedTuple):
    """A word of a text: as it stands, and from which character to which."""

    text: str
    start: int
    end: int


def sanitize(text: str) -> str:
    """Replace what no engine can carry: lone surrogates by U+FFFD, control characters by a space.

    Text without them is returned unchanged, the same object.
    """
    if not _CONTROL.search(text):
        return text
    return _CONTROL.sub(lambda m: "\ufffd" if "\ud800" <= m[0] <= "\udfff" else " ", text)


def fold(text: str) -> str:
    """Case-folded, compatibility-composed (NFKC), typographic quotes and dashes made plain."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return folded.translate(_PLAIN)


_PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "–": "-", "—": "-"})


def tokens(text: str) -> Iterator[Token]:
    """The words of `text` with their places, hyphens and inner dots kept."""
    return (Token(m[0], m.start(), m.end()) for m in _WORD.finditer(text))


def words(text: str) -> list[str]:
    """The folded words of `text`, in order, hyphens and inner dots kept."""
    return [fold(m) for m in _WORD.findall(text)]


def terms(text: str) -> list[str]:
    """The folded words of `text` cut at every hyphen and dot, as the embedded index cuts them."""
    return _TERM.findall(fold(text))


@cache
def stop_words(language: str = "en") -> frozenset[str]:
    """Words that tell nothing about a need in `language`; empty for one that is not shipped."""
    data = resources.files("dragoman") / "data" / "stop" / f"{language}.txt"
    if not data.is_file():
        return frozenset()
    lines = data.read_text("utf-8").splitlines()
    return frozenset(w for line in lines if not line.startswith("#") for w in line.split())


@cache
def stemmer(language: str = "en") -> Callable[[str], str]:
    """A Snowball stemmer (Porter 2001), memoised; the identity where the language has none."""
    if language not in LANGUAGES:
        return lambda word: word
    import snowballstemmer

    return lru_cache(maxsize=65_536)(snowballstemmer.stemmer(LANGUAGES[language]).stemWord)


def stems(text: str, language: str = "en") -> list[str]:
    """The stems of the telling words of `text`: folded, cut, stop words left out, stemmed."""
    stop, stem = stop_words(language), stemmer(language)
    return [stem(term) for term in terms(text) if term not in stop]


def identifiers(text: str) -> list[str]:
    """Section numbers, error codes, part numbers: what must reach the engine as it stands."""
    return [m[0] for m in _IDENTIFIER.finditer(text)]

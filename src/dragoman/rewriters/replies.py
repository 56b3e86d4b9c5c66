"""What a model's text holds besides the search: talk, lists, markup, query syntax.

Pure functions from text to text. Everything is bounded before a regular expression sees it.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import Any

from dragoman.text import fold, identifiers, sanitize, words

MOST_CHARACTERS = 4000  # of one search as a model wrote it; more is no search, whatever it holds
KINDS = ("preamble", "closing", "refusal", "answer", "instruction")

_THOUGHT = re.compile(
    r"<(think|thinking|reasoning|script|style)\b[^<>]{0,200}>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>|<!--[^<>]{0,200}-->|<\|[^<>|]{0,40}\|>")
_LINK = re.compile(r"!?\[([^\[\]]{1,200})\]\([^()\s]{0,300}\)")
_BULLET = re.compile(
    r"^\s*(?:#{1,6}\s+|>\s+|[-*+•‣–—]\s+|\(?\d{1,3}[.)]\s+|\(?[a-hA-H]\)\s+|(?:search|query)\s*#?\d{1,2}\s*[:.)-]\s*)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(?<![\w:/.-])[+-]?[A-Za-z_][\w.]{0,40}:(?=[\"'(\[*]|[^\W\d])")
_OPERATOR = re.compile(r"(?<!\S)(?:AND|OR|NOT|NEAR(?:/\d+)?|&&|\|\||TO)(?!\S)")
_PREFIX = re.compile(r"(?<!\S)[+\-!](?=\w)")
_BOOST = re.compile(r"[\^~]\d*(?:\.\d+)?")
_SYNTAX = re.compile(r"[\"“”„«»*(){}\[\]\\|<>=`_]+")
_SPECIAL = re.compile(r"\w[\w+#*:./=<>-]{0,60}")
_EDGE = " \t\r\n.,;:!?'’‘&/-–—…"
_MARKS = _EDGE + '"“”*`()[]{}'
_INNER_EDGE = _EDGE.replace(",", "").replace(";", "")  # a comma between two phrases harms nothing


@cache
def phrases() -> Mapping[str, Any]:
    """The shipped lists of how replies look that are no searches."""
    data = resources.files("dragoman") / "data" / "guards.toml"
    return tomllib.loads(data.read_text("utf-8"))


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    joined = "|".join(f"(?:{pattern})" for pattern in phrases()[kind])
    return re.compile(joined if kind == "closing" else rf"\s*(?:{joined})", re.IGNORECASE)


def is_like(kind: str, text: str) -> bool:
    """Whether `text` looks like one of the `KINDS` of talk."""
    pattern = _pattern(kind)
    return bool(pattern.search(text) if kind == "closing" else pattern.match(text))


def talk(text: str) -> str:
    """Which kind of talk `text` is instead of a search; empty when it is none."""
    return next((kind for kind in ("refusal", "instruction", "answer", "closing") if is_like(kind, text)), "")


def lines(text: str) -> list[str]:
    """A text as the lines that may be searches: thoughts, preambles and list marks out, blank lines left out.

    Longer than `MOST_CHARACTERS`: no lines at all.
    """
    if len(text) > MOST_CHARACTERS:
        return []
    found = []
    for line in _THOUGHT.sub(" ", sanitize(text)).splitlines():
        bare = _unlisted(line)
        if bare.strip(_EDGE + '"“”*`'):
            found.append(bare)
    return found


def _unlisted(line: str) -> str:
    """Without the list marks and preambles before it, of which there may be several ("- 1. Query: ")."""
    while True:
        bare = line.strip(' \t"“”*`')
        preamble = _pattern("preamble").match(bare)
        bare = _BULLET.sub("", bare[preamble.end() :] if preamble else bare, count=1).strip()
        if bare == line:
            return line
        line = bare


def plain(text: str, keep: Collection[str] = ()) -> str:
    """Words and spaces: markup, entities, query syntax and punctuation at the edges out.

    Args:
        keep: tokens, such as the question's own, that stay as they stand ("C++", "foo_bar").
    """
    before = None
    while text != before:  # what is left of nested marks may be marks again
        before = text
        text = html.unescape(text) if "&" in text else text
        text = _LINK.sub(r"\1", _TAG.sub(" ", sanitize(text)))
        text = _trimmed(" ".join(filter(None, (_plain_run(run, keep) for run in _runs(text, keep)))), keep)
    return text


def _trimmed(text: str, keep: Collection[str]) -> str:
    """Without punctuation at its end, where that is no part of a kept token."""
    return text if not text or text.split()[-1] in keep else text.rstrip(_EDGE)


def _runs(text: str, keep: Collection[str]) -> list[str]:
    """The text cut so that every kept token stands alone."""
    if not keep:
        return [text]
    runs: list[str] = []
    loose: list[str] = []
    for token in text.split():
        if token in keep or token.strip(_MARKS) in keep:
            runs += [" ".join(loose), token if token in keep else token.strip(_MARKS)]
            loose = []
        else:
            loose.append(token)
    return [run for run in [*runs, " ".join(loose)] if run]


def special(text: str) -> frozenset[str]:
    """The tokens of what somebody asked that `plain` would take for marks and are names: "C++", "foo_bar"."""
    tokens = (token.strip(_MARKS) for token in text.split())
    return frozenset(token for token in tokens if _SPECIAL.fullmatch(token) and _plain_run(token, ()) != token)


def _plain_run(run: str, keep: Collection[str]) -> str:
    if run in keep:
        return run
    run = _OPERATOR.sub(" ", _FIELD.sub(" ", run))
    run = _PREFIX.sub("", _SYNTAX.sub(" ", _BOOST.sub(" ", run)))
    return " ".join(token.lstrip(_EDGE).rstrip(_INNER_EDGE) for token in run.split() if token.strip(_EDGE))


def cut(text: str, characters: int) -> str:
    """At most `characters` of it, ending at a word; empty where its first word alone is longer."""
    if len(text) <= characters:
        return text
    return text[: characters + 1].rpartition(" ")[0].rstrip(_EDGE)


_FIGURE = re.compile(r"[$€£]?\d+(?:[.,:]\d+)*(?:%|st|nd|rd|th)?(?!\w)")
_BARE = re.compile(r"\d+(?:[.,:]\d+)*")


def figures(text: str, language: str = "en") -> set[str]:
    """The numbers in `text`: digits as they stand without separators of thousands, number words as digits.

    A word that mixes letters and digits ("B12", "H1N1") is a name, not a number.
    """
    found = {_number(m[0]) for token in text.split() for m in _BARE.finditer(token) if not _is_name(token)}
    return found | {str(_numerals(language)[word]) for word in words(text) if word in _numerals(language)}


def _number(text: str) -> str:
    return re.sub(r",(?=\d{3}(?!\d))", "", text)


_MEASURE = re.compile(
    r"\W*\d+(?:[.,:]\d+)*(?:-[a-z]{1,7}(?:-old)?|st|nd|rd|th|mph|km|kph|ft|lbs?|kg|yo|yrs?|h|hrs?|mins?|am|pm|k|m)?\W*"
)


def _is_name(token: str) -> bool:
    """Whether a token with letters in it is a name ("B12", "omega-3"), not a measure ("24-hour", "25mph")."""
    return bool(re.search(r"[^\W\d_]", token)) and not _MEASURE.fullmatch(token)


@cache
def _numerals(language: str) -> Mapping[str, int]:
    listed = phrases()["numbers"].get(language, "").split()
    return {fold(word): number for number, word in enumerate(listed) if number > 1}


def without_figures(text: str, given: Collection[str]) -> tuple[str, list[str]]:
    """`text` without the numbers that are not `given`, and those numbers."""
    kept: list[str] = []
    out: list[str] = []
    for token in text.split():
        named = kept and kept[-1].casefold() in phrases()["named"]  # "type 2 diabetes" is a name
        strange = not named and _FIGURE.search(token) and not _is_name(token) and not figures(token, "") <= set(given)
        if strange:
            out.append(token)
        elif any(letter.isalnum() for letter in token):  # a "§" is nothing without its number
            kept.append(token)
    return " ".join(kept), out


@cache
def _negation(language: str) -> re.Pattern[str] | None:
    listed = phrases()["negations"].get(language)
    return re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE) if listed else None


def negations(text: str, language: str = "en") -> list[str]:
    """The words that turn a meaning round; none where the language has no list."""
    pattern = _negation(language)
    if pattern is None:
        return []
    idioms = phrases()["idioms"].get(language)
    text = fold(text)
    return pattern.findall(re.sub(rf"(?<!\w)(?:{idioms})(?!\w)", " ", text) if idioms else text)


def lost(asked: str, said: str, given: str, language: str = "en") -> str:
    """What of numbers, identifiers and negation `said` lacks of `asked`, or turns round; empty for nothing.

    Args:
        given: all that the asker said, earlier turns too: a negation may come from there.
    """
    for identifier in identifiers(asked):
        if fold(identifier) not in fold(said):
            return f"the identifier {identifier!r} is gone"
    gone = figures(asked, language) - figures(said, language)
    if gone:
        return f"the number {min(gone)} is gone"
    before, after = negations(asked, language), negations(said, language)
    if before and not after:
        return f"the negation {before[0]!r} is gone"
    if after and not negations(given, language):
        return f"the negation {after[0]!r} is new"
    return ""

"""The search engines' synonyms format: lines of a file into entries, and entries into lines.

    # a comment, kept with the entry below it
    whats the fastest => maximum speed         replaced: the left side goes, the right side comes
    phone => phone, handheld telephone|0.6     widened: a term that is on both sides stays
    tire, tyre                                 equivalents: whichever stands there, the others come too

A backslash makes the next character plain (`\\,`, `\\=>`, `\\#`, `\\|`, `\\\\`), as in Solr and Elasticsearch.
`|0.8` behind a term that comes in is its weight for engines that can boost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dragoman.errors import LexiconError
from dragoman.text import fold, sanitize

MOST_ENTRIES = 250_000  # a trie of these takes about 250 MB
MOST_WORDS = 12  # in one term: nobody says a longer thing word for word
MOST_TERMS = 24  # on one side: more would drown the question
LEAST_WEIGHT, MOST_WEIGHT = 0.01, 10.0
# "l'assurance", "qu'il": the elided word is one of its own. An inner apostrophe stays: "driver's".
WORD = re.compile(r"(?:[cdjlmnstCDJLMNST]|[qQ][uU])['’](?=[^\W_]{2})|[^\W_]++(?:['’][^\W_]++)*+")
# Seven times as fast as the pattern above, for plain text without apostrophes.
_TO_SPACE = str.maketrans({chr(c): " " for c in range(128) if not chr(c).isalnum()})
# An engine's analysis drops quotation marks; here they would hide what stands between them.
_NO_QUOTES = str.maketrans(dict.fromkeys('"“”„«»`'))
_SPECIAL = re.compile(r"[\\,|]|=>|^#")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that come into a search, and their weight; None where the file gives none."""

    text: str
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line.

    Attributes:
        left: what is looked for.
        right: what comes; for equivalents the same terms as `left`.
        explicit: written with `=>`.
        comment: the comment lines right above it, without their `#`.
        line: from 1; 0 where it was not read from a file.
    """

    left: tuple[str, ...]
    right: tuple[Term, ...]
    explicit: bool = True
    comment: str = ""
    path: str = ""
    line: int = 0

    @property
    def source(self) -> str:
        """File and line, as records name it."""
        return f"{self.path}:{self.line}" if self.path and self.line else self.path

    def __str__(self) -> str:
        """The line of the file, without its comment."""
        right = ", ".join(_escape(t.text) + ("" if t.weight is None else f"|{t.weight:g}") for t in self.right)
        return f"{', '.join(map(_escape, self.left))} => {right}" if self.explicit else right


def keys(text: str) -> list[str]:
    """The words of `text` as entries are compared: folded, cut at hyphens, "driver's" as "drivers"."""
    if "'" not in text and text.isascii():
        return text.lower().translate(_TO_SPACE).split()
    return [_key(fold(word)) for word in WORD.findall(text)]


def _key(word: str) -> str:
    """One folded word as it is compared. Only 's and n't lose their apostrophe: "I'll" is not "ill"."""
    return word.replace("'", "") if word.endswith(("'s", "n't")) else word


def parse(text: str, path: str = "") -> Iterator[Entry]:
    """The entries of a file's text, in order.

    Raises:
        LexiconError: a line that cannot be read, or more entries than `MOST_ENTRIES`.
    """
    comment: list[str] = []
    found = 0
    for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        line = raw.strip()
        if line.startswith("#"):
            comment.append(line.lstrip("#").strip())
        elif line:
            found += 1
            if found > MOST_ENTRIES:
                raise LexiconError(f"more than {MOST_ENTRIES:,} entries; split the file by corpus", path, number)
            yield _entry(line, "\n".join(comment), path, number)
            comment = []
        else:
            comment = []


def serialise(entries: Iterable[Entry]) -> str:
    """The text of a file that `parse` reads back to the same entries, their lines and path aside."""
    lines: list[str] = []
    for entry in entries:
        if entry.comment:
            lines += ["", *(f"# {line}".rstrip() for line in entry.comment.splitlines())]
        elif lines and lines[-1].startswith("#"):
            lines.append("")
        lines.append(str(entry))
    return "\n".join(lines).lstrip("\n") + "\n" if lines else ""


def _entry(line: str, comment: str, path: str, number: int) -> Entry:
    sides = _split(line, "=>")
    if len(sides) > 2:
        raise LexiconError("'=>' stands twice; write one mapping a line, or '\\=>' for the sign", path, number)
    if len(sides) == 1:
        terms = _terms(line, path, number)
        if len(terms) == 1:
            message = f"{terms[0].text!r} stands alone; write what it is replaced by, 'a => b', or its equivalents"
            raise LexiconError(message, path, number)
        return Entry(tuple(t.text for t in terms), terms, False, comment, path, number)
    left, right = (_terms(side, path, number) for side in sides)
    weighted = next((t for t in left if t.weight is not None), None)
    if weighted is not None:
        message = f"a weight on the left of '=>' ({weighted.text}|{weighted.weight:g}); only what comes in has one"
        raise LexiconError(message, path, number)
    return Entry(tuple(t.text for t in left), right, True, comment, path, number)


def _terms(side: str, path: str, number: int) -> tuple[Term, ...]:
    terms = tuple(_term(part, path, number) for part in _split(side, ","))
    if len(terms) > MOST_TERMS:
        raise LexiconError(f"{len(terms)} terms on one side; {MOST_TERMS} at most", path, number)
    seen: set[tuple[str, ...]] = set()
    for term in terms:
        words = tuple(keys(term.text))
        if words in seen:
            raise LexiconError(f"{term.text!r} stands twice on one side; write it once", path, number)
        seen.add(words)
    return terms


def _term(part: str, path: str, number: int) -> Term:
    text, *weights = _split(part, "|")
    text = " ".join(sanitize(_unescape(text)).translate(_NO_QUOTES).split())
    words = len(keys(text))
    if not words:
        found = f"{text!r} has no word in it" if text else "a term is empty"
        raise LexiconError(f"{found}; write words between the commas and on both sides of '=>'", path, number)
    if words > MOST_WORDS:
        raise LexiconError(f"a term of {words} words, {MOST_WORDS} at most: {text[:80]!r}", path, number)
    if not weights:
        return Term(text)
    try:
        (weight,) = map(float, weights)
    except ValueError:
        weight = math.nan
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        expected = f"a number from {LEAST_WEIGHT} to {MOST_WEIGHT:g}, as in '{text}|0.8'; '\\|' for the sign itself"
        raise LexiconError(f"the weight {'|'.join(weights).strip()!r} is not {expected}", path, number)
    return Term(text, weight)


def _split(text: str, mark: str) -> list[str]:
    """Cut at every `mark` that no backslash stands before; backslashes stay."""
    if "\\" not in text:
        return text.split(mark)
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(mark, at):
            parts.append(text[start:at])
            at += len(mark)
            start = at
        else:
            at += 1
    return [*parts, text[start:]]


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda m: "\\" + m[0], text)

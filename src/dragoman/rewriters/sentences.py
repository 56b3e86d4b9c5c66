"""A question cut into sentences and words, with what must not be touched in one piece."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from dragoman.rewriters.automaton import plain
from dragoman.rewriters.untouched import UNTOUCHED

# A word is letters with inner apostrophes and hyphens, and what follows it is no part of a larger
# thing ("so.py", "please/thanks"). Anything else up to the next space or mark is one opaque piece.
_PIECES = re.compile(
    rf"""(?P<word>[^\W\d_]++(?:['’\-][^\W\d_]++)*+)(?=[\s,;:!?()\[\]"“”…]|\.(?:[\s.]|$)|-\s|[’']\s|$)
  | (?P<opaque>{UNTOUCHED}|\[[A-Z]++\])
  | (?P<mark>[.,;:!?…]++(?=\s|$|[^\W\d_])|[,;!?…]++|[¿¡]++|[()\[\]\-–—*"“”'’]+(?=\s|$|[^\W_]))
  | (?P<other>[^\s,;!?…]++)""",
    re.VERBOSE,
)
_STOPS = re.compile(r"[.!?…;]")


class Piece(NamedTuple):
    """A word, a mark or something opaque.

    Attributes:
        start: its first character, from 0; `end` the one behind its last.
        word: folded and without apostrophes ("I'd" is "id"); empty for what is no word.
        mark: it is punctuation.
    """

    start: int
    end: int
    word: str
    mark: bool


Sentence: TypeAlias = list[Piece]


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of `text`: pieces up to a full stop, a question mark, a line's end or the like; none empty."""
    current: Sentence = []
    lines = "\n" in text
    before = 0
    for match in _PIECES.finditer(text):
        start, end = match.span()
        if lines and current and "\n" in text[before:start]:
            yield current
            current = []
        before = end
        kind = match.lastgroup
        if kind == "word":
            current.append(Piece(start, end, plain(match[0]), mark=False))
        elif kind == "mark":
            initial = bool(current) and match[0] == "." and current[-1].end - current[-1].start == 1  # "H. pylori"
            current.append(Piece(start, end, "", mark=True))
            if _STOPS.search(match[0]) and not initial:
                yield current
                current = []
        else:
            current.append(Piece(start, end, "", mark=False))
    if current:
        yield current

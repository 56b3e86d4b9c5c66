"""Sections of a file into passages: short enough to be found and read, under ids that stay.

A section that is longer than `LONGEST` words is cut at paragraphs, else at sentences, else between words, and each
part begins with the last words of the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count
from typing import NamedTuple

from dragoman.retrievers.documents.document import Document
from dragoman.text import fold

# The embedder reads some 190 words; BM25 and a person do well with twice that.
LONGEST = 300
OVERLAP = 40
_BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+")
_NOT_SLUG = re.compile(r"[^\w]+")
_LONGEST_SLUG = 80


class Section(NamedTuple):
    """A stretch of a file under one heading.

    Attributes:
        path: the headings above it, the outermost first, its own last.
        text: what stands under it, without the sections below it.
        line: where it begins in the file, from 1; 0 where that is not known.
    """

    path: tuple[str, ...]
    text: str
    line: int = 0


def passages(name: str, sections: Iterator[Section]) -> Iterator[Document]:
    """The passages of one file, `NAME#slug-of-heading`, in order.

    Equal headings are told apart by a number, `#fees-2`; parts of a long section by `#fees~2`.
    A heading with nothing under it is left to the paths of those below it.
    """
    used: set[str] = set()
    for section in sections:
        if not section.text.strip():
            continue
        slug = _slug(section.path[-1] if section.path else "")
        first = f"{name}#{slug}" if slug else name
        again = (f"{first}-{n}" if slug else f"{first}#{n}" for n in count(2))
        doc_id = next(one for one in chain([first], again) if one not in used)
        used.add(doc_id)
        title = " > ".join(dict.fromkeys(section.path))
        metadata = {"document": name}
        for number, part in enumerate(windows(section.text), start=1):
            part_id = doc_id if number == 1 else f"{doc_id}~{number}"
            yield Document(part_id, title, part, metadata, origin=name, line=section.line)


def _slug(heading: str) -> str:
    return _NOT_SLUG.sub("-", fold(heading)).strip("-")[:_LONGEST_SLUG].rstrip("-")


def windows(text: str, longest: int = LONGEST, overlap: int = OVERLAP) -> Iterator[str]:
    """`text` in parts of at most `longest` words, each after the first beginning with up to `overlap` words more."""
    if len(text.split()) <= longest:
        yield text.strip()
        return
    before: list[str] = []
    part: list[str] = []
    held = 0
    for piece in _pieces(text, longest):
        size = len(piece.split())
        if part and held + size > longest:
            whole = "".join(part)
            yield (" ".join(before) + " " + whole).strip()
            before = whole.split()[-overlap:] if overlap else []
            part, held = [], 0
        part.append(piece)
        held += size
    yield (" ".join(before) + " " + "".join(part)).strip()


def _pieces(text: str, longest: int) -> Iterator[str]:
    """Sentences and paragraphs with the space after them; those over `longest` words cut between words."""
    start = 0
    ends = [match.end() for match in _BREAK.finditer(text)] + [len(text)]
    for end in ends:
        piece = text[start:end]
        words = piece.split()
        if len(words) <= longest:
            yield piece
        else:
            yield from (" ".join(words[i : i + longest]) + " " for i in range(0, len(words), longest))
        start = end

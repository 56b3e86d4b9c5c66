"""Where a text's phrases are: its headings, the terms it defines, the words that stand side by side."""

from __future__ import annotations

import re
from collections.abc import Collection

from dragoman.text import terms

_DEFINED = re.compile(
    r"[\"“]([^\"“”\n]{2,80})[\"”]\s*(?:,?\s+or\s+[\"“][^\"“”\n]{2,80}[\"”]\s*)?"
    r"(?:means|shall mean|has the meaning|includes|is defined as)\b"
)
_MARKDOWN_HEADING = re.compile(r"^#{1,6}[ \t]+(.{2,200}?)[ \t#]*$", re.MULTILINE)
_CLAUSE = re.compile(r"[.,;:!?()\[\]{}\"“”\n§]+")
# The few stop words that stand inside a term: "right of way", "proof of insurance".
_JOINING = frozenset({"of", "for", "to", "in"})
_LONGEST_HEADING = 200


def defined(text: str) -> set[str]:
    """What the text defines: `"Motor vehicle" means …`."""
    found = {" ".join(term.split()).strip(" ,.") for term in _DEFINED.findall(text)}
    return found - {""}


def headings(title: str, text: str) -> set[str]:
    """The title and the text's Markdown headings, cleaned; those of one character left out.

    A section's title in sources of law often goes on with the next sections' numbers and titles, set off by "§".
    """
    found = set()
    for heading in (title, *_MARKDOWN_HEADING.findall(text)):
        cleaned = " ".join(heading.split("§")[0].split())[:_LONGEST_HEADING].strip(" .;:")
        if len(cleaned) > 1:
            found.add(cleaned)
    return found


def runs(text: str, stop: Collection[str]) -> set[tuple[str, ...]]:
    """Runs of two or three telling words inside a clause, or of two with "of" between, folded."""
    found: set[tuple[str, ...]] = set()
    for clause in _CLAUSE.split(text):
        words = terms(clause)
        telling = [len(word) > 1 and word not in stop and not word.isdigit() for word in words]
        for i in range(len(words) - 1):
            if not telling[i]:
                continue
            if telling[i + 1]:
                found.add((words[i], words[i + 1]))
            if i + 2 < len(words) and telling[i + 2] and (telling[i + 1] or words[i + 1] in _JOINING):
                found.add((words[i], words[i + 1], words[i + 2]))
    return found

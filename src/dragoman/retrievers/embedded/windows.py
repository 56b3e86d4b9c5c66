"""What of a document the embedder reads: one window after another, each under the document's title.

A small embedder reads some 190 words and leaves the rest unread, and what it says of many sentences at
once is near to nothing in particular. Windows cut a long document into equal parts; the document is as
near to a question as its nearest window. On statutes, whose sections have 258 words on average, this
finds far more than the first 256 tokens alone; docs/adr has the figures.
"""

from __future__ import annotations

LONGEST = 80  # words
MOST = 24  # windows of one document: what stands after some 1,900 words is found by words alone
LONGEST_TITLE = 40


def windows(title: str, text: str) -> list[str]:
    """At least one text, however empty the document."""
    heading = short_title(title)
    words = text.split()
    if len(words) <= LONGEST:
        return [f"{heading} {text.strip()}".strip()]
    size = -(-len(words) // -(-len(words) // LONGEST))
    starts = range(0, len(words), size)[:MOST]
    return [f"{heading} {' '.join(words[start : start + size])}".strip() for start in starts]


def short_title(title: str) -> str:
    """A title without what sources of law put after their own: the next sections' numbers and titles."""
    return " ".join((title.split("§")[0].strip() or title).split()[:LONGEST_TITLE])

"""What no rule may change: quoted text, code and addresses, wherever they stand in a question."""

from __future__ import annotations

import re

# Every alternative stops at its own opening mark and at a line's end, so that a text of ten
# thousand unclosed quotes is still read once.
UNTOUCHED = r"""
    ```(?:[^`]|`(?!``))*+```
  | `[^`\n]++`
  | "[^"\n]++"
  | “[^“”"\n]++[”"]
  | „[^„“”"\n]++[“”"]
  | «[^«»\n]++»
  | (?<!\w)'[^'\n]++'(?!\w)
  | (?<!\w)‘[^‘’\n]++’(?!\w)
  | (?<!\w)(?:https?://|www\.)[^\s"<>]++
"""
_SPANS = re.compile(UNTOUCHED, re.VERBOSE)
_MARK = re.compile(r"[\"`“„«'‘]|://|www\.")


def untouched(text: str) -> list[tuple[int, int]]:
    """Where in `text` quoted text, code spans and URLs stand: (from, to), in order, apart."""
    if not _MARK.search(text):
        return []
    return [m.span() for m in _SPANS.finditer(text)]

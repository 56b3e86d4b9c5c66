"""A part of a document that a command writes: what stands between two marks."""

from __future__ import annotations

from pathlib import Path


def write_between(path: Path, name: str, text: str) -> None:
    """Put `text` between `<!-- NAME:begin -->` and `<!-- NAME:end -->` in a file that has both marks.

    Raises:
        ValueError: it has not.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    document = path.read_text("utf-8")
    before, found, rest = document.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"{path} has no part between {begin} and {end}; put both marks where it belongs")
    path.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", "utf-8")

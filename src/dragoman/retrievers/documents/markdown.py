"""Markdown, split at its headings (`#` and underlined ones); what looks like one inside a code block is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dragoman.retrievers.documents.passages import Section
from dragoman.retrievers.documents.plain import read_text

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NO_PARAGRAPH = re.compile(r"\s*$|\s*(?:[-*+>|]|\d+[.)])(?:\s|$)| {4}|\t")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ANCHOR = re.compile(r"[ \t]*\{#[^}]*\}$")


def read_markdown(path: Path) -> Iterator[Section]:
    """The sections of a Markdown file, each under the path of its headings; front matter is left out."""
    lines = read_text(path).split("\n")
    outline: list[tuple[int, str]] = [(0, path.stem)]
    held: list[str] = []
    begun = 1
    fence = ""
    number = _front_matter(lines)
    while number < len(lines):
        line = lines[number]
        number += 1
        fence, was = _fenced(line, fence), fence
        found = None if fence or was else _heading(line, lines[number] if number < len(lines) else "", held)
        if found is None:
            held.append(line)
            continue
        level, text, taken = found
        yield Section(_path(outline), "\n".join(held).strip(), begun)
        begun, held = number, []
        number += taken
        while outline and outline[-1][0] >= level:
            outline.pop()
        outline.append((level, text))
    yield Section(_path(outline), "\n".join(held).strip(), begun)


def _path(outline: list[tuple[int, str]]) -> tuple[str, ...]:
    # The file's name stands for the title only until there is one: "# Manual" in manual.md.
    named = outline[1:] if len(outline) > 1 and outline[1][0] == 1 else outline
    return tuple(text for _, text in named if text)


def _front_matter(lines: list[str]) -> int:
    if lines and lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:], start=1):
            if line.rstrip() in ("---", "..."):
                return number + 1
    return 0


def _fenced(line: str, fence: str) -> str:
    """The fence that is open after this line; empty outside of code."""
    found = _FENCE.match(line)
    if not fence:
        return found[1] if found else ""
    closes = found and found[1][0] == fence[0] and len(found[1]) >= len(fence) and not line[found.end() :].strip()
    return "" if closes else fence


def _heading(line: str, following: str, held: list[str]) -> tuple[int, str, int] | None:
    """Level, text and how many further lines it takes, where `line` is a heading."""
    if found := _HEADING.match(line):
        return len(found[1]), _plain(found[2] or ""), 0
    underline = _UNDERLINE.match(following)
    alone = not held or not held[-1].strip()
    if underline and alone and not _NO_PARAGRAPH.match(line):
        return (1 if underline[1][0] == "=" else 2), _plain(line), 1
    return None


def _plain(heading: str) -> str:
    return _ANCHOR.sub("", _LINK.sub(r"\1", heading)).replace("`", "").replace("**", "").strip()

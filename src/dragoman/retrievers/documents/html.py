"""HTML, split at its headings h1 to h6; scripts, styles, navigation and forms are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.passages import Section
from dragoman.retrievers.documents.plain import read_text

_SKIPPED = frozenset({"script", "style", "template", "noscript", "nav", "svg", "form", "iframe", "object"})
# These stand inside a line; every other tag ends one.
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img", "ins", "kbd"}
    | {"mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt"}
    | {"u", "var", "wbr"}
)
_CELLS = frozenset({"td", "th"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?\s*([\w-]+)", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\f\v\xa0]+")
_LINES = re.compile(r"\s*\n\s*")


def read_html(path: Path) -> Iterator[Section]:
    """The sections of an HTML file, each under the path of its headings, the page's title outermost."""
    try:
        with path.open("rb") as file:
            declared = _CHARSET.search(file.read(2048))
        text = read_text(path, declared[1].decode() if declared else "utf-8")
    except OSError as exc:
        raise CollectionError(f"cannot be read: {exc}", path) from exc
    except LookupError as exc:
        raise CollectionError(f"declares a charset that does not exist ({exc}); save it as UTF-8", path) from exc
    page = _Page(path.stem)
    page.feed(text)
    page.close()
    yield from page.finish()


def _between(tag: str) -> str:
    """What a tag puts between the words on its two sides."""
    if tag in _INLINE:
        return ""
    return " " if tag in _CELLS else "\n"


class _Page(HTMLParser):
    """Collects sections while the page is read."""

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=True)
        self._name = name
        self._title: list[str] = []
        self._held: list[str] = []
        self._heading: list[str] | None = None
        self._outline: list[tuple[int, str]] = []
        self._sections: list[tuple[tuple[str, ...], str, int]] = []
        self._skipping: list[str] = []
        self._in_title = False
        self._begun = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _SKIPPED:
            self._skipping.append(tag)
        elif self._skipping:
            return
        elif tag == "title":
            self._in_title = True
        elif tag in _HEADINGS:
            self._end_section()
            self._heading = []
        else:
            self._put(_between(tag))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # "<script/>" or "<svg/>" has no end tag to end what is skipped.
        if tag not in _SKIPPED:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipping:
            # A closing tag ends what was left open inside it too.
            del self._skipping[self._skipping.index(tag) :]
        elif self._skipping:
            return
        elif tag == "title":
            self._in_title = False
        elif tag in _HEADINGS and self._heading is not None:
            self._end_heading(_HEADINGS[tag])
        else:
            self._put(_between(tag))

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._skipping:
            self._put(data)

    def _put(self, data: str) -> None:
        (self._held if self._heading is None else self._heading).append(data)

    def _end_heading(self, level: int) -> None:
        text = " ".join("".join(self._heading or ()).split())
        self._heading = None
        while self._outline and self._outline[-1][0] >= level:
            self._outline.pop()
        if text:
            self._outline.append((level, text))
        self._begun = self.getpos()[0]

    def _end_section(self) -> None:
        self._held += self._heading or ()  # a heading that was never closed is text
        text = _LINES.sub("\n", _SPACES.sub(" ", "".join(self._held))).strip()
        self._sections.append((tuple(heading for _, heading in self._outline), text, self._begun))
        self._held, self._heading = [], None

    def finish(self) -> Iterator[Section]:
        """All sections, once the page is read."""
        self._end_section()
        title = " ".join("".join(self._title).split()) or self._name
        for path, text, line in self._sections:
            yield Section((title, *path), text, line)

"""TOML files that people write, read so that every mistake has a file and a line.

`tomllib` gives values without places. A light scan of the source finds the line of every table and
key; what may stand in a file is a table of `Key`s and `Section`s, from which the reference pages
are made as well.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.errors import ProfileError

REQUIRED = object()  # a key without a default
MOST_BYTES = 1_000_000  # a profile or a prompt is written by hand
Where: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it holds, what it means, and what stands when it is left out.

    Attributes:
        kind: a name of `KINDS`.
        choices: the only texts allowed; empty for any.
        least: the smallest number allowed.
        inner: of `numbers`: the table that may stand in place of one of them; None: numbers alone.
    """

    kind: str
    about: str
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    inner: Section | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """One table, or a list of tables where `many`. Without `keys` it holds whatever it holds."""

    about: str
    keys: Mapping[str, Key | Section] = field(default_factory=dict)
    many: bool = False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(_is_texts(item) and len(item) == 2 for item in value)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_number(item) for item in value.values())


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("a text", lambda value: isinstance(value, str)),
    "texts": ("a list of texts", _is_texts),
    "pairs": ("a list of pairs of texts", _is_pairs),
    "integer": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    "number": ("a number", _is_number),
    "numbers": ("a table of numbers", _is_numbers),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "table": ("a table", lambda value: isinstance(value, dict)),
    "list": ("a list", lambda value: isinstance(value, list)),
}


class TomlFile:
    """A file's values, and the line (from 1) of every table and key in it.

    Args:
        path: named in every error.
        error: which error its mistakes raise: `ProfileError` or a kind of it.

    Raises:
        ProfileError: the file cannot be read, is larger than a megabyte, or is not TOML.
    """

    def __init__(self, path: Path | str, error: type[ProfileError] = ProfileError) -> None:
        self.path = Path(path)
        self._error = error
        try:
            raw = self.path.read_bytes()
        except OSError as exc:
            raise error(f"cannot be read: {exc.strerror or exc}; give the path of a TOML file", path) from exc
        if len(raw) > MOST_BYTES:
            raise error(f"{len(raw):,} bytes, more than {MOST_BYTES:,}; this is not a file written by hand", path)
        try:
            source = raw.decode("utf-8-sig").replace("\r\n", "\n")
            self.values: dict[str, Any] = tomllib.loads(source)
        except UnicodeDecodeError as exc:
            raise error(f"not UTF-8 at byte {exc.start}; save it as UTF-8", path) from exc
        except tomllib.TOMLDecodeError as exc:
            at = re.search(r"line (\d+)", str(exc))
            last = source.rstrip().count("\n") + 1  # "at end of document" is where the last line ends
            raise error(f"not TOML: {exc}", path, int(at[1]) if at else last) from exc
        except RecursionError as exc:
            raise error("not TOML: nested too deeply", path) from exc
        except ValueError as exc:  # what Python refuses to read of TOML
            longest = max(re.finditer(r"\d[\d_]*", source), key=lambda digits: len(digits[0]))
            line = source.count("\n", 0, longest.start()) + 1
            raise error("a whole number of too many digits; write a smaller one", path, line) from exc
        self._lines = lines_of(source)

    def line(self, where: Where) -> int | None:
        """The line of a key; of the nearest thing around it that has one, where it has none itself."""
        while where and where not in self._lines:
            where = where[:-1]
        return self._lines.get(where)

    def fail(self, message: str, where: Where = ()) -> ProfileError:
        """The error to raise about what stands at `where`."""
        return self._error(message, self.path, self.line(where))

    def read(self, keys: Mapping[str, Key | Section]) -> dict[str, Any]:
        """The values with defaults filled in, checked against `keys`.

        Raises:
            ProfileError: an unknown key, a missing one, a wrong type, a value out of bounds.
        """
        return self._table(self.values, keys, ())

    def _table(self, found: dict[str, Any], keys: Mapping[str, Key | Section], where: Where) -> dict[str, Any]:
        for name in found:
            if name not in keys:
                near = _nearest(name, keys)
                known = f"did you mean {near!r}?" if near else "known here: " + ", ".join(sorted(keys))
                raise self.fail(f"unknown key {_dotted((*where, name))!r}; {known}", (*where, name))
        read: dict[str, Any] = {}
        for name, key in keys.items():
            at = (*where, name)
            if isinstance(key, Section):
                read[name] = self._section(found.get(name), key, at)
            elif name in found:
                read[name] = self._value(found[name], key, at)
            elif key.default is REQUIRED:
                raise self.fail(f"{_dotted(at)!r} is missing: {key.about}", where)
            else:
                read[name] = key.default
        return read

    def _section(self, found: Any, section: Section, where: Where) -> Any:
        if section.many:
            rows = [] if found is None else found
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise self.fail(f"{_dotted(where)!r} is a list of tables; write [[{_dotted(where)}]]", where)
            return [self._table(row, section.keys, (*where, i)) for i, row in enumerate(rows)]
        table = {} if found is None else found
        if not isinstance(table, dict):
            raise self.fail(f"{_dotted(where)!r} is a table; write [{_dotted(where)}]", where)
        return self._table(table, section.keys, where) if section.keys else table

    def _value(self, found: Any, key: Key, where: Where) -> Any:
        tables = self._inner(found, key, where)
        plain = {name: value for name, value in found.items() if name not in tables} if tables else found
        if not KINDS[key.kind][1](plain):
            raise self.fail(f"{_dotted(where)!r} is {_said(found)}, expected {_holds(key)}", where)
        for value in found if key.kind == "texts" else (found,):
            if key.choices and value not in key.choices:
                raise self.fail(f"{_dotted(where)!r} is {value!r}, expected one of {', '.join(key.choices)}", where)
        for value in plain.values() if key.kind == "numbers" else (found,):
            if key.least is not None and value < key.least:
                raise self.fail(f"{_dotted(where)!r} is {value}, expected {key.least} or more", where)
        return {**found, **tables} if tables else found

    def _inner(self, found: Any, key: Key, where: Where) -> dict[str, Any]:
        """The tables that stand in place of numbers, checked and with defaults."""
        if key.inner is None or not isinstance(found, dict):
            return {}
        tables = {name: value for name, value in found.items() if isinstance(value, dict)}
        return {name: self._section(value, key.inner, (*where, name)) for name, value in tables.items()}


def _said(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # hexadecimal digits are read however many they are
        return "a whole number of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _dotted(where: Where) -> str:
    return ".".join(str(part) for part in where if isinstance(part, str))


def _nearest(name: str, known: Mapping[str, Any]) -> str | None:
    import difflib  # only a mistake needs it

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_LEXEME = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*|[\[\]{}]')


def lines_of(source: str) -> dict[Where, int]:
    """The line, from 1, of every table header and every key at the start of a line.

    Keys inside an inline table or a list have the line of the key that holds it.
    """
    found: dict[Where, int] = {}
    counts: dict[Where, int] = {}
    table: Where = ()
    depth, fence = 0, ""
    for number, line in enumerate(source.split("\n"), start=1):
        if not fence and depth == 0:
            if header := _HEADER.match(line):
                table = _header(header[2], header[1] == "[[", counts)
                found.setdefault(table, number)
                found.setdefault(tuple(p for p in table if isinstance(p, str)), number)
                continue
            if key := _KEY.match(line):
                path = (*table, *(part.strip("\"'") for part in _PART.findall(key[1])))
                found.setdefault(path, number)
        depth, fence = _open(line, depth, fence)
    return found


def _header(name: str, many: bool, counts: dict[Where, int]) -> Where:
    """The path of a table, with the place in its list after every list of tables."""
    path: Where = ()
    parts = [part.strip("\"'") for part in _PART.findall(name)]
    for i, part in enumerate(parts):
        path = (*path, part)
        if many and i == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _open(line: str, depth: int, fence: str) -> tuple[int, str]:
    """How many brackets and which multi-line quote are still open at the end of `line`."""
    at = 0
    while at < len(line):
        if fence:
            end = line.find(fence, at)
            if end < 0:
                return depth, fence
            at, fence = end + 3, ""
            continue
        lexeme = _LEXEME.search(line, at)
        if lexeme is None:
            break
        at = lexeme.end()
        if lexeme[0] in ('"""', "'''"):
            fence = lexeme[0]
        elif lexeme[0] in "[{":
            depth += 1
        elif lexeme[0] in "]}":
            depth = max(0, depth - 1)
    return depth, fence


def reference(keys: Mapping[str, Key | Section], where: str = "") -> str:
    """The keys as Markdown: a table, then one for each section, headed by its name."""
    own = {name: key for name, key in keys.items() if isinstance(key, Key)}
    rows = [f"| `{name}` | {_holds(key)} | {_default(key)} | {_about(key)} |" for name, key in own.items()]
    parts = ["\n".join(["| key | holds | left out | what it means |", "|---|---|---|---|", *rows])] if rows else []
    for name, key in keys.items():
        section, path = key, f"{where}.{name}" if where else name
        if isinstance(section, Key) and section.inner:
            section, path = section.inner, f"{path}.NAME"
        if isinstance(section, Section):
            parts.append(f"### `{f'[[{path}]]' if section.many else f'[{path}]'}`\n\n{_sentence(section.about)}")
            if section.keys:
                parts.append(reference(section.keys, path))
    return "\n\n".join(parts)


def _holds(key: Key) -> str:
    return KINDS[key.kind][0] + (" or tables" if key.inner else "")


def _default(key: Key) -> str:
    if key.default is REQUIRED:
        return "**needed**"
    return "" if key.default is None or key.default in ([], {}, "") else f"`{_toml(key.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace("'", '"') if isinstance(value, list) else str(value)


def _about(key: Key) -> str:
    choices = f": {', '.join(f'`{choice}`' for choice in key.choices)}" if key.choices else ""
    named = all(f"`{choice}`" in key.about for choice in key.choices)
    return key.about.replace("|", "\\|") + ("" if named else choices)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."

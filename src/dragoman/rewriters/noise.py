"""The noise of a language: its data file, read and compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from dragoman.rewriters.automaton import Automaton, Group, Lines, plain

_DOUBLE = re.compile(r"(.)\1+")


@dataclass(frozen=True, slots=True)
class Noise:
    """A language's file, compiled.

    Attributes:
        capitals_open: a capital behind a small letter begins a sentence.
        noise: every phrase of every group; `aside` those that are noise anywhere.
        kept: phrases that look like noise and are none.
        asks: what makes a sentence an asking one inside it.
        symbols: word -> itself as the lines spell it, and the sets that it is in.
        short: "helo" by "hello" without its doubled letters, for letters held down.
        naming: words that a name may follow in a phrase.
        asking: words that an asking sentence begins with.
        starters: others that a sentence may begin with behind a name.
        back: words that point back to what was said before.
        negation: words that are never taken out.
        chatter: words that say nothing about a need.
    """

    language: str
    capitals_open: bool
    noise: Automaton
    aside: Automaton
    kept: Automaton
    asks: Automaton
    symbols: Mapping[str, tuple[str, ...]]
    short: Mapping[str, str]
    naming: frozenset[str]
    asking: frozenset[str]
    starters: frozenset[str]
    back: frozenset[str]
    negation: frozenset[str]
    chatter: frozenset[str]

    def symbols_of(self, word: str) -> tuple[str, ...]:
        """What the automaton reads for a folded word without apostrophes; nothing for one in no phrase."""
        known = self.symbols.get(word)
        if known is None and (single := _single(word)) != word:
            known = self.symbols.get(self.short.get(single, ""))
        return known or ()


@lru_cache(maxsize=16_384)
def _single(word: str) -> str:
    """The word with every run of a letter as one."""
    return _DOUBLE.sub(r"\1", word)


def languages() -> tuple[str, ...]:
    """The languages that there is a file for."""
    folder = resources.files("dragoman") / "data" / "rules"
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))


@cache
def load(language: str) -> Noise:
    """A shipped language's phrases, compiled once.

    Raises:
        ValueError: there is no file for the language.
    """
    if language not in languages():
        shipped = ", ".join(languages())
        raise ValueError(f"there are no noise phrases for language {language!r}; there are for {shipped}, or 'auto'")
    file = f"rules/{language}.toml"
    text = (resources.files("dragoman") / "data" / file).read_text("utf-8")
    data = tomllib.loads(text)
    spelled = {bad: plain(good) for good, many in data.get("spelling", {}).items() for bad in plain(many).split()}
    every, aside, kept, asks = (Lines(spelled) for _ in range(4))
    lines = _lines(text)
    for group in _groups(data, language):
        for line in group[1]:
            source = f"{file}:{lines.get(line, 0)}"
            every.add(line, group[0], source)
            if "any" in group[0].places:
                aside.add(line, group[0], source)
    asking = data["asking"]
    for into, phrases in ((kept, data["keep"]), (asks, asking["inside"])):
        for line in phrases:
            into.add(line, Group(language, frozenset()), f"{file}:{lines.get(line, 0)}")
    words = every.words() | kept.words() | asks.words()
    noise = every.automaton()
    return Noise(
        language=language,
        capitals_open=data["capitals_open"],
        noise=noise,
        aside=aside.automaton(),
        kept=kept.automaton(),
        asks=asks.automaton(),
        symbols=_symbols(data, words, spelled),
        short={_single(word): word for word in sorted(words, key=len, reverse=True)},
        naming=noise.leads_to(frozenset(("{Name}", "{anyone}"))),
        asking=_words(asking["first"]),
        starters=_words(asking["starters"]),
        back=_words(asking["back"]),
        negation=_words(asking["negation"]),
        chatter=_words(asking["chatter"]),
    )


def _groups(data: Mapping[str, Any], language: str) -> Iterator[tuple[Group, list[str]]]:
    for group in data["group"]:
        places = frozenset(group["place"].split())
        flags = {name: group[name] for name in ("needs", "frame", "weak") if name in group}
        yield Group(f"{language}.{group['id']}", places, **flags), group["lines"]


def _symbols(data: Mapping[str, Any], words: set[str], spelled: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    sets = {name: _words(members) for name, members in data.get("sets", {}).items()}
    sets["name"] = _words(data["names"]) | _words(data["address"])
    written = {word: spelled.get(word, word) for word in words.union(*sets.values(), spelled)}
    return {
        word: (plain, *(f"{{{name}}}" for name, members in sets.items() if plain in members or word in members))
        for word, plain in written.items()
    }


def _words(text: str) -> frozenset[str]:
    return frozenset(plain(text).split())


def _lines(text: str) -> dict[str, int]:
    """The line on which each quoted phrase of a file first stands."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("#"):
            for phrase in re.findall(r'"([^"]*)"', line):
                found.setdefault(phrase, number)
    return found

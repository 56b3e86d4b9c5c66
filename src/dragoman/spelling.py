"""Words that the corpus does not hold, brought to words that it does.

No dictionary but the corpus's own: a suggestion is a word that documents hold. Candidates are the
word's other national spelling ("licence" / "license", `data/spelling`), every word one edit away, and
every word that sounds alike (the same consonants once doubled letters and letters of one sound are
merged: "excelerate" / "accelerate") at most two edits away. Best first: another spelling, two words for
one, then fewest edits and the more frequent word (Norvig 2007, with a frequency prior).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property
from importlib import resources

# Shorter words have too many neighbours: "bike" is one edit from "like" and "bake".
LEAST_LETTERS = 5
MOST_LETTERS = 40  # a longer run of letters is no slip, and has millions of strings an edit away
# A word that one document holds may itself be a misspelling.
LEAST_DOCUMENTS = 2
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_SOUNDS = ((re.compile("ph"), "f"), (re.compile("[ckqgxsz]+"), "c"), (re.compile("[aeiouyhw]"), ""))
_DOUBLED = re.compile(r"(.)\1+")


@cache
def _pairs(language: str) -> dict[str, list[tuple[str, str]]]:
    """The file's pairs of spellings, in both directions."""
    data = resources.files("dragoman") / "data" / "spelling" / f"{language}.toml"
    if not data.is_file():
        return {}
    table: dict[str, list[list[str]]] = tomllib.loads(data.read_text("utf-8"))
    return {key: [pair for a, b in rows for pair in ((a, b), (b, a))] for key, rows in table.items()}


def variants(word: str, language: str = "en") -> list[str]:
    """The folded word's other spellings, whether or not anybody writes them."""
    pairs = _pairs(language)
    found = [b for a, b in pairs.get("words", ()) if a == word]
    found += [b + word[len(a) :] for a, b in pairs.get("beginnings", ()) if word.startswith(a)]
    found += [word[: -len(a)] + b for a, b in pairs.get("endings", ()) if word.endswith(a) and len(word) > len(a) + 2]
    return list(dict.fromkeys(found))


def sound(word: str) -> str:
    """The consonants of `word`, letters of one sound merged and doubled ones made single."""
    for pattern, to in _SOUNDS:
        word = pattern.sub(to, word)
    return _DOUBLED.sub(r"\1", word)


def edits(first: str, second: str, most: int = 2) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours from one word to the other.

    The restricted Damerau-Levenshtein distance; `most + 1` as soon as it is known to be above `most`.
    """
    if abs(len(first) - len(second)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        new = [i]
        for j, b in enumerate(second, start=1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        if min(new) > most:
            return most + 1
        before, row = row, new
    return min(row[-1], most + 1)


def one_edit(word: str) -> Iterator[str]:
    """Every string one edit away from `word`, in the Latin alphabet."""
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _ALPHABET:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


class Speller:
    """Suggestions for one word, from words with their document frequencies.

    Args:
        words: surface form, folded -> number of documents that hold it.
        pairs: phrases, folded; a word is cut in two only where the two make one of them.
        language: whose national spellings are tried.
    """

    def __init__(self, words: Mapping[str, int], pairs: Collection[str] = (), language: str = "en") -> None:
        self._words = words
        self._pairs = pairs
        self._language = language

    def __call__(self, word: str) -> tuple[str, ...]:
        """At most five corpus words (or a pair) for `word`, folded already, best first."""
        if not word.isalpha() or word in self._words or len(word) > MOST_LETTERS:
            return ()
        found = {variant: -1 for variant in variants(word, self._language) if variant in self._words}
        if len(word) < LEAST_LETTERS:
            return tuple(found)
        split = [f"{word[:i]} {word[i:]}" for i in range(2, len(word) - 1)]
        found |= {pair: 0 for pair in split if pair in self._pairs}
        near = {candidate for candidate in self._words.keys() & one_edit(word) if self._frequent(candidate)}
        found |= dict.fromkeys(near - found.keys(), 1)
        for candidate in self._sounding.get(sound(word), ()):
            if candidate not in found and (distance := edits(word, candidate)) <= 2:
                found[candidate] = distance
        return tuple(sorted(found, key=lambda candidate: self._order(word, candidate, found[candidate]))[:5])

    def _order(self, word: str, candidate: str, distance: int) -> tuple[int, bool, bool, int, str]:
        """Fewest edits, then the same letters in another order, the same first one, the more frequent word."""
        mixed_up = sorted(candidate) == sorted(word)
        return distance, not mixed_up, candidate[0] != word[0], -self._words.get(candidate, 0), candidate

    def _frequent(self, word: str) -> bool:
        return len(word) >= LEAST_LETTERS - 1 and self._words.get(word, 0) >= LEAST_DOCUMENTS

    @cached_property
    def _sounding(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = {}
        for word in self._words:
            if word.isalpha() and self._frequent(word):
                table.setdefault(sound(word), []).append(word)
        return table

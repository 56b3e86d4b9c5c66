"""Words that the corpus does not hold, brought to words that it does.

No dictionary but the corpus's own: a suggestion is a word that documents hold. Candidates are every
word one edit away, and every word that sounds alike (the same consonants once doubled letters and
letters of one sound are merged: "licence" / "license", "excelerate" / "accelerate") at most two edits
away. Best first: fewest edits, then the more frequent word (Norvig 2007, with a frequency prior).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

# Shorter words have too many neighbours: "bike" is one edit from "like" and "bake".
LEAST_LETTERS = 5
# A word that one document holds may itself be a misspelling.
LEAST_DOCUMENTS = 2
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_SOUNDS = ((re.compile("ph"), "f"), (re.compile("[ckqgxsz]+"), "c"), (re.compile("[aeiouyhw]"), ""))
_DOUBLED = re.compile(r"(.)\1+")


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
    return row[-1]


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
    """

    def __init__(self, words: Mapping[str, int], pairs: Collection[str] = ()) -> None:
        self._words = words
        self._pairs = pairs

    def __call__(self, word: str) -> tuple[str, ...]:
        """At most five corpus words (or a pair) for `word`, folded already, best first."""
        if len(word) < LEAST_LETTERS or not word.isalpha() or word in self._words:
            return ()
        split = [f"{word[:i]} {word[i:]}" for i in range(2, len(word) - 1)]
        found = {pair: 0 for pair in split if pair in self._pairs}
        near = {candidate for candidate in one_edit(word) if self._frequent(candidate)}
        found |= dict.fromkeys(near, 1)
        for candidate in self._sounding.get(sound(word), ()):
            if candidate not in found and (distance := edits(word, candidate)) <= 2:
                found[candidate] = distance
        order = sorted(found, key=lambda c: (found[c], c[0] != word[0], -self._words.get(c, 0), c))
        return tuple(order[:5])

    def _frequent(self, word: str) -> bool:
        return len(word) >= LEAST_LETTERS - 1 and self._words.get(word, 0) >= LEAST_DOCUMENTS

    @cached_property
    def _sounding(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = {}
        for word in self._words:
            if word.isalpha() and self._frequent(word):
                table.setdefault(sound(word), []).append(word)
        return table

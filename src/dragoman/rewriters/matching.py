"""Where the entries of a lexicon hit: a trie of words, walked once, however many entries there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from dragoman.rewriters.entries import WORD, Entry, Term, keys
from dragoman.rewriters.untouched import untouched

_END = "\0"  # no word: where a node says which rules end there
_STICKY = frozenset("#@_+")  # "#tag", "c++": such a word is another word
_JOINERS = _STICKY | frozenset("-‐‑./:&\\")  # a word that one of these ties to another is not whole
# What may stand between the words of one term; nothing does behind an elided "l'".
_GAPS = frozenset(("", " ", "-", "  ", "‐", "‑", "\n", "\t", "\u00a0"))
_Node: TypeAlias = dict[str, Any]


class Rule:
    """A left side and what it does.

    Attributes:
        left: the words looked for, as `keys` gives them.
        put: what replaces them; empty for a rule that adds.
        right: what comes in, with its weights.
    """

    __slots__ = ("_own", "_within", "entry", "left", "put", "right")

    def __init__(self, left: list[str], entry: Entry, put: str, right: tuple[Term, ...]) -> None:
        self.left, self.entry, self.put, self.right = left, entry, put, right
        size, self._own = len(left), keys(put) if put else []
        self._within = [at for at in range(len(self._own) - size + 1) if self._own[at : at + size] == left]

    def stands_in(self, words: Sequence[str], at: int) -> bool:
        """Whether the words at `at` are already part of what the rule puts ("phone" of "mobile phone")."""
        own = self._own
        return any(words[at - off : at - off + len(own)] == own for off in self._within if off <= at)


class Found(NamedTuple):
    """A rule, and the characters of the text that it hits."""

    rule: Rule
    start: int
    end: int


class Matcher:
    """Rules by their left sides."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: _Node = {}

    def place(self, rule: Rule) -> list[Rule]:
        """Take the rule in; the rules, itself among them, with the same left side."""
        node = self._root
        for word in rule.left:
            node = node.setdefault(word, {})
        rules: list[Rule] = node.setdefault(_END, [])
        rules.append(rule)
        return rules

    def scan(self, text: str) -> list[Found]:
        """Every rule that hits, the longest at each place, in order."""
        words = keys(text)
        root, count = self._root, len(words)
        found: list[Found] = []
        spans: list[tuple[int, int]] = []
        kept: list[tuple[int, int]] = []
        at = 0
        while at < count:
            node = root.get(words[at])
            ends: list[tuple[int, list[Rule]]] = []
            ahead = at
            while node is not None:
                if _END in node:
                    ends.append((ahead, node[_END]))
                ahead += 1
                node = node.get(words[ahead]) if ahead < count else None
            if ends and not spans:
                spans, kept = _spans(text, words), untouched(text)
            if ends and _opens(text, spans[at][0]):
                for last, rules in reversed(ends):
                    if _whole(text, spans, at, last, kept):
                        start, end = spans[at][0], spans[last][1]
                        found += [Found(r, start, end) for r in rules if not (r.put and r.stands_in(words, at))]
                        at = last
                        break
            at += 1
        return found


def _spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """From which character to which each word stands."""
    if "'" in text or not text.isascii():
        return [m.span() for m in WORD.finditer(text)]
    plain, at = text.lower(), 0
    spans = []
    for word in words:  # nothing but marks stands before each, so the first place is its own
        start = plain.index(word, at)
        at = start + len(word)
        spans.append((start, at))
    return spans


def _opens(text: str, start: int) -> bool:
    """Whether a word may begin here: nothing ties it to what stands before."""
    if start == 0 or (before := text[start - 1]) == " ":
        return True
    return before not in _STICKY and (before not in _JOINERS or start == 1 or not text[start - 2].isalnum())


def _whole(text: str, spans: Sequence[tuple[int, int]], first: int, last: int, kept: Sequence[tuple[int, int]]) -> bool:
    """Whether these words stand side by side, end where a word ends, and outside what is left alone."""
    start, end = spans[first][0], spans[last][1]
    for i in range(first, last):
        if text[spans[i][1] : spans[i + 1][0]] not in _GAPS:
            return False
    after = text[end : end + 2]
    if after and after[0] in _JOINERS and (after[0] in _STICKY or after[1:].isalnum()):
        return False
    return not kept or not any(start < until and since < end for since, until in kept)

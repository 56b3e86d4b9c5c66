"""Phrases and the automaton that finds them.

Lines of phrases are compiled to a nondeterministic automaton over words (Thompson, 1968), which is made
deterministic as texts need it. A text is read in linear time whatever the phrases are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dragoman.text import fold

MOST_REPEATS = 8  # of `{kind}+`
_PART = re.compile(r"[\[\]()|]|[^\s\[\]()|]+")
Edges: TypeAlias = dict[str, set[int]]


def plain(word: str) -> str:
    """A word as phrases are compared: folded, without apostrophes."""
    return fold(word).replace("'", "")


@dataclass(frozen=True, slots=True)
class Group:
    """Phrases that are noise at the same places.

    Attributes:
        id: with its language, what records call the rule: "en.greeting".
        places: `start`, `end`, `any`, or `sentence` for those that count only together.
        needs: `break` or `commas` where a mark has to stand beside it; empty where none has.
        frame: it makes a question of what follows, whose question mark goes with it.
        weak: a sentence of nothing but such phrases is none of noise.
    """

    id: str
    places: frozenset[str]
    needs: str = ""
    frame: bool = False
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """A line of the file: its group, where it stands, and how many words at its end only have to follow."""

    group: Group
    source: str
    ahead: int = 0


@dataclass(slots=True, eq=False)
class _State:
    """Where a reading stands: every state of the lines that it may be in, and the phrases that end there."""

    states: frozenset[int]
    phrases: tuple[Phrase, ...]
    after: dict[tuple[str, ...], _State | None] = field(default_factory=dict)


class Automaton:
    """Lines of phrases, read a word at a time. States are made as texts first need them, and kept."""

    def __init__(self, edges: Sequence[Edges], empty: Sequence[set[int]], accepts: Sequence[list[Phrase]]) -> None:
        self._edges, self._empty, self._accepts = edges, empty, accepts
        self._made: dict[frozenset[int], _State] = {}
        self._first = self._state({0})

    def begins(self, symbols: tuple[str, ...]) -> bool:
        """Whether a phrase may begin with this word."""
        return self._step(self._first, symbols) is not None

    def ends(self, symbols: Sequence[tuple[str, ...]], at: int) -> list[tuple[int, tuple[Phrase, ...]]]:
        """Where phrases that begin at word `at` end (the word after them), shortest first."""
        found: list[tuple[int, tuple[Phrase, ...]]] = []
        count = len(symbols)
        state: _State | None = self._first
        while state is not None and at < count:
            word = symbols[at]
            state = state.after[word] if word in state.after else self._step(state, word)
            at += 1
            if state is not None and state.phrases:
                found.append((at, state.phrases))
        return found

    def leads_to(self, names: frozenset[str]) -> frozenset[str]:
        """The words that one of `names` may follow."""
        return frozenset(
            word
            for edges in self._edges
            for word, targets in edges.items()
            if any(not names.isdisjoint(self._edges[state]) for state in self._reach(targets))
        )

    def _step(self, state: _State, symbols: tuple[str, ...]) -> _State | None:
        if symbols in state.after:
            return state.after[symbols]
        targets: set[int] = set()
        for number in state.states:
            edges = self._edges[number]
            for symbol in symbols:
                targets.update(edges.get(symbol, ()))
        after = state.after[symbols] = self._state(targets) if targets else None
        return after

    def _state(self, targets: set[int]) -> _State:
        reached = frozenset(self._reach(targets))
        made = self._made.get(reached)
        if made is None:
            phrases = dict.fromkeys(phrase for number in sorted(reached) for phrase in self._accepts[number])
            made = self._made[reached] = _State(reached, tuple(phrases))
        return made

    def _reach(self, targets: Iterable[int]) -> set[int]:
        reached = set(targets)
        todo = list(reached)
        while todo:
            for after in self._empty[todo.pop()] - reached:
                reached.add(after)
                todo.append(after)
        return reached


class Lines:
    """Lines into states: `edges` over words, `empty` steps over nothing."""

    def __init__(self, spelled: Mapping[str, str]) -> None:
        self.spelled = spelled
        self.edges: list[Edges] = [{}]
        self.empty: list[set[int]] = [set()]
        self.accepts: list[list[Phrase]] = [[]]

    def words(self) -> set[str]:
        """Every word of the lines, sets aside."""
        return {word for edges in self.edges for word in edges if not word.startswith("{")}

    def automaton(self) -> Automaton:
        """The automaton of the lines so far."""
        return Automaton(self.edges, self.empty, self.accepts)

    def _state(self) -> int:
        self.edges.append({})
        self.empty.append(set())
        self.accepts.append([])
        return len(self.edges) - 1

    def add(self, line: str, group: Group, source: str) -> None:
        """One phrase."""
        parts = [part for part in _PART.findall(line) if part != ">"]
        ahead = 1 if ">" in line.split() else 0
        rest, end = self._choice(parts, 0, 0)
        if rest != len(parts):
            raise ValueError(f"{source}: a bracket is not closed or not opened in {line!r}")
        self.accepts[end].append(Phrase(group, source, ahead))

    def _choice(self, parts: Sequence[str], at: int, start: int) -> tuple[int, int]:
        """Alternatives up to a closing bracket or the end; where they stop, and the state behind them."""
        end = self._state()
        while True:
            at, last = self._sequence(parts, at, start)
            self.empty[last].add(end)
            if at == len(parts) or parts[at] != "|":
                return at, end
            at += 1

    def _sequence(self, parts: Sequence[str], at: int, state: int) -> tuple[int, int]:
        while at < len(parts) and parts[at] not in ("|", "]", ")"):
            part = parts[at]
            if part in ("[", "("):
                at, after = self._choice(parts, at + 1, state)
                if part == "[":
                    self.empty[state].add(after)
                state = after
            else:
                state = self._word(part, state)
            at += 1
        return at, state

    def _word(self, part: str, state: int) -> int:
        word = part.rstrip("+")
        if not word.startswith("{"):
            word = self.spelled.get(plain(word), plain(word))
        for _ in range(MOST_REPEATS if part.endswith("+") else 1):
            after = self._state()
            self.edges[state].setdefault(word, set()).add(after)
            state = after
        if part.endswith("+"):  # any number of them, so every state on the way leads out
            for before in range(state - MOST_REPEATS + 1, state):
                self.empty[before].add(state)
        return state

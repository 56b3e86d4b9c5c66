"""One sentence: which of its pieces are noise, and by which phrase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.rewriters.automaton import Automaton, Phrase
from dragoman.rewriters.noise import Noise
from dragoman.rewriters.sentences import Piece, Sentence
from dragoman.text import stop_words

LONGEST_ABBREVIATION = 3  # letters: "OH", "PLS"
LONGEST_PHRASE = 16  # words: how far before a sentence's end its closing phrase may begin
_ASIDE = frozenset(",:;-–—…")  # marks that go with what they set apart
_I = frozenset(("i", "im", "id", "ive", "ill"))  # have a capital wherever they stand
_BEFORE = frozenset((",", "-", "–", "—"))  # marks that only set apart what follows them
_OPENING = frozenset("¿¡")
MOST_NAMES = 4  # that sign a sentence of thanks


class Removal(NamedTuple):
    """Pieces from `first` up to `last`, not included, and why."""

    first: int
    last: int
    phrase: Phrase


@dataclass(slots=True)
class Cleaning:
    """What is noise in a sentence.

    Attributes:
        whole: the phrase that begins it, where all of it is noise; None otherwise.
        removals: apart and in no order; with `whole` none.
        first, last: what stays of it, its closing mark aside, before anything inside is taken out.
        stop: its closing mark, as a place in its pieces; their number where it has none.
    """

    pieces: Sentence
    stop: int
    whole: Phrase | None = None
    removals: list[Removal] = field(default_factory=list)
    first: int = 0
    last: int = 0

    @property
    def framed(self) -> bool:
        """Whether what made it a question was taken out."""
        return any(removal.phrase.group.frame for removal in self.removals)


def clean(text: str, pieces: Sentence, noise: Noise, shouted: bool, told: bool) -> Cleaning:
    """Find the noise in one sentence of `text`.

    Args:
        shouted: all of the text is in capitals.
        told: it tells something that a later sentence asks about, so that nothing frames it.
    """
    return _Reader(text, pieces, noise, shouted, told).read()


class _Reader:
    def __init__(self, text: str, pieces: Sentence, noise: Noise, shouted: bool, told: bool) -> None:
        self.text, self.pieces, self.noise, self.told = text, pieces, noise, told
        self.count = len(pieces)
        stop = self.count
        while stop and pieces[stop - 1].mark and text[pieces[stop - 1].start] in ".!?…;":
            stop -= 1
        self.stop = stop
        self.symbols = _symbols(text, pieces, noise, shouted)
        self.inner: set[int] = set()
        self.walls: list[int] = []
        self.found: dict[int, list[tuple[int, tuple[Phrase, ...]]]] = {}

    def read(self) -> Cleaning:
        cleaning = Cleaning(self.pieces, self.stop, last=self.stop)
        begins = self.noise.noise.begins
        if not any(map(begins, self.symbols)):
            return cleaning
        self.inner = _inner(self.symbols, self.noise)
        if self.noise.capitals_open:
            self.walls = _walls(self.text, self.pieces, self.symbols)
        cleaning.whole = self._whole()
        if cleaning.whole is None:
            self._front(cleaning)
            self._back(cleaning)
            self._inside(cleaning)
        return cleaning

    def _at(self, place: int) -> list[tuple[int, tuple[Phrase, ...]]]:
        """Where the phrases end that begin here."""
        if not self.symbols[place] or place in self.inner:
            return []
        known = self.found.get(place)
        if known is None:
            known = self.found[place] = self._ends(self.noise.noise, place)
        return known

    def _ends(self, phrases: Automaton, place: int) -> list[tuple[int, tuple[Phrase, ...]]]:
        found = phrases.ends(self.symbols, place)
        if found and (self.inner or self.walls):
            wall = next((wall for wall in self.walls if wall > place), self.count)
            return [each for each in found if each[0] not in self.inner and each[0] <= wall]
        return found

    def _whole(self) -> Phrase | None:
        """The first phrase, where phrases and marks make up all of the sentence and one of them is not weak."""
        reached: dict[int, tuple[Phrase | None, bool]] = {0: (None, False)}
        for place in range(self.count):
            if place not in reached:
                if max(reached) < place:
                    return None
                continue
            first, strong = reached[place]
            if self.pieces[place].mark:
                reached.setdefault(place + 1, (first, strong))
                continue
            if strong and first and "end" in first.group.places and self._follows_thanks(place):
                reached.setdefault(place + 1, (first, strong))
            for end, phrases in self._at(place):
                for phrase in phrases:
                    after = (first or phrase, strong or not phrase.group.weak)
                    if end not in reached or (after[1] and not reached[end][1]):
                        reached[end] = after
        first, strong = reached.get(self.count, (None, False))
        return first if strong else None

    def _follows_thanks(self, place: int) -> bool:
        """Whether the piece tells nothing behind thanks or a closing: a name at the end, or a word of courtesy."""
        word = self.pieces[place].word
        if self.count - place <= MOST_NAMES and is_name(self._text(place)):  # "Thanks, Ann Lee", not "Thanks Ann Lee"
            before = self.pieces[place - 1]
            known = self.symbols[place - 1]
            return before.mark or (is_name(self._text(place - 1)) and (not known or "{name}" in known))
        noise = self.noise
        if not word or word in noise.negation or word in noise.asking or self.count > LONGEST_PHRASE:
            return False
        return "{kind}" in self.symbols[place] or word in noise.chatter or word in stop_words(noise.language)

    def _front(self, cleaning: Cleaning) -> None:
        """Take phrases off the front, the longest first, as long as something stays."""
        place = 1 if self.text[self.pieces[0].start] in _OPENING else 0
        while place < self.stop:
            best: Removal | None = None
            for end, phrases in self._at(place):
                for phrase in phrases:
                    last = end - phrase.ahead
                    if last > place and (best is None or last > best.last) and self._may_begin(phrase, last):
                        best = Removal(place, last, phrase)
            if best is None:
                return
            place = best.last
            while place < self.stop and self.pieces[place].mark and self.text[self.pieces[place].start] in _ASIDE:
                place += 1
            cleaning.removals.append(best._replace(last=place))
            cleaning.first = place

    def _may_begin(self, phrase: Phrase, last: int) -> bool:
        group = phrase.group
        if group.frame and self.told:
            return False
        if group.places.isdisjoint(("start", "any")) or (group.needs and not self._breaks(last)):
            return False
        rest = self.pieces[last : self.stop]
        if group.frame:
            stop = stop_words(self.noise.language)
            return any(not piece.mark and (not piece.word or piece.word not in stop) for piece in rest)
        return any(not piece.mark for piece in rest)

    def _breaks(self, place: int) -> bool:
        return place >= self.stop or (self.pieces[place].mark and self.text[self.pieces[place].start] in _ASIDE)

    def _back(self, cleaning: Cleaning) -> None:
        """Take phrases off the end, the longest first, as long as something stays."""
        last = self.stop
        while True:
            taken = self._closing(cleaning.first, last)
            if taken is None:
                return
            first = taken.first
            while first > cleaning.first and self._text(first - 1) in _BEFORE:
                first -= 1
            if not any(not piece.mark for piece in self.pieces[cleaning.first : first]):
                return
            cleaning.removals.append(Removal(first, last, taken.phrase))
            cleaning.last = last = first

    def _closing(self, first: int, last: int) -> Removal | None:
        for place in range(max(first + 1, last - LONGEST_PHRASE), last):
            for end, phrases in self._at(place):
                if end == last:
                    for phrase in phrases:
                        group = phrase.group
                        fits = not group.needs or self.pieces[place - 1].mark
                        if not phrase.ahead and fits and not group.places.isdisjoint(("end", "any")):
                            return Removal(place, last, phrase)
        return None

    def _inside(self, cleaning: Cleaning) -> None:
        free = 0
        for place in range(cleaning.first, cleaning.last):
            if place < free or place in self.inner or not self.noise.aside.begins(self.symbols[place]):
                continue
            taken = self._aside(place, cleaning)
            if taken is not None:
                around = (*range(cleaning.first, taken.first), *range(taken.last, cleaning.last))
                if any(not self.pieces[at].mark for at in around):
                    cleaning.removals.append(taken)
                    free = taken.last

    def _aside(self, place: int, cleaning: Cleaning) -> Removal | None:
        """A phrase that is noise anywhere, with the commas that set it apart."""
        for end, phrases in reversed(self._ends(self.noise.aside, place)):
            before = place > cleaning.first and self._text(place - 1) == ","
            after = end < cleaning.last and self._text(end) == ","
            for phrase in phrases:
                group = phrase.group
                if end <= cleaning.last and (group.needs != "commas" or (before and after)):
                    return Removal(place - (before and after), end + after, phrase)
        return None

    def _text(self, place: int) -> str:
        piece = self.pieces[place]
        return self.text[piece.start : piece.end]


def _symbols(text: str, pieces: Sequence[Piece], noise: Noise, shouted: bool) -> list[tuple[str, ...]]:
    """What the phrases read for each piece; nothing for marks, unknown words and abbreviations."""
    known, read = noise.symbols, noise.symbols_of
    symbols = [known[word] if (word := piece.word) in known else read(word) if word else () for piece in pieces]
    if not shouted:
        for place, piece in enumerate(pieces):
            if symbols[place] and len(piece.word) <= LONGEST_ABBREVIATION and _is_abbreviation(text, pieces, place):
                symbols[place] = ()
    naming = noise.naming
    for place in range(1, len(pieces)):
        if symbols[place - 1] and not naming.isdisjoint(symbols[place - 1]):
            symbols[place] += tuple(_namelike(text, pieces, symbols, noise, place))
    return symbols


def _inner(symbols: Sequence[tuple[str, ...]], noise: Noise) -> set[int]:
    """The places inside phrases that look like noise and are none: noise may hold such a phrase, but not cut it."""
    inner: set[int] = set()
    for place, symbol in enumerate(symbols):
        if symbol and noise.kept.begins(symbol):
            ends = noise.kept.ends(symbols, place)
            if ends:
                inner.update(range(place + 1, ends[-1][0]))
    return inner


def _walls(text: str, pieces: Sequence[Piece], symbols: Sequence[tuple[str, ...]]) -> list[int]:
    """Where another sentence begins without a mark before it: "thanks You are driving"."""
    return [
        place
        for place in range(1, len(pieces))
        if text[pieces[place].start].isupper()
        and text[pieces[place - 1].start].islower()
        and not (pieces[place].word[:1] == "i" and pieces[place].word in _I)
        and "{name}" not in symbols[place]
        and "{Name}" not in symbols[place]
    ]


def _is_abbreviation(text: str, pieces: Sequence[Piece], place: int) -> bool:
    """Whether a short word stands in capitals in the midst of others."""
    start, end, _, _ = pieces[place]
    marked = place + 1 == len(pieces) or pieces[place + 1].mark
    return end - start > 1 and not marked and text[start:end].isupper()


def _namelike(
    text: str, pieces: Sequence[Piece], symbols: Sequence[tuple[str, ...]], noise: Noise, place: int
) -> Iterator[str]:
    """The kinds of name that a piece could be by its looks and its neighbours."""
    piece = pieces[place]
    written = text[piece.start : piece.end]
    after = place + 1
    while after < len(pieces) and is_name(text[pieces[after].start : pieces[after].end]):
        after += 1
    ended = after == len(pieces) or pieces[after].mark
    if ended and is_name(written):
        yield "{Name}"
    if not piece.word or "-" in piece.word or symbols[place] or piece.word in stop_words(noise.language):
        return
    behind = pieces[place + 1] if place + 1 < len(pieces) else None
    if (behind is None and is_name(written)) or (behind and (behind.mark or behind.word in noise.starters)):
        yield "{anyone}"


def is_name(written: str) -> bool:
    """Whether it looks like a name: a capital and small letters and no digit, or a placeholder for one ("[NAME]")."""
    named = written.istitle() and not any(letter.isdigit() for letter in written)  # "B46.2" is title case to Python
    return named or (written[0] == "[" and written[-1] == "]")

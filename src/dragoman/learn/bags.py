"""Pairs as bags of numbers: all that a translation model needs of them, kept so that new pairs need no old texts.

A question's bag holds its telling stems, and its pairs of neighbouring telling words; the other
side's holds stems. No text is kept but the words themselves, so a question cannot be read off.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import CollectionError
from dragoman.learn.pairs import Pair
from dragoman.text import fold, stemmer, stop_words, terms

Ints: TypeAlias = NDArray[np.int32]

FORMAT = 1
FOLDS = 5  # each pair is held back once
# Of a passage, by how often it says them and how few others do. More words bring more chance company
# than meaning, and the time goes with them.
MOST_SAID = 12
MOST_ASKED = 24
_BATCH = 5_000  # pairs whose answers are counted before their words are chosen
_SEARCH_WORDS = 6.0  # a passage counts as much as a search of so many words


class Words:
    """Stems or phrases by number, each with the forms it was met in."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []
        self.forms: list[Counter[str]] = []

    def number(self, name: str, form: str) -> int:
        """The number of a stem or phrase, met in this form."""
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
            self.forms.append(Counter())
        self.forms[number][form] += 1
        return number

    def __len__(self) -> int:
        return len(self.names)


@dataclass(slots=True)
class Bags:
    """All pairs so far.

    Attributes:
        asked, said: the words of the two sides; number 0 of `asked` is the null word.
        sources, targets: each pair's numbers.
        folds: which fold holds each pair back.
        weights: how much each of a pair's targets counts.
        seen: digests of the pairs, so that one given twice counts once.
        spread: in how many answers each stem stood.
    """

    language: str = "en"
    asked: Words = field(default_factory=Words)
    said: Words = field(default_factory=Words)
    sources: list[Ints] = field(default_factory=list)
    targets: list[Ints] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)
    spread: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not len(self.asked):
            self.asked.number("", "")

    def __len__(self) -> int:
        return len(self.sources)

    def add(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Take in pairs; those that were new."""
        new: list[Pair] = []
        for some in batched(pairs, _BATCH):
            fresh: list[tuple[Pair, Counter[str], dict[str, str]]] = []
            for pair in some:
                key = _digest(pair)
                if key not in self.seen:
                    self.seen.add(key)
                    said, met = self._said(pair)
                    fresh.append((pair, said, met))
                    self.spread.update(said.keys())
            for pair, said, met in fresh:
                self._add(pair, said, met)
                new.append(pair)
        return new

    def _add(self, pair: Pair, said: Counter[str], met: dict[str, str]) -> None:
        telling = said
        if len(said) > MOST_SAID:
            rarest = sorted(said, key=lambda stem: (-said[stem] / (1 + self.spread[stem]) ** 0.5, stem))
            telling = Counter({stem: said[stem] for stem in rarest[:MOST_SAID]})
        sources = [self.asked.number(*each) for each in asked_words(pair.question, self.language)]
        targets = [self.said.number(stem, met[stem]) for stem in telling]
        self.sources.append(np.array([0, *dict.fromkeys(sources)][: MOST_ASKED + 1], np.int32))
        self.targets.append(np.array(targets, np.int32))
        self.folds.append(crc32(fold(pair.question).strip().encode()) % FOLDS)
        self.weights.append(float(pair.times * min(1.0, _SEARCH_WORDS / max(1, len(targets)))))

    def _said(self, pair: Pair) -> tuple[Counter[str], dict[str, str]]:
        stop, stem = stop_words(self.language), stemmer(self.language)
        counts: Counter[str] = Counter()
        met: dict[str, str] = {}
        for place, text in enumerate(pair.said):
            for word in terms(text):
                if word not in stop and not word.isdecimal():
                    stemmed = stem(word)
                    met.setdefault(stemmed, word)
                    # A title says what a passage is about.
                    counts[stemmed] += 3 if place == 0 and len(pair.said) > 1 else 1
        return counts, met

    def save(self, path: Path) -> None:
        """Write everything to a file, in one rename."""
        part = path.with_name(path.name + ".part")
        held = {
            "format": np.array([FORMAT]),
            "language": np.array([self.language]),
            "folds": np.array(self.folds, np.int8),
            "weights": np.array(self.weights, np.float32),
            "seen": np.frombuffer(b"".join(sorted(self.seen)), "V8"),
            "spread": np.array([f"{stem}\t{count}" for stem, count in self.spread.items()]),
            **_packed("sources", self.sources),
            **_packed("targets", self.targets),
            **_words("asked", self.asked),
            **_words("said", self.said),
        }
        with part.open("wb") as file:
            np.savez_compressed(file, **held)  # type: ignore[arg-type]  # the stubs miss keyword arrays
        part.replace(path)

    @classmethod
    def load(cls, path: Path, language: str) -> Bags:
        """What was saved; nothing yet where there is no file.

        Raises:
            CollectionError: the file is damaged, of another version, or of another language.
        """
        if not path.exists():
            return cls(language)
        try:
            with np.load(path) as held:
                version, written = int(held["format"][0]), str(held["language"][0])
                if version == FORMAT and written == language:
                    return cls._read(dict(held), language)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as exc:
            raise CollectionError(f"damaged ({exc}); move it away and learn from all pairs again", path) from exc
        raise CollectionError(
            f"of version {version} and language {written!r}, expected {FORMAT} and {language!r}; "
            "move it away and learn from all pairs again",
            path,
        )

    @classmethod
    def _read(cls, held: dict[str, NDArray[np.generic]], language: str) -> Bags:
        seen = held["seen"].tobytes()
        spread = (line.rsplit("\t", 1) for line in held["spread"].tolist())
        return cls(
            language,
            _unworded("asked", held),
            _unworded("said", held),
            _unpacked("sources", held),
            _unpacked("targets", held),
            [int(fold_) for fold_ in held["folds"].tolist()],
            [float(weight) for weight in held["weights"].tolist()],
            {seen[at : at + 8] for at in range(0, len(seen), 8)},
            Counter({stem: int(count) for stem, count in spread}),
        )


def batched(pairs: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    """The pairs in lists of at most `size`."""
    waiting = iter(pairs)
    while some := list(islice(waiting, size)):
        yield some


def asked_words(question: str, language: str) -> list[tuple[str, str]]:
    """The telling stems of a question and its pairs of neighbouring telling words, each with the form met."""
    stop, stem = stop_words(language), stemmer(language)
    words = terms(question)
    found = [(stem(word), word) for word in words if _tells(word, stop)]
    for one, two in pairwise(words):
        if _tells(one, stop) and _tells(two, stop):
            found.append((f"{stem(one)} {stem(two)}", f"{one} {two}"))
    return found


def _tells(word: str, stop: frozenset[str]) -> bool:
    return word not in stop and not word.isdecimal() and len(word) > 1


def _digest(pair: Pair) -> bytes:
    text = "\x1f".join([fold(pair.question).strip(), *pair.said])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _packed(name: str, rows: list[Ints]) -> dict[str, NDArray[np.int32]]:
    flat = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    return {name: flat, f"{name}_sizes": np.array([len(row) for row in rows], np.int32)}


def _unpacked(name: str, held: dict[str, NDArray[np.generic]]) -> list[Ints]:
    ends = np.cumsum(held[f"{name}_sizes"].astype(np.int64))
    return [np.asarray(row, np.int32) for row in np.split(held[name], ends[:-1])] if len(ends) else []


def _words(name: str, words: Words) -> dict[str, NDArray[np.str_]]:
    forms = ["\t".join(f"{form}\x1f{count}" for form, count in met.most_common(4)) for met in words.forms]
    return {f"{name}_names": np.array(words.names), f"{name}_forms": np.array(forms)}


def _unworded(name: str, held: dict[str, NDArray[np.generic]]) -> Words:
    words = Words()
    words.names = [str(each) for each in held[f"{name}_names"].tolist()]
    words.numbers = {each: number for number, each in enumerate(words.names)}
    for line in held[f"{name}_forms"].tolist():
        met = (part.rsplit("\x1f", 1) for part in line.split("\t") if part)
        words.forms.append(Counter({form: int(count) for form, count in met}))
    return words

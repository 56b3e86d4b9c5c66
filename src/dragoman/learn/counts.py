"""What is kept of pairs: their words, counted, so that new pairs need no old texts.

A question leaves its telling stems, and its pairs of neighbouring telling words; the other side how
often it says each stem. No text is kept but the words themselves, so a question cannot be read off.

Which words of an answer are telling is seen from all answers, so it is chosen when all are there: the
same words whichever parts the pairs came in.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import CollectionError
from dragoman.learn.bags import FOLDS, Bags, Ints, Words
from dragoman.learn.pairs import Pair
from dragoman.text import fold, stemmer, stop_words, terms

FORMAT = 2
# Of a passage, by how often it says them and how few others do. More words bring more chance company
# than meaning, and the time goes with them.
MOST_SAID = 12
MOST_ASKED = 24
MOST_KEPT = 500  # stems of an answer, the most frequent; a whole document is no passage, and 8 bytes go for each
_SEARCH_WORDS = 6.0  # a passage counts as much as a search of so many words


@dataclass(slots=True)
class Counts:
    """All pairs so far.

    Attributes:
        asked: the words of the questions; number 0 is the null word.
        met: the number of each stem of an answer in the form it was met in.
        sources: each pair's numbers in `asked`.
        said, often: each pair's numbers in `met`, a stem once, and how often each stem was said.
        folds: which fold holds each pair back.
        times: how often each pair was seen.
        seen: digests of the pairs, so that one given twice counts once.
    """

    language: str = "en"
    asked: Words = field(default_factory=Words)
    met: dict[tuple[str, str], int] = field(default_factory=dict)
    sources: list[Ints] = field(default_factory=list)
    said: list[Ints] = field(default_factory=list)
    often: list[Ints] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not len(self.asked):
            self.asked.number("", "")

    def add(self, pairs: Iterable[Pair]) -> list[Pair]:
        """Take in pairs; those that were new."""
        new: list[Pair] = []
        for pair in pairs:
            key = _digest(pair)
            if key not in self.seen:
                self.seen.add(key)
                self._add(pair)
                new.append(pair)
        return new

    def _add(self, pair: Pair) -> None:
        sources = [self.asked.number(*each) for each in asked_words(pair.question, self.language)]
        counts, forms = self._counted(pair)
        said = [self.met.setdefault((stem, forms[stem]), len(self.met)) for stem in counts]
        self.sources.append(np.array([0, *dict.fromkeys(sources)][: MOST_ASKED + 1], np.int32))
        self.said.append(np.array(said, np.int32))
        self.often.append(np.array(list(counts.values()), np.int32))
        self.folds.append(crc32(fold(pair.question).strip().encode()) % FOLDS)
        self.times.append(float(pair.times))

    def _counted(self, pair: Pair) -> tuple[dict[str, int], dict[str, str]]:
        stop, stem = stop_words(self.language), stemmer(self.language)
        counts: Counter[str] = Counter()
        forms: dict[str, str] = {}
        for place, text in enumerate(pair.said):
            for word in terms(text):
                if word not in stop and not word.isdecimal():
                    stemmed = stem(word)
                    forms.setdefault(stemmed, word)
                    # A title says what a passage is about.
                    counts[stemmed] += 3 if place == 0 and len(pair.said) > 1 else 1
        return counts if len(counts) <= MOST_KEPT else dict(counts.most_common(MOST_KEPT)), forms

    def bags(self) -> Bags:
        """The pairs as a translation model takes them, the telling words of each answer chosen."""
        met = list(self.met)
        alphabet = np.empty(len(met), np.int32)
        alphabet[sorted(range(len(met)), key=met.__getitem__)] = np.arange(len(met), dtype=np.int32)
        dampers = self._dampers()
        words, targets = Words(), []
        for said, often in zip(self.said, self.often, strict=True):
            telling = said
            if len(said) > MOST_SAID:
                telling = said[np.lexsort((alphabet[said], -often / dampers[said]))[:MOST_SAID]]
            targets.append(np.array([words.number(*met[number]) for number in telling.tolist()], np.int32))
        weights = [
            times * min(1.0, _SEARCH_WORDS / max(1, len(each))) for times, each in zip(self.times, targets, strict=True)
        ]
        return Bags(self.asked, words, self.sources, targets, self.folds, weights)

    def _dampers(self) -> NDArray[np.float64]:
        """For each number of `met`: the square root of the answers that its stem stands in, and one."""
        answers = np.zeros(len(self.met), np.int64)
        for said in self.said:
            answers[said] += 1
        spread: Counter[str] = Counter()
        for (stem, _), count in zip(self.met, answers.tolist(), strict=True):
            spread[stem] += count
        return np.array([(1 + spread[stem]) ** 0.5 for stem, _ in self.met])

    def save(self, path: Path) -> None:
        """Write everything to a file, in one rename."""
        part = path.with_name(path.name + ".part")
        held = {
            "format": np.array([FORMAT]),
            "language": np.array([self.language]),
            "folds": np.array(self.folds, np.int8),
            "times": np.array(self.times),
            "seen": np.frombuffer(b"".join(sorted(self.seen)), "V8"),
            "met": _lines("\t".join(each) for each in self.met),
            "asked": _lines(_worded(self.asked)),
            **_packed("sources", self.sources),
            **_packed("said", self.said),
            **_packed("often", self.often),
        }
        with part.open("wb") as file:
            np.savez_compressed(file, **held)  # type: ignore[arg-type]  # the stubs miss keyword arrays
        part.replace(path)

    @classmethod
    def load(cls, path: Path, language: str) -> Counts:
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
    def _read(cls, held: dict[str, NDArray[np.generic]], language: str) -> Counts:
        seen = held["seen"].tobytes()
        met = (line.split("\t") for line in _unlined(held["met"]))
        return cls(
            language,
            _unworded(held["asked"]),
            {(stem, form): number for number, (stem, form) in enumerate(met)},
            _unpacked("sources", held),
            _unpacked("said", held),
            _unpacked("often", held),
            [int(fold_) for fold_ in held["folds"].tolist()],
            [float(times) for times in held["times"].tolist()],
            {seen[at : at + 8] for at in range(0, len(seen), 8)},
        )


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


def _lines(texts: Iterable[str]) -> NDArray[np.uint8]:
    """Texts as one array of bytes; numpy's own arrays of texts give each the room of the longest."""
    return np.frombuffer("".join(f"{text}\n" for text in texts).encode(), np.uint8)


def _unlined(held: NDArray[np.generic]) -> list[str]:
    return held.tobytes().decode().split("\n")[:-1]


def _worded(words: Words) -> Iterator[str]:
    for name, forms in zip(words.names, words.forms, strict=True):
        yield "\t".join([name, *(f"{form}\x1f{count}" for form, count in forms.items())])


def _unworded(held: NDArray[np.generic]) -> Words:
    words = Words()
    for number, line in enumerate(_unlined(held)):
        name, *told = line.split("\t")
        words.numbers[name] = number
        words.names.append(name)
        words.forms.append(Counter({form: int(count) for form, count in (each.split("\x1f") for each in told)}))
    return words

"""The corpus's own words, with how many documents hold each, and its phrases.

Built in one pass beside the index (`VocabularyBuilder`), or read from another engine's export
(`Vocabulary.load`). One JSON object a line, so that any engine's term dump needs one `jq` to fit:

    {"vocabulary": 1, "documents": 1615, "language": "en"}
    {"word": "license", "documents": 412}
    {"term": "licens", "documents": 530}
    {"phrase": "motor vehicle", "kind": "defined", "documents": 7}

A *word* is a surface form, folded and cut as the embedded index cuts it. A *term* is a stem; where a
file gives no terms, theirs are summed up from the words (an upper bound). A *phrase* is a heading, a
defined term (`"X" means …`) or a frequent multi-word term.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dragoman.errors import IndexStateError
from dragoman.phrases import defined, headings, runs
from dragoman.spelling import Speller
from dragoman.text import fold, stemmer, stop_words, terms

_Key = TypeVar("_Key")

VERSION = 1
# A file of these sizes loads in about a second; an entry costs about 100 bytes while it is built.
MOST_WORDS = 400_000
MOST_GRAMS = 400_000
MOST_HEADINGS = 200_000
MOST_TERMS = 20_000
# Under five documents, a pair of words is as likely one author's habit as the corpus's term.
LEAST_DOCUMENTS = 5
# Normalised pointwise mutual information: 0 for words that meet by chance ("section shall"), 1 for
# words that never stand apart ("et seq"); "motor vehicle" in a vehicle code has .7.
LEAST_COHESION = 0.3


class PhraseKind(StrEnum):
    """Where a phrase of the corpus comes from."""

    HEADING = "heading"
    DEFINED = "defined"
    TERM = "term"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that the corpus uses together: as they stand, of which kind, and in how many documents."""

    text: str
    kind: PhraseKind
    documents: int = 1

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("a phrase needs a text")
        if self.documents < 1:
            raise ValueError(f"phrase {self.text!r}: documents is {self.documents}, expected at least 1")


class Vocabulary:
    """What the corpus can say. Immutable once made.

    Args:
        documents: how many documents were read.
        words: surface form -> number of documents that hold it.
        terms: stem -> number of documents that hold it; summed up from `words` where None.
        phrases: the corpus's phrases, in any order.
        language: the language whose stemmer and stop words hold.
    """

    def __init__(
        self,
        documents: int,
        words: Mapping[str, int],
        terms: Mapping[str, int] | None = None,
        phrases: Iterable[Phrase] = (),
        language: str = "en",
    ) -> None:
        if documents < 0:
            raise ValueError(f"documents is {documents}, expected 0 or more")
        self.documents = documents
        self.language = language
        self.words = dict(words)
        self._stem = stemmer(language)
        self.terms = dict(terms) if terms is not None else self._summed()
        self.phrases = tuple(sorted(phrases, key=lambda p: (p.kind, -p.documents, p.text)))

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({self.documents} documents, {len(self.words)} words, {len(self.phrases)} phrases)"

    def _summed(self) -> dict[str, int]:
        total: Counter[str] = Counter()
        for word, count in self.words.items():
            total[self._stem(word)] += count
        return {term: min(count, max(self.documents, 1)) for term, count in total.items()}

    def document_frequency(self, word: str) -> int:
        """In how many documents `word` stands, in whatever inflection; 0 when in none."""
        return self.terms.get(self._stem(fold(word)), 0)

    def holds(self, word: str) -> bool:
        """Whether any document holds `word`, in whatever inflection."""
        return self.document_frequency(word) > 0

    def telling(self, text: str) -> list[str]:
        """The words of `text` that are not stop words, folded and cut as the index cuts them."""
        stop = stop_words(self.language)
        return [word for word in terms(text) if word not in stop]

    def idf(self, word: str) -> float:
        """ln(1 + (N - df + .5) / (df + .5)): how telling `word` is here (BM25's; Robertson 2004)."""
        df = self.document_frequency(word)
        return math.log1p((self.documents - df + 0.5) / (df + 0.5)) if self.documents else 0.0

    def coverage(self, text: str) -> float:
        """The share of the weight (idf) of `text`'s telling words that the corpus holds; 0 for none.

        A word that no document holds weighs as much as the rarest can.
        """
        weights = {word: self.idf(word) for word in self.telling(text)}
        total = sum(weights.values())
        return sum(w for word, w in weights.items() if self.holds(word)) / total if total > 0 else 0.0

    def suggest(self, word: str) -> tuple[str, ...]:
        """Words of the corpus that `word` may be a misspelling of, best first; empty when it is held.

        `"seatbelt"` may give `"seat belt"` where the corpus writes it so.
        """
        folded = fold(word)
        return () if self.holds(folded) else self._speller(folded)

    @cached_property
    def _speller(self) -> Speller:
        pairs = frozenset(fold(p.text) for p in self.phrases if p.kind is not PhraseKind.HEADING)
        return Speller(self.words, pairs, self.language)

    @property
    def headings(self) -> tuple[str, ...]:
        """The texts of the headings, the commonest first."""
        return tuple(p.text for p in self.phrases if p.kind is PhraseKind.HEADING)

    def lines(self) -> Iterator[str]:
        """The lines of the file that `load` reads back, without line ends."""
        yield json.dumps({"vocabulary": VERSION, "documents": self.documents, "language": self.language})
        for word, count in self.words.items():
            yield json.dumps({"word": word, "documents": count}, ensure_ascii=False)
        for term, count in self.terms.items():
            yield json.dumps({"term": term, "documents": count}, ensure_ascii=False)
        for phrase in self.phrases:
            row = {"phrase": phrase.text, "kind": phrase.kind.value, "documents": phrase.documents}
            yield json.dumps(row, ensure_ascii=False)

    def save(self, path: Path | str) -> None:
        """Write the file that `load` reads back. The file appears whole or not at all."""
        path = Path(path)
        part = path.with_name(path.name + ".part")
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(line + "\n" for line in self.lines())
        part.replace(path)

    @classmethod
    def load(cls, path: Path | str) -> Vocabulary:
        """Read a saved vocabulary, or another engine's export in the same form.

        Raises:
            IndexStateError: the file is absent, or a line is not of this form.
        """
        try:
            with Path(path).open("rb") as file:
                return cls.of_lines(file, path)
        except OSError as exc:
            raise IndexStateError(f"cannot read the vocabulary: {exc}; build the index again", path) from exc

    @classmethod
    def of_lines(cls, lines: Iterable[bytes], path: Path | str) -> Vocabulary:
        """The vocabulary that these lines save.

        Args:
            path: what an error calls the file that they are of.

        Raises:
            IndexStateError: a line is not of this form.
        """
        rows = _Rows()
        number = 0
        try:
            for line in lines:
                number += 1
                if line.strip():
                    rows.read(json.loads(line))
        except UnicodeDecodeError as exc:
            raise IndexStateError(f"cannot read the vocabulary: {exc}; build the index again", path) from exc
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise IndexStateError(f"line {number} is not a vocabulary line: {exc!r}", path) from exc
        documents, version = rows.head.get("documents"), rows.head.get("vocabulary")
        if version != VERSION:
            raise IndexStateError(
                f'a vocabulary of version {version!r}, expected a line {{"vocabulary": {VERSION}, "documents": N}}; '
                "build the index again",
                path,
            )
        if not isinstance(documents, int) or documents < 0:
            raise IndexStateError(f"documents is {documents!r}, expected a number from 0; build the index again", path)
        language = str(rows.head.get("language", "en"))
        return cls(documents, rows.words, rows.terms or None, rows.phrases, language)


class _Rows:
    """What the lines of a vocabulary file say, sorted by kind."""

    def __init__(self) -> None:
        self.head: dict[str, object] = {}
        self.words: dict[str, int] = {}
        self.terms: dict[str, int] = {}
        self.phrases: list[Phrase] = []

    def read(self, row: dict[str, Any]) -> None:
        """Put one line where it belongs; ValueError, KeyError, TypeError where it is none."""
        if "word" in row:
            word = fold(row["word"])
            self.words[word] = self.words.get(word, 0) + int(row["documents"])
        elif "term" in row:
            self.terms[row["term"]] = int(row["documents"])
        elif "phrase" in row:
            kind = PhraseKind(row.get("kind", "term"))
            self.phrases.append(Phrase(row["phrase"], kind, int(row.get("documents", 1))))
        elif "vocabulary" in row:
            self.head.update(row)
        else:
            raise ValueError("none of word, term, phrase, vocabulary")


class VocabularyBuilder:
    """Counts words and phrases, one document at a time, in bounded memory.

    When a count table outgrows its limit, its rarest entries are let go and counted from nought if
    they come again (lossy counting; Manku and Motwani 2002): a word that is common is never lost, and
    its count is short by at most the number of times that this happened.
    """

    def __init__(self, language: str = "en", most_words: int = MOST_WORDS, most_grams: int = MOST_GRAMS) -> None:
        if most_words < 1 or most_grams < 1:
            raise ValueError("most_words and most_grams must be at least 1")
        self._language = language
        self._most_words, self._most_grams = most_words, most_grams
        self._stop, self._stem = stop_words(language), stemmer(language)
        self._documents = 0
        self._words: Counter[str] = Counter()
        self._terms: Counter[str] = Counter()
        self._grams: Counter[tuple[str, ...]] = Counter()
        self._defined: Counter[str] = Counter()
        self._headings: dict[str, tuple[str, int]] = {}

    def add(self, title: str, text: str) -> None:
        """Count one document. Either part may be empty."""
        self._documents += 1
        seen = set(terms(title))
        seen.update(terms(text))
        self._words.update(seen)
        self._terms.update({self._stem(word) for word in seen})
        self._grams.update(runs(title, self._stop) | runs(text, self._stop))
        self._defined.update(defined(text))
        for heading in headings(title, text):
            self._head(heading)
        for table, most in ((self._words, self._most_words), (self._terms, self._most_words)):
            _shed(table, most)
        _shed(self._grams, self._most_grams)

    def _head(self, heading: str) -> None:
        key = fold(heading)
        if key in self._headings or len(self._headings) < MOST_HEADINGS:
            text, count = self._headings.get(key, (heading, 0))
            self._headings[key] = (text, count + 1)

    def finish(self) -> Vocabulary:
        """The vocabulary of all documents added so far."""
        phrases = [Phrase(text, PhraseKind.HEADING, count) for text, count in self._headings.values()]
        phrases += [Phrase(text, PhraseKind.DEFINED, count) for text, count in self._defined.items()]
        known = {fold(text) for text in self._defined}
        terms_found = [(" ".join(gram), count) for gram, count in self._cohesive()]
        phrases += [Phrase(text, PhraseKind.TERM, count) for text, count in terms_found if text not in known]
        return Vocabulary(self._documents, self._words, self._terms, phrases, self._language)

    def _cohesive(self) -> list[tuple[tuple[str, ...], int]]:
        """The frequent runs whose words keep together, the commonest first."""
        kept = [
            (gram, count)
            for gram, count in self._grams.items()
            if count >= LEAST_DOCUMENTS and self._cohesion(gram, count) >= LEAST_COHESION
        ]
        kept.sort(key=lambda entry: (-entry[1], entry[0]))
        return kept[:MOST_TERMS]

    def _cohesion(self, gram: tuple[str, ...], count: int) -> float:
        """Normalised pointwise mutual information of the run's telling words (Bouma 2009)."""
        rarity = -math.log(min(count / self._documents, 1.0))
        if rarity <= 0:
            return 0.0
        words = [word for word in gram if word not in self._stop]
        chance = sum(-math.log(max(self._words[word], count) / self._documents) for word in words)
        return (chance - rarity) / ((len(words) - 1) * rarity)


def _shed(table: Counter[_Key], most: int) -> None:
    """Let the rarest entries go until the table is at most three quarters of its limit."""
    floor = 0
    while len(table) > (most if not floor else most * 3 // 4):
        floor += 1
        for key in [key for key, count in table.items() if count <= floor]:
            del table[key]

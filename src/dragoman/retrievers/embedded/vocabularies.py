"""The index's vocabulary, grown from an earlier one when documents are added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dragoman.retrievers.documents import Document
from dragoman.retrievers.embedded.layout import VOCABULARY
from dragoman.vocabulary import Phrase, Vocabulary, VocabularyBuilder


class GrowingVocabulary:
    """Counts the documents added and sums the counts up with those of the earlier vocabulary.

    What replaced documents held is not taken away: a word that only they had stays known until the
    index is built anew, and so do their counts.
    """

    def __init__(self, language: str, earlier: Path | None) -> None:
        self._builder = VocabularyBuilder(language)
        self._earlier = None if earlier is None else Vocabulary.load(earlier / VOCABULARY)

    def add(self, document: Document) -> None:
        """Count one document."""
        self._builder.add(document.title, document.text)

    def finish(self) -> Vocabulary:
        """The vocabulary of the earlier documents and those added."""
        new = self._builder.finish()
        return new if self._earlier is None else _sum(self._earlier, new)


def _sum(one: Vocabulary, other: Vocabulary) -> Vocabulary:
    words = Counter(one.words)
    words.update(other.words)
    terms = Counter(one.terms)
    terms.update(other.terms)
    phrases = _phrases([*one.phrases, *other.phrases])
    return Vocabulary(one.documents + other.documents, words, terms, phrases, one.language)


def _phrases(phrases: Iterable[Phrase]) -> list[Phrase]:
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Phrase] = {}
    for phrase in phrases:
        key = (phrase.text, phrase.kind)
        first.setdefault(key, phrase)
        counts[key] += phrase.documents
    return [Phrase(phrase.text, phrase.kind, counts[key]) for key, phrase in first.items()]

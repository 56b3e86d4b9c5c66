"""Opening an index: what is checked, and what an open index offers."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from dragoman.errors import IndexStateError
from dragoman.protocols import Retriever
from dragoman.retrievers.embedded.layout import (
    VOCABULARY,
    Manifest,
    Model,
    check_files,
    mapped,
    read_manifest,
    unusable,
)
from dragoman.retrievers.embedded.meaning import Meaning, QuestionVectors
from dragoman.retrievers.embedded.passages import Passages
from dragoman.retrievers.embedded.topic import TOPIC, Topic
from dragoman.retrievers.embedded.vectors import VectorTable
from dragoman.retrievers.embedded.words import Shelf, Words, WordsReader
from dragoman.retrievers.embedders import Embedder, Encode, expected_fingerprint, is_callable_name, load_embedder
from dragoman.retrievers.standing import Standing
from dragoman.types import Hit
from dragoman.vocabulary import Vocabulary

VECTORS = "vectors"
HEADING_VECTORS = "headings"
_ATTEMPTS = 5  # a builder may clear a generation away between the reading of its name and of its files


def open_index(
    path: Path | str, *, embedder: str | Embedder | Encode | None = None, language: str | None = None
) -> EmbeddedIndex:
    """Open the index at `path`.

    The embedding model is loaded at the first question that needs it. An index opened stays as it is while
    another is built in its place; open it again to see that one.

    Args:
        embedder: needed when the index was built with a callable: the same one. Else it may be
            named, to be held to it.
        language: to hold the index to it.

    Raises:
        IndexStateError: there is no index, it is damaged, unfinished or of another version, it may not
            be read, or it was built with another embedder or language.
    """
    _check_place(path)
    path = Path(path)
    manifest = read_manifest(path)
    for attempt in range(_ATTEMPTS):
        try:
            return _open(path, manifest, embedder, language)
        except IndexStateError:
            now = read_manifest(path)
            if now.generation == manifest.generation or attempt == _ATTEMPTS - 1:
                raise
            manifest = now
    raise AssertionError("every attempt returns or raises")


def _check_place(place: Path | str) -> None:
    """Tell an engine's address of an unknown kind from a folder that is not there."""
    scheme = Path(place).parts[:1]
    if scheme and re.fullmatch(r"[\w+]{2,}:", scheme[0]) and not Path(place).exists():
        from dragoman.retrievers.engine import masked
        from dragoman.retrievers.engines import KINDS

        known = ", ".join(f"{kind}:" for kind in KINDS)
        raise IndexStateError(f"no such folder, and no engine's address; those begin with {known}", masked(str(place)))


def _open(
    path: Path, manifest: Manifest, embedder: str | Embedder | Encode | None, language: str | None
) -> EmbeddedIndex:
    check_files(path, manifest)
    if language is not None and language != manifest.language:
        raise IndexStateError(
            f"its documents are in {manifest.language!r}, not in {language!r}; name the right index, or build it again "
            f"with language {language!r}",
            path,
        )
    questions = _questions(path, manifest.model, embedder)
    try:
        return EmbeddedIndex(path, manifest, questions)
    except (OSError, ValueError) as exc:
        raise unusable(str(exc), path, exc) from exc


def _questions(path: Path, model: Model | None, embedder: str | Embedder | Encode | None) -> QuestionVectors | None:
    if model is None:
        if embedder is not None:
            raise IndexStateError("it holds words only; build it again with this embedder", path)
        return None
    if embedder is None and is_callable_name(model.name):
        raise IndexStateError(f"it was built with {model.name!r}; give the same as `embedder`", path)
    name = model.name if embedder is None else embedder if isinstance(embedder, str) else load_embedder(embedder).name
    if name != model.name or model.fingerprint != expected_fingerprint(name):
        other = "of another version" if name == model.name else repr(name)
        raise IndexStateError(
            f"it was built with the embedder {model.name!r}, not with one {other}; build the index again", path
        )
    return QuestionVectors(path, lambda: load_embedder(model.name if embedder is None else embedder), model)


class EmbeddedIndex:
    """An open index.

    Attributes:
        words: BM25 over titles and texts, named "words".
        headings_words: the same over titles alone, named "headings".
        meaning: nearness of meaning, named "meaning"; None where the index holds words only.
        headings_meaning: the same to titles alone, named "headings_meaning".
        language: its documents'.
    """

    def __init__(self, path: Path, manifest: Manifest, questions: QuestionVectors | None) -> None:
        self.path = path
        self.language = manifest.language
        self._manifest = manifest
        self._generation = path / manifest.generation
        self._counted = mapped(self._generation / VOCABULARY)
        reader = WordsReader(self._generation, manifest.language)
        passages = Passages(self._generation)
        if len(passages) != manifest.numbers:
            raise ValueError(f"{len(passages)} passages where there should be {manifest.numbers}")
        self._shelf = Shelf(reader, passages)
        self.words = Words("words", self._shelf)
        self.headings_words = Words("headings", self._shelf, "title")
        self.meaning = self._meaning("meaning", VECTORS, questions)
        self.headings_meaning = self._meaning("headings_meaning", HEADING_VECTORS, questions)

    def _meaning(self, name: str, table: str, questions: QuestionVectors | None) -> Meaning | None:
        if questions is None or self._manifest.model is None:
            return None
        held, dimensions = self._manifest, self._manifest.model.dimensions
        rows = VectorTable(self._generation, table, dimensions, held.numbers, held.replaced)
        topic = Topic(self._generation) if table == VECTORS and TOPIC in held.files else None
        return Meaning(name, rows, questions, self._shelf, topic)

    def __len__(self) -> int:
        return self._manifest.documents

    @property
    def embedder(self) -> str | None:
        """The name of the embedder that made the vectors; None for words only."""
        return self._manifest.model.name if self._manifest.model else None

    @property
    def retrievers(self) -> tuple[Retriever, ...]:
        """What a question is run on: words, and meaning and the headings' meaning where there are vectors."""
        meaning = (self.meaning, self.headings_meaning)
        return (self.words, *(retriever for retriever in meaning if retriever is not None))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The corpus's words, read from disk when first asked for."""
        self._counted.seek(0)
        return Vocabulary.of_lines(iter(self._counted.readline, b""), self._generation / VOCABULARY)

    def standing(self, text: str) -> Standing | None:
        """How near `text` lies to the corpus, and to what people ask about everywhere; None without meaning.

        Raises:
            RetrievalError: the model is not installed, not the index's, or failed.
        """
        return None if self.meaning is None else self.meaning.standing(text)

    def document(self, doc_id: str) -> Hit | None:
        """The document with this id, its score 0; None when there is none.

        Raises:
            RetrievalError: the index's files went bad or were closed.
        """
        number = self._shelf.reader.number(doc_id)
        if number is None:
            return None
        passage = self._shelf.passages[number]
        return Hit(passage.doc_id, 0.0, passage.title, passage.text, passage.metadata)

    def document_frequency(self, word: str) -> int:
        """In how many documents `word` stands, in whatever inflection; of several words the rarest."""
        return self._shelf.reader.document_frequency(word)

    def verify(self) -> None:
        """Read every file and hold it to its checksum; opening does so for small ones only.

        Raises:
            IndexStateError: one is missing or not as it was written.
        """
        check_files(self.path, self._manifest, wholly=True)

    def close(self) -> None:
        """Let go of the files; searches fail from here on."""
        self._shelf.passages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

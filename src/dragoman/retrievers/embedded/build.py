"""Building an index: one pass over the documents, in bounded memory, counted by one rename."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dragoman.errors import CollectionError, IndexStateError, MissingExtraError
from dragoman.retrievers.documents import Document, count_documents, find_files, read_documents
from dragoman.retrievers.embedded.layout import (
    MANIFEST,
    VOCABULARY,
    Manifest,
    Model,
    check_files,
    inventory,
    publish,
    read_manifest,
    writing,
)
from dragoman.retrievers.embedded.meaning import model_of
from dragoman.retrievers.embedded.open import HEADING_VECTORS, VECTORS
from dragoman.retrievers.embedded.passages import Passages, PassageWriter
from dragoman.retrievers.embedded.topic import sample, write_topic
from dragoman.retrievers.embedded.vectors import VectorTable, VectorWriter
from dragoman.retrievers.embedded.vocabularies import GrowingVocabulary
from dragoman.retrievers.embedded.windows import short_title, windows
from dragoman.retrievers.embedded.words import WordsReader, WordsWriter
from dragoman.retrievers.embedders import DEFAULT, Embedder, Encode, load_embedder

Progress: TypeAlias = Callable[[int, int | None], None]

# Enough for batches of texts of one length, few enough to stay under some megabytes.
_EMBEDDED_AT_ONCE = 512
_SHOWN_EVERY = 64


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """What a build did.

    Attributes:
        documents: how many the index holds now.
        added: how many were read and written; of these `replaced` took an earlier one's place.
        skipped: documents with neither title nor text.
        embedder: whose vectors it holds; None for words only.
        size: bytes on disk.
        warnings: what a person should know: no meaning ranking, documents skipped.
    """

    path: Path
    documents: int
    added: int
    replaced: int = 0
    skipped: int = 0
    embedder: str | None = None
    size: int = 0
    seconds: float = 0.0
    warnings: tuple[str, ...] = field(default=())


def build_index(
    sources: Sequence[Path],
    out: Path,
    *,
    embedder: str | Embedder | Encode | None = DEFAULT,
    language: str = "en",
    progress: Progress | None = None,
    add: bool = False,
) -> IndexSummary:
    """Index files and folders into the directory `out`.

    An index that is there stays in use until the new one is whole, and for good when the build fails
    or is killed.

    Args:
        embedder: a name (see `dragoman.retrievers.embedders`), an embedder, or a callable from a list
            of texts to an array (n, dimensions). None: words only. Without the `meaning` extra the
            default is words only too, and the summary warns of it.
        language: the documents', for stemming and stop words.
        progress: called with how many documents are done, and of how many where that is known.
        add: add to the index that is there, replacing documents of the same id and files of the same
            name; the default embedder then means the index's own.

    Raises:
        CollectionError: a source cannot be read, has a broken line or an id twice, or holds nothing.
        IndexStateError: another builder writes there, the directory holds something else, or the
            index that is there cannot be added to with this embedder or language.
        MissingExtraError: an embedder, or a reader of PDF, that is not installed.
    """
    started = time.perf_counter()
    out = Path(out)
    files = find_files([Path(source) for source in sources])
    with writing(out) as generation:
        earlier = _earlier(out, language) if add and (out / MANIFEST).exists() else None
        chosen, warnings = _embedder(embedder, earlier, out)
        build = _Build(generation, language, chosen, earlier, out)
        try:
            build.run(read_documents(files), progress, count_documents(files))
            manifest = build.finish()
        finally:
            build.abandon()
        if not manifest.documents:
            raise CollectionError("the sources hold no document with a title or a text", files[0].path)
        publish(out, manifest)
    if build.skipped:
        warnings = (*warnings, f"{build.skipped} documents had neither title nor text and were left out")
    return IndexSummary(
        path=out,
        documents=manifest.documents,
        added=build.added,
        replaced=len(manifest.replaced) - (len(earlier.replaced) if earlier else 0),
        skipped=build.skipped,
        embedder=manifest.model.name if manifest.model else None,
        size=sum(size for size, _ in manifest.files.values()),
        seconds=time.perf_counter() - started,
        warnings=warnings,
    )


def _earlier(out: Path, language: str) -> Manifest:
    manifest = read_manifest(out)
    check_files(out, manifest)
    if manifest.language != language:
        raise IndexStateError(
            f"its documents are in {manifest.language!r}, not in {language!r}; "
            f"add with language {manifest.language!r} or build another index",
            out,
        )
    return manifest


def _embedder(
    asked: str | Embedder | Encode | None, earlier: Manifest | None, out: Path
) -> tuple[Embedder | None, tuple[str, ...]]:
    """The embedder to use, and what to warn of."""
    if earlier is not None and (earlier.model is None or asked is None):
        if earlier.model is None and asked in (None, DEFAULT):
            return None, ()
        found = "words only" if earlier.model is None else f"the embedder {earlier.model.name!r}"
        raise IndexStateError(f"it was built with {found}; add with the same, or build the index again", out)
    if asked is None:
        return None, ()
    if earlier is not None and earlier.model is not None:
        chosen = load_embedder(earlier.model.name if asked == DEFAULT else asked)
        _same(chosen, earlier.model, out)
        return chosen, ()
    try:
        return load_embedder(asked), ()
    except MissingExtraError as exc:
        if asked != DEFAULT:
            raise
        return None, (f"words only, no ranking by meaning: {exc}",)


def _same(chosen: Embedder, model: Model, out: Path) -> None:
    now = model_of(chosen)
    if now.name != model.name or now.fingerprint != model.fingerprint or now.dimensions != model.dimensions:
        raise IndexStateError(
            f"it was built with the embedder {model.name!r} ({model.dimensions} dimensions), not with "
            f"{now.name!r} ({now.dimensions}); add with the same, or build the index again",
            out,
        )


class _Build:
    """One generation in the making."""

    def __init__(
        self, generation: Path, language: str, embedder: Embedder | None, earlier: Manifest | None, out: Path
    ) -> None:
        before = None if earlier is None else out / earlier.generation
        self._generation, self._language, self._embedder = generation, language, embedder
        self._passages = PassageWriter(generation, before)
        self._words = WordsWriter(generation, language, before)
        self._vocabulary = GrowingVocabulary(language, before)
        self._tables: dict[str, VectorWriter] = {}
        if embedder is not None:
            self._tables = {name: VectorWriter(generation, name, before) for name in (VECTORS, HEADING_VECTORS)}
        self._earlier = None if before is None else WordsReader(before, language)
        self._replaced = set() if earlier is None else set(earlier.replaced)
        self._origins: set[str] = set()
        self._waiting: list[tuple[int, str]] = []
        self._waiting_titles: list[tuple[int, str]] = []
        self.added = self.skipped = 0

    def run(self, documents: Iterable[Document], progress: Progress | None, total: int | None) -> None:
        """Write every document."""
        for document in documents:
            if document.is_blank:
                self.skipped += 1
                continue
            self._replace(document)
            number = self._passages.add(document)
            self._words.add(document, number)
            self._vocabulary.add(document)
            self.added += 1
            if self._embedder is not None:
                self._waiting += ((number, window) for window in windows(document.title, document.text))
                self._waiting_titles.append((number, short_title(document.title) or document.text[:80]))
                if len(self._waiting) >= _EMBEDDED_AT_ONCE:
                    self._embed()
            if progress and self.added % _SHOWN_EVERY == 0:
                progress(self.added + self.skipped, total)
        self._embed()
        if progress:
            progress(self.added + self.skipped, total)

    def _replace(self, document: Document) -> None:
        """Leave out what this document, or the file it is a part of, takes the place of."""
        if self._earlier is None:
            return
        if document.origin and document.origin not in self._origins:
            self._origins.add(document.origin)
            self._replaced.update(int(number) for number in self._earlier.part_numbers(document.origin))
            self._words.remove("origin", document.origin)
        number = self._earlier.number(document.doc_id)
        if number is not None:
            self._replaced.add(number)
            self._words.remove("id", document.doc_id)

    def _embed(self) -> None:
        for table, waiting in ((VECTORS, self._waiting), (HEADING_VECTORS, self._waiting_titles)):
            if self._embedder is not None and waiting:
                texts = list(dict.fromkeys(text for _, text in waiting))  # titles repeat in a file's passages
                rows = {text: row for row, text in enumerate(texts)}
                vectors = self._embedder(texts)[[rows[text] for _, text in waiting]]
                self._tables[table].add([number for number, _ in waiting], vectors)
                waiting.clear()

    def finish(self) -> Manifest:
        """Close every file and say what they hold."""
        self._words.close()
        self._passages.close()
        for table in self._tables.values():
            table.close()
        self._vocabulary.finish().save(self._generation / VOCABULARY)
        model = None if self._embedder is None else model_of(self._embedder)
        if self._embedder is not None and model is not None and len(self._passages):
            self._measure(self._embedder, model.dimensions)
        return Manifest(
            generation=self._generation.name,
            language=self._language,
            documents=len(self._passages) - len(self._replaced),
            numbers=len(self._passages),
            model=model,
            replaced=tuple(sorted(self._replaced)),
            files=inventory(self._generation),
        )

    def _measure(self, embedder: Embedder, dimensions: int) -> None:
        """Write what the corpus is about, for the gate."""
        replaced = sorted(self._replaced)
        passages = Passages(self._generation)
        try:
            table = VectorTable(self._generation, VECTORS, dimensions, len(passages), replaced)
            write_topic(self._generation, table, embedder, sample(passages, replaced), self._language)
        finally:
            passages.close()

    def abandon(self) -> None:
        """Let go of every file, whether or not the build succeeded."""
        self._words.abandon()
        self._passages.abandon()
        for table in self._tables.values():
            table.abandon()

"""Words: BM25 by Tantivy over stems that `dragoman.text` makes, on both sides the same.

Tantivy is given stems, never text, and queries are built of terms, never parsed: whatever a question
holds is escaped because there is nothing it could be read as. k1 is 1.2 and b .75, Tantivy's own
(Robertson and Zaragoza 2009).

Fields: `body` (title and text), `title`, `pairs` (neighbouring stems of one clause), `compound` (numbers
and codes whole, "46.2-870", whose pieces stand in `body` as well), `name` (those of the document's own
id), `filter` (metadata), `origin`, `id`, `number`.
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeAlias

import numpy as np
import tantivy
from numpy.typing import NDArray
from tantivy import Occur, Query

from dragoman.errors import IndexStateError, RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedded.found import ranking_of
from dragoman.retrievers.embedded.layout import WORDS
from dragoman.retrievers.embedded.passages import Passages
from dragoman.text import fold, stems
from dragoman.types import Metadata, Ranking, Search

Numbers: TypeAlias = NDArray[np.uint32]

_ANALYSER = "stems"
_FREQUENCIES = "freq"  # index without positions: nothing here asks for phrases
_WRITER_BYTES = 64_000_000
_PIECES = re.compile(r"(?<!\w)\w+(?:[.'\-]\w+)+")
_DIGIT = re.compile(r"\d")
# A document that is named by the code asked for stands before those that cite it.
_NAME_BOOST = 8.0
# Words that stand together as asked count a little more; measured at +.002 to +.006 nDCG@10 on each of
# four collections of different kinds, and never worse.
_PAIR_BOOST = 0.3
_CLAUSE = re.compile(r"[.,;:!?()\[\]{}\"“”\n§]+")
_SLACK = 16  # fetched beyond the depth, so that ties at the cut are mostly settled by one search
_FILTERS_KEPT = 64


def analyse(text: str, language: str) -> tuple[list[str], list[str]]:
    """The stems of `text`, and its pairs: two stems that follow one another inside a clause, "motor_vehicl"."""
    single: list[str] = []
    pairs: list[str] = []
    for clause in _CLAUSE.split(text):
        found = stems(clause, language)
        single += found
        pairs += map("_".join, pairwise(found))
    return single, pairs


def codes(text: str) -> list[str]:
    """Numbers and codes of several pieces, whole and folded: "46.2-870", "e-1234"."""
    return [code for code in _PIECES.findall(fold(text)) if _DIGIT.search(code)]


def _mark(key: str, value: str) -> str:
    """One token for a metadata entry, however long and of whatever characters."""
    return blake2b(f"{key}\x1f{value}".encode(), digest_size=16).hexdigest()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("body", "title", "pairs", "compound", "name"):
        builder.add_text_field(name, tokenizer_name=_ANALYSER, index_option=_FREQUENCIES)
    for name in ("id", "filter", "origin"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("number", fast=True)
    return builder.build()


def _opened(path: Path, *, new: bool) -> tantivy.Index:
    index = tantivy.Index(_schema(), path=str(path)) if new else tantivy.Index.open(str(path))
    plain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer(_ANALYSER, plain)
    return index


def _opened_to_read(path: Path) -> tantivy.Index:
    """The index of a folder that this user may perhaps not write to.

    Tantivy writes a lock where it opens; such a folder is opened through another one, of links to its
    files. These stay open, and the links may go.

    Raises:
        OSError, ValueError: it is damaged.
        IndexStateError: it may not be written to, and there is no place for links.
    """
    try:
        return _opened(path, new=False)
    except ValueError as exc:  # damage too: it fails again, and is told as what it is
        with _for_links(path, exc) as folder:
            for file in path.iterdir():
                if file.suffix != ".lock":
                    _link_or_copy(file.absolute(), Path(folder) / file.name)
            return _opened(Path(folder), new=False)


def _for_links(path: Path, failed: Exception) -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True)
    except OSError:
        what = f"cannot be opened ({failed}), and there is no temporary folder to open it through"
        raise IndexStateError(f"{what}; let this user write to either, TMPDIR names the latter", path) from failed


def _link_or_copy(file: Path, target: Path) -> None:
    try:
        target.symlink_to(file)
    except OSError:  # a system without links, or where this user may make none
        target.write_bytes(file.read_bytes())


class WordsWriter:
    """Adds documents to the word index of a new generation, beginning with an earlier one's."""

    def __init__(self, generation: Path, language: str, earlier: Path | None = None) -> None:
        path = generation / WORDS
        path.mkdir()
        if earlier is not None:
            _link(earlier / WORDS, path)
        self._path, self._language = path, language
        self._closed = False
        self._index = _opened(path, new=earlier is None)
        # One thread: segments come out in the order of the documents, alike on every machine.
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)

    def add(self, document: Document, number: int) -> None:
        """Index one document under its number."""
        title, title_pairs = analyse(document.title, self._language)
        text, text_pairs = analyse(document.text, self._language)
        row = tantivy.Document()
        row.add_text("id", document.doc_id)
        row.add_text("body", " ".join(title + text))
        row.add_text("title", " ".join(title))
        row.add_text("pairs", " ".join(title_pairs + text_pairs))
        row.add_text("compound", " ".join(codes(document.title) + codes(document.text)))
        row.add_text("name", " ".join(codes(document.doc_id)))
        for key, value in document.metadata.items():
            row.add_text("filter", _mark(key, value))
        if document.origin:
            row.add_text("origin", document.origin)
        row.add_unsigned("number", number)
        self._writer.add_document(row)

    def remove(self, field: str, value: str) -> None:
        """Leave out the earlier documents with this `id` or `origin`."""
        self._writer.delete_documents_by_term(field, value)

    def close(self) -> None:
        """Commit, and wait until every file is written."""
        self._writer.commit()
        self._writer.wait_merging_threads()
        self._closed = True
        for file in tuple(self._path.glob("*.json")):  # Tantivy lets nobody else read these two
            content = file.read_bytes()
            file.unlink()
            file.write_bytes(content)

    def abandon(self) -> None:
        """Stop writing, unless closed; the generation will not count, and no thread writes into it any more."""
        if not self._closed:
            self._closed = True
            self._writer.rollback()
            self._writer.wait_merging_threads()


def _link(earlier: Path, path: Path) -> None:
    """The same files under a second name: Tantivy writes a segment once and never into it again."""
    for file in earlier.iterdir():
        if file.suffix == ".lock":
            continue
        target = path / file.name
        if file.suffix == ".json":
            target.write_bytes(file.read_bytes())
            continue
        try:
            os.link(file, target)
        except OSError:  # a file system without hard links
            target.write_bytes(file.read_bytes())


class WordsReader:
    """One generation's word index, open for searching. Safe for any number of threads."""

    def __init__(self, generation: Path, language: str) -> None:
        self._index = _opened_to_read(generation / WORDS)
        self._schema = self._index.schema
        self._searcher = self._index.searcher()
        self._documents: int = self._searcher.num_docs
        self._language = language
        self.allowed: Callable[[frozenset[tuple[str, str]]], Numbers] = lru_cache(_FILTERS_KEPT)(self._allowed)

    def find(self, query: Query, limit: int) -> tuple[NDArray[np.float32], Numbers]:
        """Scores and numbers of the best `limit` documents, best first."""
        found = self._searcher.search(query, limit, count=False).hits
        numbers = self._searcher.fast_field_values("number", [address for _, address in found])
        return np.array([score for score, _ in found], np.float32), np.array(numbers, np.uint32)

    def best(self, query: Query, depth: int) -> tuple[NDArray[np.float32], Numbers]:
        """The best `depth` documents and those that score as the last of them, so that ids can settle ties."""
        depth = min(depth, self._documents)  # Tantivy sets memory aside for as many as are asked for
        limit = depth + _SLACK
        scores, numbers = self.find(query, limit)
        while len(scores) == limit and scores[depth - 1] == scores[-1]:
            limit *= 4
            scores, numbers = self.find(query, limit)
        if len(scores) > depth:
            kept = int(np.count_nonzero(scores >= scores[depth - 1]))
            scores, numbers = scores[:kept], numbers[:kept]
        return scores, numbers

    def number(self, doc_id: str) -> int | None:
        """The number of the document with this id; None when there is none."""
        numbers = self.find(self._term("id", doc_id), 1)[1]
        return int(numbers[0]) if len(numbers) else None

    def part_numbers(self, origin: str) -> Numbers:
        """The numbers of all passages of one file."""
        return self.find(self._term("origin", origin), max(1, self._searcher.num_docs))[1]

    def _allowed(self, filters: frozenset[tuple[str, str]]) -> Numbers:
        """The documents that have all of `filters`, ascending; kept for the next question."""
        numbers = self.find(Query.boolean_query(self._musts(filters)), max(1, self._searcher.num_docs))[1]
        numbers.sort()
        return numbers

    def document_frequency(self, word: str) -> int:
        """In how many documents `word` stands, in whatever inflection; of several words the rarest."""
        whole = [self._searcher.doc_freq("compound", code) for code in codes(word)]
        counts = whole or [self._searcher.doc_freq("body", stem) for stem in stems(word, self._language)]
        return min(counts, default=0)

    def weights(self, search: Search) -> dict[tuple[str, str], float]:
        """(field, term) -> weight of a search: its weighted terms where it has them, else its text."""
        weights: defaultdict[tuple[str, str], float] = defaultdict(float)
        for text, weight in search.terms or ((search.text, 1.0),):
            single, pairs = analyse(text, self._language)
            for stem in single:
                weights["body", stem] += weight
            for pair in pairs:
                weights["pairs", pair] += _PAIR_BOOST * weight
            for code in codes(text):
                weights["compound", code] += weight
                weights["name", code] += _NAME_BOOST * weight
        return {term: weight for term, weight in weights.items() if weight > 0}

    def query(self, weights: Iterable[tuple[tuple[str, str], float]], filters: Metadata) -> Query | None:
        """A query of weighted terms; None where there is not one."""
        parts = [
            (Occur.Should, Query.boost_query(self._term(field, term, _FREQUENCIES), weight))
            for (field, term), weight in weights
        ]
        if not parts:
            return None
        either = Query.boolean_query(parts)
        if not filters:
            return either
        return Query.boolean_query([(Occur.Must, either), *self._musts(frozenset(filters.items()))])

    def _musts(self, filters: Iterable[tuple[str, str]]) -> list[tuple[Occur, Query]]:
        marks = (self._term("filter", _mark(key, value)) for key, value in filters)
        return [(Occur.Must, Query.const_score_query(mark, 0.0)) for mark in marks]

    def _term(self, field: str, value: str, option: str = "basic") -> Query:
        return Query.term_query(self._schema, field, value, option)


class Shelf(NamedTuple):
    """What every ranking of one index reads: the word index and the passages."""

    reader: WordsReader
    passages: Passages


class Words:
    """BM25 over titles and texts, or over titles alone, as a retriever.

    Args:
        field: `body`, or `title` for a ranking by headings.
    """

    inline = True

    def __init__(self, name: str, shelf: Shelf, field: str = "body") -> None:
        self.name = name
        self._reader, self._passages = shelf
        self._field = field

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        """At most `depth` hits; empty where no word of the search stands in the index.

        Raises:
            RetrievalError: the index's files went bad or were closed.
        """
        started = time.perf_counter()
        found = self._found(search, depth, filters) if depth > 0 else None
        if found is None:
            return Ranking(search, self.name, (), time.perf_counter() - started)
        return ranking_of(search, self.name, self._passages, found, depth, time.perf_counter() - started)

    def _found(self, search: Search, depth: int, filters: Metadata) -> tuple[NDArray[np.float32], Numbers] | None:
        weights = self._reader.weights(search)
        if self._field != "body":
            weights = {(self._field, term): weight for (field, term), weight in weights.items() if field == "body"}
        query = self._reader.query(weights.items(), filters)
        if query is None:
            return None
        try:
            return self._reader.best(query, depth)
        except ValueError as exc:
            raise RetrievalError(f"the word index cannot be searched ({exc}); build the index again") from exc

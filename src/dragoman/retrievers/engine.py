"""What every engine's adapter shares: the words of a search, ties at the cut, errors, vocabulary.

An adapter is one file. It says how its engine finds words and how it finds meaning; both become an
`EngineRetriever` here. Clients live on the package's own background loop (`dragoman.portal`), so one
adapter serves any event loop, and a question that is cut never waits for a client to tidy up.
"""

from __future__ import annotations

import importlib.util
import math
import re
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeAlias

from dragoman import portal
from dragoman.aside import Aside
from dragoman.errors import MissingExtraError, RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedders import Embedder, Encode, Vectors, load_embedder
from dragoman.text import stop_words, terms, words
from dragoman.types import Hit, Metadata, Ranking, Search
from dragoman.vocabulary import Vocabulary, VocabularyBuilder

Fetch: TypeAlias = Callable[[Search, int, Metadata], Awaitable[list[Hit]]]
Embed: TypeAlias = str | Embedder | Encode
Weighted: TypeAlias = tuple[tuple[str, float], ...]

MOST_WORDS = 64  # of one search; engines refuse more clauses than some hundreds to a thousand
MOST_REPEATS = 10
_LONGEST_WORD = 100  # letters; no analyser keeps longer ones, and PostgreSQL refuses 2 KB
_SLACK = 16  # asked for beyond the depth, so that ties at the cut are mostly settled by one call
_MOST_HITS = 16_384  # Milvus gives no more; Elasticsearch's default is 10,000
_CODE = re.compile(r"(?=.*\d).*[.\-]")
_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^@]*@")


@dataclass(frozen=True, slots=True)
class Fields:
    """What an engine's table calls the parts of a passage.

    Attributes:
        id: the document's own id, a text.
        metadata: what filters ask for: an object of texts.
        vector: the passage's embedding.
        words: what the words ranking reads (a tsvector, a sparse vector), where the engine has such.
    """

    id: str = "doc_id"
    title: str = "title"
    text: str = "text"
    metadata: str = "metadata"
    vector: str = "vector"
    words: str = "words"


class EngineRetriever:
    """One way of finding in one engine, as a retriever.

    Args:
        fetch: gives the hits, ties at the cut settled; scores of 0 or less are left out here.
        close: closes the whole engine; may be called more than once.
        by_meaning: it is to be given the text whose meaning is wanted, without the words added to it.
    """

    def __init__(
        self, name: str, fetch: Fetch, close: Callable[[], Awaitable[None]], *, by_meaning: bool = False
    ) -> None:
        self.name, self._fetch, self._close, self.by_meaning = name, fetch, close, by_meaning

    @property
    def engine(self) -> object:
        """The adapter whose way of finding this is."""
        return getattr(self._fetch, "__self__", self)

    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        """At most `depth` hits, each with all of `filters`.

        Raises:
            RetrievalError: the engine cannot be reached, or refused.
        """
        started = time.perf_counter()
        hits = await portal.away(self._hits(search, depth, filters)) if depth > 0 else []
        ranking = Ranking(search, self.name, ranked(hits)).top(max(depth, 0))
        return Ranking(search, self.name, ranking.hits, time.perf_counter() - started)

    async def _hits(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        return await self._fetch(search, depth, filters)

    async def aclose(self) -> None:
        """Close the engine's connections, those of its other retrievers too."""
        await portal.away(_awaited(self._close()))


async def _awaited(closing: Awaitable[None]) -> None:
    await closing


def ranked(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Those that are hits: with a finite score above 0."""
    return tuple(hit for hit in hits if math.isfinite(hit.score) and hit.score > 0)


def asked_words(search: Search, language: str = "en") -> Weighted:
    """The words of a search and how much each counts, the weightiest first, `MOST_WORDS` at most.

    Its weighted terms where it has them, else its text. Folded and cut to letters and digits, so that
    nothing in them can be query syntax; numbers and codes ("46.2-870") whole as well as in pieces. Stop
    words are left out unless there is nothing else.
    """
    weights: dict[str, float] = {}
    for text, weight in search.terms or ((search.text, 1.0),):
        for word in (*terms(text), *codes(text)):
            if len(word) <= _LONGEST_WORD:
                weights[word] = weights.get(word, 0.0) + weight
    stop = stop_words(language)
    telling = {word: weight for word, weight in weights.items() if word not in stop} or weights
    found = sorted(((word, weight) for word, weight in telling.items() if weight > 0), key=lambda pair: -pair[1])
    return tuple(found[:MOST_WORDS])


def repeated_words(search: Search, language: str = "en") -> list[tuple[str, int]]:
    """Each word of a search and how often to send it, the least weighty once, none more than `MOST_REPEATS`.

    For engines that take text alone and count a word as often as it is asked for.
    """
    asked = asked_words(search, language)
    unit = max(asked[-1][1], asked[0][1] / MOST_REPEATS) if asked else 1.0
    return [(word, max(1, round(weight / unit))) for word, weight in asked]


def codes(text: str) -> list[str]:
    """Numbers and codes of several pieces, whole and folded: "46.2-870", "e-1234"."""
    return [word for word in words(text) if _CODE.match(word)]


async def settled(fetch: Callable[[int], Awaitable[list[Hit]]], depth: int, most: int = _MOST_HITS) -> list[Hit]:
    """Hits, best first, so many that no document left out ties with one inside the depth.

    For engines that order ties as they like. `fetch` is given how many to bring.
    """
    limit = min(depth + _SLACK, most)
    while True:
        hits = await fetch(limit)
        if len(hits) < limit or limit >= most or hits[min(depth, len(hits)) - 1].score != hits[-1].score:
            return hits
        limit = min(limit * 4, most)


async def rounded(hits: Awaitable[list[Hit]]) -> list[Hit]:
    """Scores to six decimals: in single precision the rest is noise, and like passages must tie."""
    return [replace(hit, score=round(hit.score, 6)) for hit in await hits]


class QuestionVector:
    """Turns a search into the vector its meaning is looked up by."""

    def __init__(self, embed: Embed) -> None:
        self.embedder = load_embedder(embed)
        self._aside = Aside("embedder")

    async def __call__(self, text: str) -> list[float] | None:
        """The vector, of norm 1; None for a text that means nothing to the model."""
        vector = (await self.many([text]))[0]
        return [float(x) for x in vector] if vector.any() else None

    async def many(self, texts: Sequence[str]) -> Vectors:
        """Vectors of norm 1, shape (n_texts, dimensions), made in a thread."""
        return await self._aside(self.embedder, texts)


def need(what: str, extra: str, *packages: str) -> None:
    """See, without importing them, that an engine's client is installed.

    Raises:
        MissingExtraError: it is not.
    """
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise MissingExtraError(what, extra)


def vectors_of(question: QuestionVector | None, what: str) -> QuestionVector:
    """The embedder of an engine, for the retriever named `what`.

    Raises:
        ValueError: it was given none.
    """
    if question is None:
        raise ValueError(f"{what} needs embed=, the embedder that made the vectors")
    return question


@contextmanager
def reaching(name: str, where: str, errors: tuple[type[BaseException], ...]) -> Iterator[None]:
    """Make one error of what an engine's client raises, saying which engine, where, and what it said."""
    try:
        yield
    except errors as exc:
        said = " ".join(str(exc).split())[:300] or type(exc).__name__
        raise RetrievalError(
            f"{name} at {masked(where)} failed: {said}; "
            "check that it runs there, and that its table is laid out as the adapter expects"
        ) from exc


def masked(url: str) -> str:
    """An address without its password."""
    return _PASSWORD.sub(r"\1:***@", url)


def as_texts(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Metadata as hits carry it: texts; what is nested or null is left out."""
    plain = (metadata or {}).items()
    return {str(k): v if isinstance(v, str) else str(v).lower() for k, v in plain if isinstance(v, str | int | float)}


def body(document: Document) -> str:
    """What words are looked for in: the title and the text."""
    return f"{document.title}\n{document.text}".strip()


def batches(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """The documents in lists of `size`; the last may be shorter."""
    following = iter(documents)
    while batch := list(islice(following, size)):
        yield batch


async def vocabulary_of(passages: AsyncIterable[tuple[str, str]], language: str = "en") -> Vocabulary:
    """The vocabulary of (title, text) pairs, counted in one pass in bounded memory."""
    builder = VocabularyBuilder(language)
    async for title, text in passages:
        builder.add(title, text)
    return builder.finish()

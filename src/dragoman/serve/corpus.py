"""What is searched: an index in a directory, or an engine at an address; what the page asks of either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from dragoman.protocols import Retriever
from dragoman.retrievers import open_index
from dragoman.retrievers.embedders import load_embedder
from dragoman.retrievers.engines import Engine, is_address, open_engine, vocabulary_of
from dragoman.serve.settings import ServiceError, Table
from dragoman.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Corpus:
    """An open corpus.

    Attributes:
        documents: how many there are.
        frequency: in how many of them a word stands, in whatever inflection.
        holds: whether there is a document of this id; an engine is not asked and every id is taken for one.
        close: lets go of files; an engine's connections are closed with its retrievers.
    """

    retrievers: tuple[Retriever, ...]
    vocabulary: Vocabulary
    language: str
    documents: int
    frequency: Callable[[str], int]
    holds: Callable[[str], bool]
    close: Callable[[], None]

    @classmethod
    async def open(cls, place: str, embedder: str = "") -> Self:
        """The corpus in a directory or at an address.

        Args:
            embedder: who made an engine's vectors; empty: it is searched by words.

        Raises:
            IndexStateError: the directory cannot be opened as an index.
            RetrievalError: the engine cannot be reached; MissingExtraError: its client is not installed.
        """
        if is_address(place):
            engine = _engine(place, embedder)
            words = await vocabulary_of(engine)
            frequency, documents = words.document_frequency, words.documents
            return cls(tuple(engine.retrievers), words, words.language, documents, frequency, _anything, _nothing)
        index = open_index(place)
        return cls(
            tuple(index.retrievers),
            index.vocabulary,
            index.language,
            len(index),
            index.document_frequency,
            lambda doc_id: index.document(doc_id) is not None,
            index.close,
        )


async def open_corpora(tables: Sequence[Table]) -> dict[str, Corpus]:
    """Every corpus of the tables once, however many profiles stand over it.

    Raises:
        IndexStateError, RetrievalError: one cannot be opened.
    """
    places = {table.index: table.embedder for table in tables if table.index}
    return {place: await Corpus.open(place, embedder) for place, embedder in places.items()}


def look_at(place: str, embedder: str = "") -> None:
    """See that there is something to open, so that a mistake is told before the server starts.

    Raises:
        IndexStateError, ServiceError, MissingExtraError: there is not.
    """
    if not is_address(place):
        open_index(place).close()
        return
    try:
        _engine(place, embedder)
    except ValueError as exc:
        raise ServiceError(str(exc)) from exc


def _engine(place: str, embedder: str) -> Engine:
    return open_engine(place, embed=load_embedder(embedder) if embedder else None)


def _anything(_: str) -> bool:
    return True


def _nothing() -> None:
    """There is nothing to let go of."""

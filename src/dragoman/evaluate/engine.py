"""What arms search: the index or the engine given, or an index built from the collection's corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from dragoman import portal
from dragoman.dragoman import Dragoman
from dragoman.errors import CollectionError
from dragoman.evaluate.collections import Collection
from dragoman.protocols import Retriever
from dragoman.vocabulary import Vocabulary

Engine: TypeAlias = Callable[[], Sequence[Retriever]]


@contextmanager
def engine(
    collection: Collection, index: Path | str | None, embedder: str | None = None, *, only_runs: bool = False
) -> Iterator[tuple[Engine | None, Vocabulary | None]]:
    """A way to open the index as often as there are arms, and its vocabulary.

    Args:
        index: a directory made by `dragoman index`; built there where nothing is; None: built in a
            temporary directory, which is gone afterwards. Or, as a text, an engine's address.
        embedder: who made an engine's vectors; None: it is searched by words. An index knows its own.
        only_runs: every arm is another system's run, so that there need not be an index at all.

    Raises:
        CollectionError: there is no index, and no corpus to make one of.
        AddressError: no such engine or embedder.
        IndexStateError: the index cannot be opened.
        RetrievalError: the engine cannot be reached; MissingExtraError: its client is not installed.
    """
    if only_runs and index is None:
        yield None, None
        return
    from dragoman.retrievers import build_index, open_index
    from dragoman.retrievers.engines import is_address

    with ExitStack() as stack:
        if isinstance(index, str) and is_address(index):
            yield _at(index, embedder, stack)
            return
        if index is not None:
            place = Path(index)
        else:
            place = Path(stack.enter_context(TemporaryDirectory(prefix="dragoman-"))) / "index"
        if not place.exists():
            if collection.corpus is None:
                raise CollectionError("there is no corpus.jsonl beside it to index; give --index DIR", collection.path)
            build_index([collection.corpus], place)
        yield (
            lambda: stack.enter_context(open_index(place)).retrievers,
            stack.enter_context(open_index(place)).vocabulary,
        )


def _at(address: str, embedder: str | None, stack: ExitStack) -> tuple[Engine, Vocabulary]:
    """The engine at an address: one for all arms, for an adapter keeps nothing of a question."""
    from dragoman.retrievers.engines import open_engine, vocabulary_of

    opened = open_engine(address, embed=embedder)
    stack.enter_context(Dragoman(opened.retrievers))  # which closes them
    return lambda: opened.retrievers, portal.run(vocabulary_of(opened))

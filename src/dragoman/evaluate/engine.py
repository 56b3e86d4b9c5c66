"""The index that arms search: the one given, or one built from the collection's corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from dragoman.errors import CollectionError
from dragoman.evaluate.collections import Collection
from dragoman.protocols import Retriever
from dragoman.vocabulary import Vocabulary

Engine: TypeAlias = Callable[[], Sequence[Retriever]]


@contextmanager
def engine(
    collection: Collection, index: Path | None, *, only_runs: bool = False
) -> Iterator[tuple[Engine | None, Vocabulary | None]]:
    """A way to open the index as often as there are arms, and its vocabulary.

    Args:
        index: a directory made by `dragoman index`; built there where nothing is; None: built in a
            temporary directory, which is gone afterwards.
        only_runs: every arm is another system's run, so that there need not be an index at all.

    Raises:
        CollectionError: there is no index, and no corpus to make one of.
        IndexStateError: the index cannot be opened.
    """
    if only_runs and index is None:
        yield None, None
        return
    from dragoman.retrievers import build_index, open_index

    with ExitStack() as stack:
        place = index
        if place is None:
            place = Path(stack.enter_context(TemporaryDirectory(prefix="dragoman-"))) / "index"
        if not place.exists():
            if collection.corpus is None:
                raise CollectionError("there is no corpus.jsonl beside it to index; give --index DIR", collection.path)
            build_index([collection.corpus], place)
        yield (
            lambda: stack.enter_context(open_index(place)).retrievers,
            stack.enter_context(open_index(place)).vocabulary,
        )

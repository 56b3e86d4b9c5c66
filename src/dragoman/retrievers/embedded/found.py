"""Rankings and hits of the index: no hit is made, and no text read, until somebody looks at it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dragoman.retrievers.embedded.passages import Passages
from dragoman.types import Hit, Metadata, Ranking, Search


class _Plain:
    """What is lazy among its own, and to everybody else what it stands for: a plain `kind`."""

    __slots__ = ()
    kind: ClassVar[type[Any]]

    def __new__(cls, *values: Any, **named: Any) -> Any:  # as `dataclasses.replace` makes one
        return cls.kind(*values, **named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.kind) and _values(self, self.kind) == _values(other, self.kind)

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        return repr(self.kind(*_values(self, self.kind)))

    def __reduce__(self) -> tuple[type[Any], tuple[Any, ...]]:
        return self.kind, _values(self, self.kind)


def _values(found: object, kind: type[Any]) -> tuple[Any, ...]:
    return tuple(getattr(found, each.name) for each in fields(kind))


class Found(_Plain, Hit):
    """A hit of the index whose title, text and metadata are read when they are first looked at.

    A ranking brings a hundred hits into the fusion, which asks for ids and scores alone. It can be read
    as long as it is kept, after its index was closed too; copied or pickled it is a plain `Hit`.
    """

    __slots__ = ("_number", "_passages")
    kind = Hit
    _number: int
    _passages: Passages

    @property
    def title(self) -> str:
        """The passage's title."""
        return self._passages.read(self._number).title

    @property
    def text(self) -> str:
        """The passage's text."""
        return self._passages.read(self._number).text

    @property
    def metadata(self) -> Metadata:
        """The passage's metadata."""
        return self._passages.read(self._number).metadata


class FoundRanking(_Plain, Ranking):
    """A ranking of the index in columns: a hit is made when somebody looks at it.

    Copied or pickled it is a plain `Ranking`.
    """

    __slots__ = ("_numbers", "_passages", "doc_ids", "scores")
    kind = Ranking
    _passages: Passages
    _numbers: tuple[int, ...]
    doc_ids: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All of them, made at the first look."""
        try:
            made: tuple[Hit, ...] = _HITS.__get__(self)
        except AttributeError:
            made = tuple(map(self.hit, range(1, len(self) + 1)))
            _HITS.__set__(self, made)
        return made

    def hit(self, rank: int) -> Hit:
        """The hit at this rank, the first at 1."""
        made = _NEW(Found)
        _SET_ID(made, self.doc_ids[rank - 1])
        _SET_SCORE(made, self.scores[rank - 1])
        _SET_BECAUSE(made, ())
        _SET_NUMBER(made, self._numbers[rank - 1])
        _SET_PASSAGES(made, self._passages)
        return made

    def __len__(self) -> int:
        return len(self.doc_ids)

    def top(self, depth: int) -> Ranking:
        """The first `depth` hits."""
        if depth >= len(self):
            return self
        columns = self.doc_ids[:depth], self.scores[:depth], self._numbers[:depth]
        return _made(self.search, self.retriever, self._passages, columns, self.seconds)

    def under(self, search: Search, seconds: float | None = None) -> Ranking:
        """The same hits as those of `search`."""
        columns = self.doc_ids, self.scores, self._numbers
        return _made(search, self.retriever, self._passages, columns, self.seconds if seconds is None else seconds)


_NEW = object.__new__
_HITS: Any = vars(Ranking)["hits"]  # its slot
# What a frozen dataclass's own `__init__` would do at twice the time.
_SET_ID, _SET_SCORE, _SET_BECAUSE, _SET_NUMBER, _SET_PASSAGES = (
    getattr(Found, name).__set__ for name in ("doc_id", "score", "because", "_number", "_passages")
)


def _made(
    search: Search,
    retriever: str,
    passages: Passages,
    columns: tuple[tuple[str, ...], tuple[float, ...], tuple[int, ...]],
    seconds: float,
) -> Ranking:
    made = _NEW(FoundRanking)
    doc_ids, scores, numbers = columns
    named = {"search": search, "retriever": retriever, "seconds": seconds, "dropped": 0, "doc_ids": doc_ids}
    for name, value in {**named, "scores": scores, "_numbers": numbers, "_passages": passages}.items():
        object.__setattr__(made, name, value)
    return made


def ranking_of(
    search: Search,
    retriever: str,
    passages: Passages,
    found: tuple[NDArray[np.float32], NDArray[np.uint32]],
    depth: int,
    seconds: float,
) -> Ranking:
    """A ranking of the best `depth` of what was found.

    Args:
        found: scores, finite and above 0, and the passages' numbers, each once; in any order.

    Raises:
        RetrievalError: the index was closed, or a line of its passages is damaged.
    """
    passages.check_open()
    scores, numbers = found[0].tolist(), found[1].tolist()
    rows = sorted(zip(scores, map(passages.doc_id, numbers), numbers, strict=True), reverse=True)[:depth]
    ordered, doc_ids, places = zip(*rows, strict=True) if rows else ((), (), ())
    return _made(search, retriever, passages, (doc_ids, ordered, places), seconds)

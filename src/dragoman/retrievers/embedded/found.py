"""Hits of the index, which carry no text until somebody looks at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.retrievers.embedded.passages import Passages
from dragoman.types import Hit, Metadata


class Found(Hit):
    """A hit of the index whose title, text and metadata are read when they are first looked at.

    A ranking brings a hundred hits into the fusion, which asks for ids and scores alone. It can be read
    as long as it is kept, after its index was closed too; copied or pickled it is a plain `Hit`.
    """

    __slots__ = ("_number", "_passages")
    _number: int
    _passages: Passages

    def __new__(cls, *values: Any, **named: Any) -> Hit:  # type: ignore[misc]  # as `dataclasses.replace` makes one
        """A plain hit."""
        return Hit(*values, **named)

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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hit) and _values(self) == _values(other)

    __hash__ = Hit.__hash__

    def __repr__(self) -> str:
        return repr(Hit(*_values(self)))

    def __reduce__(self) -> tuple[type[Hit], tuple[Any, ...]]:
        return Hit, _values(self)


def _values(hit: Hit) -> tuple[Any, ...]:
    return tuple(getattr(hit, each.name) for each in fields(Hit))


_NEW = object.__new__
# What a frozen dataclass's own `__init__` would do at twice the time, some hundreds of times a question.
_SET_ID, _SET_SCORE, _SET_BECAUSE, _SET_NUMBER, _SET_PASSAGES = (
    getattr(Found, name).__set__ for name in ("doc_id", "score", "because", "_number", "_passages")
)


def hits_of(passages: Passages, numbers: NDArray[np.uint32], scores: NDArray[np.float32]) -> Sequence[Hit]:
    """Hits in the order given.

    Raises:
        RetrievalError: the index was closed, or a line of its passages is damaged.
    """
    passages.check_open()
    found: list[Hit] = []
    for number, score in zip(numbers.tolist(), scores.tolist(), strict=True):
        hit = _NEW(Found)
        _SET_ID(hit, passages.doc_id(number))
        _SET_SCORE(hit, score)
        _SET_BECAUSE(hit, ())
        _SET_NUMBER(hit, number)
        _SET_PASSAGES(hit, passages)
        found.append(hit)
    return found

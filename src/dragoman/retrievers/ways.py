"""An engine that finds by words, and by meaning where it is given an embedder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

from dragoman.retrievers.engine import EngineRetriever, QuestionVector, vectors_of
from dragoman.types import Hit, Metadata, Search


class TwoWays(ABC):
    """What the adapters of such engines have alike: their two retrievers.

    Attributes:
        name: how both retrievers' names begin.
    """

    name: str
    _question: QuestionVector | None

    @cached_property
    def words(self) -> EngineRetriever:
        """By words: `NAME.words`."""
        return EngineRetriever(f"{self.name}.words", self._words, self._close)

    @cached_property
    def meaning(self) -> EngineRetriever:
        """By meaning: `NAME.meaning`; the cosine is the score.

        Raises:
            ValueError: no embedder was given.
        """
        vectors_of(self._question, f"{self.name}.meaning")
        return EngineRetriever(f"{self.name}.meaning", self._meaning, self._close, by_meaning=True)

    @property
    def retrievers(self) -> tuple[EngineRetriever, ...]:
        """Words, and meaning where there is an embedder."""
        return (self.words,) if self._question is None else (self.words, self.meaning)

    @abstractmethod
    async def _words(self, search: Search, depth: int, filters: Metadata) -> list[Hit]: ...

    @abstractmethod
    async def _meaning(self, search: Search, depth: int, filters: Metadata) -> list[Hit]: ...

    @abstractmethod
    async def _close(self) -> None: ...

"""Retrievers: one file an engine. The embedded index, and any callable."""

from dragoman.retrievers.callable import CallableRetriever
from dragoman.retrievers.embedded import EmbeddedIndex, IndexSummary, build_index, open_index

__all__ = ["CallableRetriever", "EmbeddedIndex", "IndexSummary", "build_index", "open_index"]

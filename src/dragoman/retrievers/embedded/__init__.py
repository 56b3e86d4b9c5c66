"""The embedded index: words by Tantivy, meaning by a small model on ONNX, all in one directory."""

from dragoman.retrievers.embedded.build import IndexSummary, build_index
from dragoman.retrievers.embedded.open import EmbeddedIndex, open_index

__all__ = ["EmbeddedIndex", "IndexSummary", "build_index", "open_index"]

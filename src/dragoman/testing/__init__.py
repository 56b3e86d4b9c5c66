"""For tests of what you plug in: contracts, a scripted model and a scripted server.

`check_retriever`, `check_rewriter` and `check_llm` run a part of your own against the contract of
its seam and raise AssertionError with what was asked, what came back and what was expected. They
are plain functions and may be called inside a running event loop.
"""

from dragoman.testing.retrieval import check_retriever
from dragoman.testing.sample import SAMPLE, Passage

__all__ = ["SAMPLE", "Passage", "check_retriever"]

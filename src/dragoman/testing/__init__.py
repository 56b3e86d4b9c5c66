"""For tests of what you plug in: contracts, a scripted model and a scripted server.

`check_retriever`, `check_rewriter` and `check_llm` run a part of your own against the contract of
its seam and raise AssertionError with what was asked, what came back and what was expected. They
are plain functions and may be called inside a running event loop.
"""

from dragoman.testing.faults import Fault
from dragoman.testing.models import ScriptedModel, check_llm
from dragoman.testing.retrieval import check_retriever
from dragoman.testing.rewriters import check_rewriter
from dragoman.testing.sample import SAMPLE, Passage
from dragoman.testing.server import Request, Says, ScriptedServer, Status

__all__ = [
    "SAMPLE",
    "Fault",
    "Passage",
    "Request",
    "Says",
    "ScriptedModel",
    "ScriptedServer",
    "Status",
    "check_llm",
    "check_retriever",
    "check_rewriter",
]

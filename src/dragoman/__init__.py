"""Dragoman stands between a person's question and a corpus.

A question is rewritten into searches; each search is run on each retriever, giving a ranking; the
rankings are fused into one; its hits are answered from. Names are imported when first used, so
that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # what `typing` has, without importing it
if TYPE_CHECKING:
    from typing import Any

    from dragoman.dragoman import Dragoman, Settings
    from dragoman.errors import (
        CollectionError,
        DragomanError,
        IndexStateError,
        LexiconError,
        LLMError,
        LLMRefused,
        LLMTimeout,
        LLMUnavailable,
        LLMUnreadable,
        MissingExtraError,
        ProfileError,
        PromptError,
        QuestionError,
        RetrievalError,
        RewriteError,
        RewriteRejected,
        RewriteTimeout,
    )
    from dragoman.protocols import LLM, Prompt, Reply, Retriever, Rewriter, Writer
    from dragoman.rewriters.chain import Chain, Together
    from dragoman.search import Weights
    from dragoman.types import (
        Answer,
        Contribution,
        Failure,
        Hit,
        Message,
        Outcome,
        Question,
        Ranking,
        Result,
        Rewriting,
        RuleHit,
        Search,
        Step,
        Usage,
    )

_HOMES = {
    "dragoman.dragoman": ("Dragoman", "Settings"),
    "dragoman.errors": (
        "CollectionError",
        "DragomanError",
        "IndexStateError",
        "LLMError",
        "LLMRefused",
        "LLMTimeout",
        "LLMUnavailable",
        "LLMUnreadable",
        "LexiconError",
        "MissingExtraError",
        "ProfileError",
        "PromptError",
        "QuestionError",
        "RetrievalError",
        "RewriteError",
        "RewriteRejected",
        "RewriteTimeout",
    ),
    "dragoman.protocols": ("LLM", "Prompt", "Reply", "Retriever", "Rewriter", "Writer"),
    "dragoman.rewriters.chain": ("Chain", "Together"),
    "dragoman.search": ("Weights",),
    "dragoman.types": (
        "Answer",
        "Contribution",
        "Failure",
        "Hit",
        "Message",
        "Outcome",
        "Question",
        "Ranking",
        "Result",
        "Rewriting",
        "RuleHit",
        "Search",
        "Step",
        "Usage",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

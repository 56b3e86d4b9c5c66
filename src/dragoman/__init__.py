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

    from dragoman.dragoman import Dragoman as Dragoman
    from dragoman.dragoman import Settings as Settings
    from dragoman.errors import (
        AddressError as AddressError,
    )
    from dragoman.errors import (
        CollectionError as CollectionError,
    )
    from dragoman.errors import (
        DragomanError as DragomanError,
    )
    from dragoman.errors import (
        IndexStateError as IndexStateError,
    )
    from dragoman.errors import (
        LexiconError as LexiconError,
    )
    from dragoman.errors import (
        LLMError as LLMError,
    )
    from dragoman.errors import (
        LLMRefused as LLMRefused,
    )
    from dragoman.errors import (
        LLMTimeout as LLMTimeout,
    )
    from dragoman.errors import (
        LLMUnavailable as LLMUnavailable,
    )
    from dragoman.errors import (
        LLMUnreadable as LLMUnreadable,
    )
    from dragoman.errors import (
        MissingExtraError as MissingExtraError,
    )
    from dragoman.errors import (
        ProfileError as ProfileError,
    )
    from dragoman.errors import (
        PromptError as PromptError,
    )
    from dragoman.errors import (
        QuestionError as QuestionError,
    )
    from dragoman.errors import (
        RetrievalError as RetrievalError,
    )
    from dragoman.errors import (
        RewriteError as RewriteError,
    )
    from dragoman.errors import (
        RewriteRejected as RewriteRejected,
    )
    from dragoman.errors import (
        RewriteSkipped as RewriteSkipped,
    )
    from dragoman.errors import (
        RewriteTimeout as RewriteTimeout,
    )
    from dragoman.protocols import (
        LLM as LLM,
    )
    from dragoman.protocols import (
        Prompt as Prompt,
    )
    from dragoman.protocols import (
        Reply as Reply,
    )
    from dragoman.protocols import (
        Retriever as Retriever,
    )
    from dragoman.protocols import (
        Rewriter as Rewriter,
    )
    from dragoman.protocols import (
        Writer as Writer,
    )
    from dragoman.rewriters.chain import Chain as Chain
    from dragoman.rewriters.chain import Together as Together
    from dragoman.search import Weights as Weights
    from dragoman.types import (
        Answer as Answer,
    )
    from dragoman.types import (
        Contribution as Contribution,
    )
    from dragoman.types import (
        Failure as Failure,
    )
    from dragoman.types import (
        Hit as Hit,
    )
    from dragoman.types import (
        Message as Message,
    )
    from dragoman.types import (
        Outcome as Outcome,
    )
    from dragoman.types import (
        Question as Question,
    )
    from dragoman.types import (
        Ranking as Ranking,
    )
    from dragoman.types import (
        Result as Result,
    )
    from dragoman.types import (
        Rewriting as Rewriting,
    )
    from dragoman.types import (
        RuleHit as RuleHit,
    )
    from dragoman.types import (
        Search as Search,
    )
    from dragoman.types import (
        Step as Step,
    )
    from dragoman.types import (
        Usage as Usage,
    )

_HOMES = {
    "dragoman.dragoman": ("Dragoman", "Settings"),
    "dragoman.errors": (
        "AddressError",
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
        "RewriteSkipped",
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

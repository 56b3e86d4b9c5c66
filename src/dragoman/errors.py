"""The error tree. Failure is an exception; an empty answer is not one.

    DragomanError
      QuestionError       nothing that can be asked: empty, or over the limit
      RewriteError        a rewriter did not answer; the chain goes on without it
        RewriteRejected   a guard turned down everything the rewriter gave
        RewriteTimeout    it was cut at its deadline
        RewriteSkipped    it was left out on purpose
        LLMError          LLMTimeout · LLMRefused · LLMUnreadable (.text) · LLMUnavailable
      RetrievalError      one of several retrievers: fuse the rest; all: raise
      IndexStateError     .path: an index that is absent, not to be read, damaged, older or another model's
      AddressError        no such engine, or no embedder of that name
      ProfileError        .path .line    (LexiconError, PromptError)
      CollectionError     .path .line
      MissingExtraError   .extra: an optional package that is not installed

Every message says what was found, what was expected and what to do.
"""

from __future__ import annotations

from pathlib import Path


class DragomanError(Exception):
    """Anything this package raises on purpose."""


class QuestionError(DragomanError, ValueError):
    """The question cannot be asked: it is empty or larger than the limit."""


class RewriteError(DragomanError):
    """A rewriter did not answer. The chain records it and goes on with what it had.

    Attributes:
        notes: what belongs in the record all the same: rules that bit, tokens spent.
    """

    notes: tuple[object, ...] = ()


class RewriteRejected(RewriteError):
    """The rewriter answered, and the guards turned down all of it."""


class RewriteTimeout(RewriteError):
    """The rewriter did not answer within its deadline and was cut."""


class RewriteSkipped(RewriteError):
    """The rewriter was left out on purpose, so that nobody waits for it."""


class LLMError(RewriteError):
    """A model did not give a usable value."""


class LLMTimeout(LLMError, RewriteTimeout):
    """The model did not answer within its leash."""


class LLMRefused(LLMError):
    """The model, or its provider's filter, declined to answer."""


class LLMUnreadable(LLMError):
    """The model answered with something that is not the value asked for.

    Attributes:
        text: the reply as it came, for a person to look at.
    """

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class LLMUnavailable(LLMError):
    """The model could not be reached: network, credentials, quota, a server's error."""


class RetrievalError(DragomanError):
    """A retriever failed. An empty ranking is not a failure."""


class IndexStateError(DragomanError):
    """An index directory that cannot be opened as it is.

    Attributes:
        path: the index directory.
    """

    def __init__(self, message: str, path: Path | str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = Path(path)


class AddressError(DragomanError, ValueError):
    """No engine is at this address, or no embedder has this name."""


class _LocatedError(DragomanError):
    """An error at a place in a file: `.path`, and `.line` (from 1) where it is known."""

    def __init__(self, message: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.line = line
        place = "" if path is None else f"{path}:{line}: " if line else f"{path}: "
        super().__init__(place + message)


class ProfileError(_LocatedError):
    """A profile that cannot be used: unknown key, bad pattern, wrong type."""


class LexiconError(ProfileError):
    """A lexicon line that cannot be read or that never settles."""


class PromptError(ProfileError):
    """A prompt file that cannot be used."""


class CollectionError(_LocatedError):
    """A file of documents, questions or judgments that cannot be read."""


class MissingExtraError(DragomanError, ImportError):
    """An optional package is needed and is not installed.

    Attributes:
        extra: the extra that brings it, as in `pip install 'dragoman[extra]'`.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'dragoman[{extra}]'")
        self.extra = extra

"""The three seams. Whatever fits one of them can be put in: an object, a client, a plain function.

A seam's call may be a plain function or a coroutine function. Pure local work is plain and runs
where it stands; what waits for another process or machine is a coroutine, so that a deadline can
cut it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

from dragoman.types import Metadata, Ranking, Rewriting, Search, Usage

Schema: TypeAlias = Mapping[str, Any]


@runtime_checkable
class Rewriter(Protocol):
    """One `Rewriting` in, the next out.

    Raises:
        RewriteError: it did not answer. Any other exception is a defect and is not caught.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, rewriting: Rewriting, /) -> Rewriting | Awaitable[Rewriting]: ...


@runtime_checkable
class Retriever(Protocol):
    """At most `depth` hits for one search, every one of which has all of `filters` in its metadata.

    A retriever that never waits for another process sets `inline = True` and is called where it
    stands; another plain function is run in a thread, so that a deadline can leave it. One that
    searches by meaning sets `by_meaning = True` and is given the text whose meaning is wanted.

    Raises:
        RetrievalError: it failed. An empty ranking means no match.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, search: Search, depth: int, filters: Metadata, /) -> Ranking | Awaitable[Ranking]: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is given.

    Attributes:
        name: which prompt file it came from.
        rules: the standing instructions.
        input: this question's part.
        schema: the JSON schema that the value must fit.
        max_tokens: a reply longer than this did not answer.
        asked: the question as asked, by which a recording finds it; no model is given this.
    """

    name: str
    rules: str
    input: str
    schema: Schema
    max_tokens: int = 1024
    asked: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A value that fits the schema, what it cost, and which model gave it."""

    value: Any
    usage: Usage = field(default_factory=Usage)
    model: str = ""


@runtime_checkable
class LLM(Protocol):
    """A prompt in; a value that fits its schema out.

    Raises:
        LLMError: LLMTimeout, LLMRefused, LLMUnreadable or LLMUnavailable.
    """

    @property
    def name(self) -> str: ...

    async def __call__(self, prompt: Prompt, /) -> Reply: ...


@runtime_checkable
class Writer(Protocol):
    """A model that writes text for a person, in pieces as they come.

    Raises:
        LLMError: while the pieces are drawn.
    """

    @property
    def name(self) -> str: ...

    def stream(self, rules: str, input: str, max_tokens: int, /) -> AsyncIterator[str]: ...

"""Plain functions into the pipeline: `str -> str`, `str -> list[str]`, and objects with a `.rewrite` method."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from dragoman.aside import Aside
from dragoman.errors import RewriteError
from dragoman.protocols import Rewriter
from dragoman.types import Rewriting, Search, searches_of

EXPECTED = "a text (the query rewritten), a list of texts (searches to add) or None (nothing to change)"


def lift(thing: object, name: str | None = None, origin: str | None = None, blocking: bool = False) -> Rewriter:
    """A rewriter from what people have at hand.

    It is called with the query as it stands (`Rewriting.query`). A text it returns becomes the
    query; a list or tuple of texts become searches; None, a blank text and an empty list change
    nothing. An exception it raises is a `RewriteError` to the chain, which goes on without it.

    Args:
        thing: a function or coroutine function of one text, an object with such a `rewrite` method,
            or a rewriter, which is returned as it is.
        name: what records call it; the function's or class's own name without one.
        origin: the origin of the searches it adds; `name` without one.
        blocking: it waits for something (a socket, a lock). It is run in a thread (`Aside`), so
            that a deadline can leave it. What it does is then finished out of sight.

    Raises:
        TypeError: `thing` is none of these.
    """
    if isinstance(thing, type):
        raise TypeError(f"{thing.__name__} is a class; give an object of it, {thing.__name__}(...)")
    if isinstance(thing, Rewriter):
        return thing
    method = getattr(thing, "rewrite", None)
    function = method if callable(method) else thing
    if not callable(function):
        raise TypeError(
            f"{type(thing).__name__} is no rewriter: give a function of one text, an object with a "
            "`rewrite` method, or an object with a `name` that is called with a Rewriting"
        )
    named = name or getattr(thing, "__name__", "") or type(thing).__name__
    return Lifted(function, named.strip("<>"), origin or named.strip("<>"), blocking)


class Lifted:
    """A function of one text as a rewriter. Made by `lift`."""

    def __init__(self, function: Callable[..., Any], name: str, origin: str, blocking: bool) -> None:
        self.function = function
        self.name = name
        self.origin = origin
        self.blocking = blocking
        self._aside = Aside(name)

    def __call__(self, rewriting: Rewriting) -> Rewriting | Awaitable[Rewriting]:
        """What the function makes of the query; an awaitable of it where it has to be waited for."""
        if self.blocking and not inspect.iscoroutinefunction(self.function):
            return self._awaited(self._aside(self.function, rewriting.query), rewriting)
        try:
            given = self.function(rewriting.query)
        except Exception as error:  # the user's own code: whatever it raises, it did not answer
            raise self._failure(error) from error
        return self._awaited(given, rewriting) if inspect.isawaitable(given) else self._taken(given, rewriting)

    async def _awaited(self, waiting: Awaitable[object], rewriting: Rewriting) -> Rewriting:
        try:
            given = await waiting
        except Exception as error:  # as above; a cancellation is no Exception and passes
            raise self._failure(error) from error
        if inspect.isawaitable(given):  # a plain function in a thread that handed a coroutine out
            return await self._awaited(given, rewriting)
        return self._taken(given, rewriting)

    def _taken(self, given: object, rewriting: Rewriting) -> Rewriting:
        if given is None:
            return rewriting
        if isinstance(given, str):
            return rewriting.rewrite(given) if given.strip() else rewriting.note("it gave an empty text")
        if not isinstance(given, list | tuple):
            raise RewriteError(f"{self.name} returned {type(given).__name__}; expected {EXPECTED}")
        wrong = next((each for each in given if not isinstance(each, str | Search)), None)
        if wrong is not None or None in given:
            found = f"{type(given).__name__} with {type(wrong).__name__} in it"
            raise RewriteError(f"{self.name} returned a {found}; expected {EXPECTED}")
        searches: list[Search] = []
        for each in given:
            searches += searches_of((each,), self.origin) if isinstance(each, str) else (each,)
        return rewriting.add(searches) if searches else rewriting.note("it gave no search")

    def _failure(self, error: Exception) -> RewriteError:
        if isinstance(error, RewriteError):
            return error
        return RewriteError(f"{self.name} raised {type(error).__name__}: {error}")

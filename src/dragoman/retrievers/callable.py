"""Any callable as a retriever: a function over an engine of one's own, plain or a coroutine function."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeAlias

from dragoman.errors import RetrievalError
from dragoman.types import Hit, Metadata, Ranking, Search

Found: TypeAlias = Iterable[Hit | tuple[str, float] | str | Mapping[str, Any]]
Find: TypeAlias = Callable[..., Found | Awaitable[Found]]


class CallableRetriever:
    """A function of text and depth as a retriever.

    Args:
        find: `find(text, depth)`, or `find(text, depth, filters)` where it takes a third argument. It
            gives hits, (doc_id, score) pairs, bare doc_ids with the best first, or mappings with
            `doc_id` (or `_id`, `id`) and perhaps `score`, `title`, `text`, `metadata`. One that comes
            without a score counts by its place: the last 1, the one before it 2.
        name: the function's own where none is given.
        inline: it waits for nothing and may be called where it stands; else a plain function is given
            a thread, and a coroutine function needs none.
    """

    def __init__(self, find: Find, name: str = "", *, inline: bool = False) -> None:
        self.name = name or getattr(find, "__name__", type(find).__name__)
        self.inline = inline
        called = getattr(find, "__call__", None)  # noqa: B004 - an object's own method is looked at
        self.asynchronous = inspect.iscoroutinefunction(find) or inspect.iscoroutinefunction(called)
        self._find = find
        self._takes_filters = _takes_three(find)

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking | Awaitable[Ranking]:
        """At most `depth` hits that have all of `filters` in their metadata.

        A function that takes no filters is asked without, and its hits are held to them afterwards.

        Raises:
            RetrievalError: the function failed, or gave something that is no hit.
        """
        started = time.perf_counter()
        if depth <= 0:
            return Ranking(search, self.name)
        arguments = (search.text, depth, dict(filters)) if self._takes_filters else (search.text, depth)
        try:
            found = self._find(*arguments)
        except Exception as exc:  # the user's function: anything may come out of it
            raise self._failed(exc) from exc
        if inspect.isawaitable(found):
            return self._awaited(found, search, depth, filters)
        return self._ranking(found, search, filters, started).top(depth)

    async def _awaited(self, waiting: Awaitable[Found], search: Search, depth: int, filters: Metadata) -> Ranking:
        started = time.perf_counter()
        try:
            found = await waiting
        except Exception as exc:  # as above
            raise self._failed(exc) from exc
        return self._ranking(found, search, filters, started).top(depth)

    def _failed(self, exc: Exception) -> RetrievalError:
        return RetrievalError(f"the retriever {self.name!r} failed: {type(exc).__name__}: {exc}")

    def _ranking(self, found: Found, search: Search, filters: Metadata, started: float) -> Ranking:
        try:
            given = list(found)
            hits = [_hit(item, len(given) - place) for place, item in enumerate(given)]
        except Exception as exc:  # a generator runs only here, and is the user's too
            raise self._failed(exc) from exc
        wanted = filters.items()
        kept = tuple(hit for hit in hits if wanted <= hit.metadata.items())
        return Ranking(search, self.name, kept, time.perf_counter() - started)


def _takes_three(find: Find) -> bool:
    try:
        parameters = inspect.signature(find).parameters.values()
    except (TypeError, ValueError):  # some built-in callables have none that can be read
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    third = places[2:3]  # one with a default is something of the function's own, unless it is called `filters`
    taken = any(p.default is p.empty or p.name == "filters" for p in third)
    return taken or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _hit(item: object, place: int) -> Hit:
    if isinstance(item, Hit):
        return item
    if isinstance(item, str):
        return Hit(item, float(place))
    if isinstance(item, tuple) and len(item) == 2:
        return Hit(_text(item[0]), float(item[1]))
    if isinstance(item, Mapping):
        doc_id = next((item[key] for key in ("doc_id", "_id", "id") if key in item), None)
        metadata = {str(key): str(value) for key, value in (item.get("metadata") or {}).items()}
        score = item.get("score")
        return Hit(
            doc_id=_text(doc_id),
            score=float(place if score is None else score),
            title=str(item.get("title") or ""),
            text=str(item.get("text") or ""),
            metadata=metadata,
        )
    raise TypeError(f"found {item!r}, expected a Hit, a doc_id, a (doc_id, score) pair or a mapping with doc_id")


def _text(doc_id: object) -> str:
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int) or doc_id == "":
        raise TypeError(f"found the doc_id {doc_id!r}, expected a text")
    return str(doc_id)

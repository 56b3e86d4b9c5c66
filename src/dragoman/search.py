"""Searches x retrievers -> rankings, each once, within the question's budget.

A `Pool` belongs to one question. Whatever is started in it is run once, however many steps ask
for it: feedback reads the same first rankings that are fused in the end.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias
from weakref import WeakKeyDictionary

from dragoman.aside import Aside
from dragoman.deadline import remaining
from dragoman.errors import RetrievalError
from dragoman.protocols import Retriever
from dragoman.telemetry import Events, Happening, inside, log
from dragoman.text import stems
from dragoman.types import Failure, Metadata, Outcome, Ranking, Rewriting, Search

Found: TypeAlias = Ranking | Failure
Key: TypeAlias = tuple[str, tuple[tuple[str, float], ...], tuple[float, ...], str]


@dataclass(frozen=True, slots=True)
class ByLength:
    """A retriever's weight that grows with the telling words of a search: `per_word` each, within bounds.

    One word is best looked up as it stands; a sentence says more by its meaning.

    Attributes:
        written: only searches that a step wrote count here, not the asker's own words: headings
            are in the corpus's register, and so are those searches.
        textual: factor for a search that is looked up by its text. A text says what the passage says; one that
            brings a vector, the mean of several, lies by the headings that they have in common.
    """

    per_word: float = 0.3
    least: float = 0.3
    most: float = 1.5
    written: bool = False
    textual: float = 1.0

    def __call__(self, text: str, language: str) -> float:
        """The weight for one search's text."""
        return min(self.most, max(self.least, self.per_word * _telling_words(text, language)))


@lru_cache(maxsize=1_024)
def _telling_words(text: str, language: str) -> int:
    """Asked for each search and ranking of a question, a dozen times."""
    return len(set(stems(text, language)))


ASKED = frozenset({"question", "rewritten", "expanded"})  # origins of the asker's own words
RETRIEVERS: Mapping[str, float | ByLength] = {
    "meaning": ByLength(),
    "headings_meaning": ByLength(0.15, 0.15, 0.75, written=True, textual=0.5),
    "headings": 0.0,
}


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each search counts in the fusion, by where it came from.

    Attributes:
        question: the question as asked, while nothing else was made of it.
        asked: the question as asked beside a rewritten or expanded query; 0 leaves it out.
        query: the rewritten or expanded query; both together weigh what the question alone does.
        origins: name of the step that wrote a search -> factor on that search's own weight.
        retrievers: name of a retriever, or of its way of finding ("meaning" of "pg.meaning") ->
            factor on all its rankings, a number or by length; 0 leaves it out.
        language: whose stop words are no telling words.
    """

    question: float = 1.0
    asked: float = 0.2
    query: float = 0.8
    origins: Mapping[str, float] = field(default_factory=dict)
    retrievers: Mapping[str, float | ByLength] = field(default_factory=lambda: dict(RETRIEVERS))
    language: str = "en"

    def weigh(self, ranking: Ranking) -> float:
        """A ranking's weight in the fusion: its search's, times its retriever's for that search."""
        return ranking.search.weight * self.factor(ranking.search, ranking.retriever)

    def of_retriever(self, name: str) -> float | ByLength:
        """A retriever's weight, 1 where none is set. Unless named, "pg.meaning" counts as "meaning"."""
        return self.retrievers.get(name, self.retrievers.get(name.rpartition(".")[2], 1.0))

    def factor(self, search: Search, retriever: str) -> float:
        """What a retriever counts for a search; 0: it is not asked."""
        factor = self.of_retriever(retriever)
        if not isinstance(factor, ByLength):
            return factor
        if factor.written and search.origin in ASKED:
            return 0.0
        weight = factor(search.meaning or search.text, self.language)
        return weight if search.vector else factor.textual * weight


def plan(rewriting: Rewriting, weights: Weights) -> tuple[Search, ...]:
    """Every search of a rewriting with its weight, the question as asked first, then the query."""
    asked = rewriting.question.text
    changed = rewriting.query != asked or rewriting.terms
    weight = (weights.asked or 1.0) if changed else weights.question
    first = Search(asked, "question", weight, meaning=rewriting.cleaned or "")
    searches = [] if changed and weights.asked == 0 else [first]
    if changed:
        origin = "expanded" if rewriting.expanded is not None else "rewritten"
        meaning = "" if rewriting.expanded is None else rewriting.rewritten or asked
        searches.append(Search(rewriting.query, origin, weights.query, rewriting.terms, meaning=meaning))
    for search in rewriting.searches:
        factor = weights.origins.get(search.origin, 1.0)
        if factor > 0:
            searches.append(replace(search, weight=search.weight * factor))
    return tuple(searches)


class Pool:
    """The rankings of one question.

    Args:
        weights: a retriever that counts nothing for a search is not asked.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        depth: int,
        filters: Metadata,
        events: Events | None = None,
        weights: Weights | None = None,
    ) -> None:
        self.retrievers = tuple(retrievers)
        self.depth = depth
        self.filters = filters
        self.events = events or Events()
        self.weights = weights or Weights(retrievers={})
        self._found: dict[Key, Found | asyncio.Task[Found]] = {}

    def start(self, search: Search) -> None:
        """Begin a search on every retriever it is meant for; those begun before go on."""
        for retriever in self.retrievers:
            key = _key(search, retriever)
            if key not in self._found and self._wanted(search, retriever):
                self._found[key] = self._begin(_read_by(search, retriever), retriever)

    def _wanted(self, search: Search, retriever: Retriever) -> bool:
        meant = not search.on or retriever.name in search.on
        return meant and self.weights.factor(search, retriever.name) > 0

    def _prepare(self, searches: Sequence[Search]) -> None:
        """Let a retriever that can embed several searches at once do so."""
        for retriever in self.retrievers:
            prepare = getattr(retriever, "prepare", None)
            if prepare is None or not getattr(retriever, "inline", False):
                continue
            new = [s for s in searches if not s.vector and self._wanted(s, retriever)]
            new = [_read_by(s, retriever) for s in new if _key(s, retriever) not in self._found]
            if len(new) > 1:
                with suppress(RetrievalError):  # it fails again, and is recorded, at the search itself
                    prepare(new)

    def _begin(self, search: Search, retriever: Retriever) -> Found | asyncio.Task[Found]:
        if getattr(retriever, "inline", False):
            return self._inline(search, retriever)
        return asyncio.create_task(self._wait(search, retriever), name=f"dragoman {retriever.name}")

    def _inline(self, search: Search, retriever: Retriever) -> Found:
        happening, began = self._announce(search, retriever), time.perf_counter()
        try:
            given = _checked(retriever(search, self.depth, self.filters), retriever)
        except RetrievalError as error:
            return self._failed(search, retriever, error, happening)
        except BaseException as error:
            if happening:
                happening.fail(error, outcome=Outcome.FAILED)
            raise
        return self._ranked(given, search, began, happening)

    async def _wait(self, search: Search, retriever: Retriever) -> Found:
        happening, began = self._announce(search, retriever), time.perf_counter()
        try:
            with inside(happening):
                async with asyncio.timeout(remaining()):
                    ranking = await _call(retriever, search, self.depth, self.filters)
        except (TimeoutError, RetrievalError) as error:
            return self._failed(search, retriever, error, happening)
        except BaseException as error:
            if happening:
                happening.fail(error, outcome=Outcome.FAILED)
            raise
        return self._ranked(ranking, search, began, happening)

    def _announce(self, search: Search, retriever: Retriever) -> Happening | None:
        if not self.events:
            return None
        return self.events.begin("ranking", retriever=retriever.name, engine=retriever, search=search)

    def _ranked(self, ranking: Ranking, search: Search, began: float, happening: Happening | None) -> Ranking:
        took = time.perf_counter() - began
        ranking = ranking.top(self.depth).under(search, took)
        if happening:
            happening.stop(ranking=ranking, seconds=took)
        return ranking

    def _failed(self, search: Search, retriever: Retriever, error: Exception, happening: Happening | None) -> Failure:
        late = isinstance(error, TimeoutError)
        outcome = Outcome.TIMED_OUT if late else Outcome.FAILED
        reason = "no answer within the question's time" if late else str(error)
        log.warning("retriever %s did not answer: %s (%s)", retriever.name, outcome, type(error).__name__)
        if happening:
            happening.fail(error, outcome=outcome)
        return Failure(retriever.name, search.text, reason, outcome)

    async def rankings(self, searches: Sequence[Search]) -> tuple[tuple[Ranking, ...], tuple[Failure, ...]]:
        """The rankings of `searches` with their weights, and the retrievers that did not answer.

        Two searches that come to the same on a retriever are one ranking there: the asker's own words,
        as asked and as rewritten, with their weights added, others with the larger weight.
        """
        self._prepare(searches)
        for search in searches:
            self.start(search)
        heaviest: dict[Key, Search] = {}
        for search in searches:
            for retriever in self.retrievers:
                key = _key(search, retriever)
                if self._wanted(search, retriever):
                    heaviest[key] = _one_of(heaviest.get(key), search)
        found = [(search, await _settled(self._found[key])) for key, search in heaviest.items()]
        rankings = [each.under(search) for search, each in found if isinstance(each, Ranking)]
        return tuple(rankings), tuple(each for _, each in found if isinstance(each, Failure))

    async def close(self) -> None:
        """Cancel what nobody waits for any more."""
        tasks = [task for task in self._found.values() if isinstance(task, asyncio.Task) and not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)


def read_through(rankings: Sequence[Ranking]) -> tuple[tuple[Ranking, ...], tuple[Failure, ...]]:
    """Rankings all of whose hits can be read, and why others cannot: some read a passage when it is looked at."""
    whole: list[Ranking] = []
    failures: list[Failure] = []
    for ranking in rankings:
        try:
            _ = [hit.text for hit in ranking.hits]
        except RetrievalError as error:
            failures.append(Failure(ranking.retriever, ranking.search.text, str(error)))
        else:
            whole.append(ranking)
    return tuple(whole), tuple(failures)


def _one_of(known: Search | None, search: Search) -> Search:
    """Of two searches that come to the same on a retriever, the one that stands for both."""
    if known is None:
        return search
    if known.origin in ASKED and search.origin in ASKED:  # beside words, meaning keeps its share
        return replace(search, weight=known.weight + search.weight)
    return search if search.weight > known.weight else known


def _key(search: Search, retriever: Retriever) -> Key:
    """What the search comes to on this retriever; looked up a dozen times a question."""
    if getattr(retriever, "by_meaning", False):
        return search.meaning or search.text, (), search.vector, retriever.name
    return search.text, search.terms, (), retriever.name


def _read_by(search: Search, retriever: Retriever) -> Search:
    """The search as this retriever reads it: by its meaning, or by its words."""
    text, terms, vector, _ = _key(search, retriever)
    same = search.text == text and search.terms == terms and search.vector == vector and not search.meaning
    return search if same else replace(search, text=text, terms=terms, vector=vector, meaning="")


async def _settled(found: Found | asyncio.Task[Found]) -> Found:
    return await found if isinstance(found, asyncio.Task) else found


_current: ContextVar[Pool | None] = ContextVar("dragoman_pool", default=None)


@contextmanager
def pooled(pool: Pool) -> Iterator[Pool]:
    """Make `pool` the one that steps find with `current_pool`."""
    token = _current.set(pool)
    try:
        yield pool
    finally:
        _current.reset(token)


def current_pool() -> Pool | None:
    """The pool of the question being answered here; None outside a search."""
    return _current.get()


_asides: WeakKeyDictionary[object, Aside] = WeakKeyDictionary()
_shared = Aside("retrievers")  # for those that no weak dictionary can hold


def _aside_of(retriever: Retriever) -> Aside:
    """A retriever's own threads: one that hangs takes none of another's."""
    try:
        return _asides.get(retriever) or _asides.setdefault(retriever, Aside(retriever.name))
    except TypeError:  # it cannot be hashed or weakly referred to
        return _shared


async def _call(retriever: Retriever, search: Search, depth: int, filters: Metadata) -> Ranking:
    coroutine = inspect.iscoroutinefunction(retriever) or inspect.iscoroutinefunction(type(retriever).__call__)
    if coroutine or getattr(retriever, "asynchronous", False):
        given: Ranking | Awaitable[Ranking] = retriever(search, depth, filters)
    else:
        given = await _aside_of(retriever)(retriever, search, depth, filters)
    return _checked(await given if inspect.isawaitable(given) else given, retriever)


def _checked(given: object, retriever: Retriever) -> Ranking:
    if not isinstance(given, Ranking):
        kind = "inline retriever" if getattr(retriever, "inline", False) else "retriever"
        raise TypeError(f"{kind} {retriever.name!r} returned {type(given).__name__}, not a Ranking")
    return given

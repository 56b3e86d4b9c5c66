"""The hall: question -> rewriting -> rankings -> fused -> answer, one method per arrow, in that order."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeAlias

from dragoman import answer, fusion, portal
from dragoman.deadline import budget
from dragoman.errors import RetrievalError
from dragoman.fusion import Fusion
from dragoman.protocols import Retriever, Rewriter, Writer
from dragoman.rewriters.chain import Chain, Together, Unfinished
from dragoman.search import Pool, Weights, plan, pooled, read_through
from dragoman.telemetry import Events, Listener, inside, told
from dragoman.types import Answer, Failure, Hit, Question, Ranking, Result, Rewriting, Search

Journey: TypeAlias = tuple[Rewriting, tuple[Search, ...], tuple[Ranking, ...], tuple[Failure, ...], tuple[Ranking, ...]]
DEPTH = 10  # hits given back
POOL = 100  # hits a ranking brings into the fusion


@dataclass(frozen=True, slots=True)
class Settings:
    """How a question is searched.

    Attributes:
        weights: how much each search counts by its origin.
        fuse: rankings into one list.
        pool: hits that each ranking brings into the fusion.
        seconds: the budget from the asking to the fused list; None: no bound.
        reserve: the question's own best hit is not pushed below this place; 0 reserves nothing.
    """

    weights: Weights = field(default_factory=Weights)
    fuse: Fusion = fusion.standardised
    pool: int = POOL
    seconds: float | None = 10.0
    reserve: int = 10


class Dragoman:
    """Stands between a question and a corpus.

    Every method has a synchronous face and an `a…` face over the same code.

    Args:
        retrievers: what is searched; at least one for `search` and `ask`, none needed for `rewrite`.
        rewriters: run in this order; see `rewriters/`.
        writer: the model that answers; without one, `ask` quotes the best passages.
        settings: weights, fusion, budget.
        listeners: told of every event.
        owns: what is closed with it, as the index that its retrievers read.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever] = (),
        rewriters: Sequence[Rewriter] = (),
        *,
        writer: Writer | None = None,
        settings: Settings | None = None,
        listeners: Sequence[Listener] = (),
        owns: Sequence[object] = (),
    ) -> None:
        names = [retriever.name for retriever in retrievers]
        if len(set(names)) < len(names):
            raise ValueError(f"every retriever needs a name of its own; found {', '.join(names)}")
        self.retrievers = tuple(retrievers)
        self.events = Events(tuple(listeners))
        self.chain = Chain(tuple(_heard(step, self.events) for step in rewriters), events=self.events)
        self.writer = writer
        self.settings = settings or Settings()
        self._owns = tuple(owns)

    def rewrite(self, question: Question | str) -> Rewriting:
        """Question -> rewriting. A chain of local steps starts no thread and no event loop.

        Raises:
            QuestionError: nothing to ask.
        """
        asked = Rewriting.of(question)
        with told(self.events, "rewriting", question=asked.question) as known:
            given = self.chain(asked)
            known["rewriting"] = done = given if isinstance(given, Rewriting) else portal.run(self._finish(given))
        return done

    async def arewrite(self, question: Question | str) -> Rewriting:
        """As `rewrite`."""
        asked = Rewriting.of(question)
        with told(self.events, "rewriting", question=asked.question) as known:
            known["rewriting"] = done = await self._finish(self.chain(asked))
        return done

    async def _finish(self, given: Rewriting | Unfinished) -> Rewriting:
        with budget(self.settings.seconds):
            return given if isinstance(given, Rewriting) else await given

    def search(self, question: Question | str, depth: int = DEPTH) -> Result:
        """Question -> rewriting -> rankings -> fused hits, `depth` at most.

        Raises:
            QuestionError: nothing to ask.
            RetrievalError: no retriever answered.
        """
        return portal.run(self.asearch(question, depth))

    async def asearch(self, question: Question | str, depth: int = DEPTH) -> Result:
        """As `search`. The question as asked is searched at once, beside its rewriting."""
        if not self.retrievers:
            raise RetrievalError("there is nothing to search: give Dragoman at least one retriever")
        began, depth = time.perf_counter(), max(depth, 0)
        asked = Rewriting.of(question)
        with told(self.events, "question", question=asked.question) as known:
            rewriting, searches, rankings, failures, own = await self._journey(asked, depth)
            try:
                hits = self.fuse(rankings, own, depth)
            except RetrievalError:  # a damaged passage: the other retrievers are fused
                rankings, damaged = read_through(rankings)
                failures += damaged
                hits = self.fuse(rankings, read_through(own)[0], depth)
            if not rankings:
                down = "; ".join(f"{f.retriever}: {f.reason}" for f in failures)
                raise RetrievalError(f"no retriever answered: {down}")
            result = Result(rewriting, searches, rankings, hits, failures, time.perf_counter() - began)
            known.update(result=result, seconds=result.seconds)
        return result

    async def _journey(self, asked: Rewriting, depth: int) -> Journey:
        settings = self.settings
        pool = Pool(self.retrievers, max(settings.pool, depth), asked.question.filters, self.events, settings.weights)
        with budget(settings.seconds), pooled(pool):
            try:
                rewriting = await self._rewrite_beside(asked, pool)
                searches = plan(rewriting, settings.weights)
                rankings, failures = await pool.rankings(searches)
                return rewriting, searches, rankings, failures, await self._own(searches, pool)
            finally:
                await pool.close()

    async def _own(self, searches: Sequence[Search], pool: Pool) -> tuple[Ranking, ...]:
        """The rankings of the question as asked, where it has a place to keep among other searches.

        Looked up in the pool, not searched again: in the plan's rankings one of them may stand under
        another search that came to the same.
        """
        asked = searches[0]
        if not self.settings.reserve or len(searches) == 1 or asked.origin != "question":
            return ()
        own, _ = await pool.rankings([asked])
        return own

    async def _rewrite_beside(self, asked: Rewriting, pool: Pool) -> Rewriting:
        given = self.chain(asked)
        if isinstance(given, Rewriting):
            return given
        rewriting = asyncio.create_task(self._finish(given), name="dragoman rewriting")
        try:
            await asyncio.sleep(0)  # a model is under way before a local engine takes the thread
            pool.start(plan(given.so_far, self.settings.weights)[0])
            return await rewriting
        finally:
            rewriting.cancel()

    def fuse(
        self, rankings: Sequence[Ranking], own: Sequence[Ranking] = (), depth: int | None = None
    ) -> tuple[Hit, ...]:
        """Rankings -> the first `depth` of one list; what `own`, the question's, put first keeps its reserved place."""
        fuse, weigh = self.settings.fuse, self.settings.weights.weigh
        return fusion.best(fuse, rankings, weigh, depth, fusion.first(fuse, own, weigh), self.settings.reserve)

    def ask(self, question: Question | str, depth: int = DEPTH) -> Answer:
        """Question -> hits -> an answer that cites them; the passages themselves without a model.

        Raises:
            QuestionError: nothing to ask.
            RetrievalError: no retriever answered.
        """
        return portal.run(self.aask(question, depth))

    async def aask(self, question: Question | str, depth: int = DEPTH) -> Answer:
        """As `ask`."""
        asked = question if isinstance(question, Question) else Question(question)
        with told(self.events, "answer", question=asked) as known:
            known["answer"] = given = await answer.answer(await self.asearch(asked, depth), self.writer)
        return given

    async def astream(self, question: Question | str, depth: int = DEPTH) -> AsyncGenerator[str | Answer, None]:
        """The answer's text in pieces as they come, then the whole `Answer`, citations checked."""
        async with aclosing(self.afollow(question, depth)) as parts:
            async for part in parts:
                if not isinstance(part, Result):
                    yield part

    async def afollow(
        self, question: Question | str, depth: int = DEPTH
    ) -> AsyncGenerator[Result | str | Answer, None]:
        """As `astream`, with what was found before the first piece: passages are shown while the model writes."""
        asked = question if isinstance(question, Question) else Question(question)
        happening = self.events.begin("answer", question=asked)
        part: Result | str | Answer = ""
        try:
            with inside(happening):  # not around a yield: the caller's own work happens elsewhere
                result = await self.asearch(asked, depth)
            yield result
            async with aclosing(answer.stream(result, self.writer, happening)) as pieces:
                async for part in pieces:
                    yield part
        except BaseException as error:
            if happening:
                happening.fail(error)
            raise
        if happening:
            happening.stop(answer=part)

    @property
    def steps(self) -> tuple[Rewriter, ...]:
        """Every rewriter in its order, those of chains inside the chain too."""
        return tuple(_steps(self.chain))

    async def aclose(self) -> None:
        """Close what the parts hold: clients, files."""
        for part in (*self.retrievers, *self.steps, self.writer, *self._owns):
            close = getattr(part, "aclose", None) or getattr(part, "close", None)
            closed = close() if close else None
            if inspect.isawaitable(closed):
                await closed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> None:
        """As `aclose`."""
        portal.run(self.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _steps(chain: Chain | Together) -> list[Rewriter]:
    found: list[Rewriter] = []
    for step in chain.steps:
        found.extend(_steps(step) if isinstance(step, Chain | Together) else [step])
    return found


def _heard(step: Rewriter, events: Events) -> Rewriter:
    """A chain inside the chain tells the same listeners."""
    if isinstance(step, Chain | Together):
        return type(step)([_heard(inner, events) for inner in step.steps], step.name, events)
    return step

"""What an application holds while it runs: the desks, the counters, the files."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.llm.open import innermost
from dragoman.llm.replay import Replay
from dragoman.protocols import LLM
from dragoman.serve.clicks import Clicks
from dragoman.serve.corpus import open_corpora
from dragoman.serve.desk import Desk
from dragoman.serve.door import Counter
from dragoman.serve.learned import LearnedFile
from dragoman.serve.metrics import Metrics
from dragoman.serve.pace import Pace, Spared
from dragoman.serve.problems import Problem
from dragoman.serve.proposals import Proposals
from dragoman.serve.settings import Settings, told_apart


@dataclass(slots=True)
class Service:
    """Made before the application, opened when it starts, closed when it ends."""

    settings: Settings
    metrics: Metrics
    counter: Counter
    clicks: Clicks | None
    proposals: Proposals | None
    learned: LearnedFile | None
    pace: Pace
    desks: dict[str, Desk] = field(default_factory=dict)
    _watching: tuple[asyncio.Task[None], ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> Service:
        """A service that is not open yet."""
        metrics = Metrics(Path(settings.shared) if settings.shared else None)
        pace = Pace(settings.limits.behind)
        counter = Counter(metrics, settings.limits.concurrent, pace)
        clicks = Clicks(Path(settings.feedback)) if settings.feedback else None
        proposals = Proposals(Path(settings.proposals)) if settings.proposals else None
        learned = LearnedFile(Path(settings.learned)) if settings.learned else None
        return cls(settings, metrics, counter, clicks, proposals, learned, pace)

    async def open(self) -> None:
        """Open every table.

        Raises:
            ProfileError, IndexStateError, RetrievalError: one cannot be used.
            ServiceError: two profiles have one name.
        """
        corpora = await open_corpora(self.settings.tables)
        for table in self.settings.tables:
            desk = await Desk.open(table, corpora.get(table.index), self.metrics, self._spared)
            told_apart([*self.desks, desk.name])
            self.desks[desk.name] = desk
        self._watching = tuple(asyncio.create_task(each) for each in (self.pace.watch(), self.metrics.keep()))
        # What is loaded now stays. Left among what is collected, each full collection would walk it, hold every
        # question up for 0.2 s, and deadlines be missed by as much.
        gc.collect()
        gc.freeze()

    def _spared(self, llm: LLM) -> LLM:
        return llm if isinstance(innermost(llm), Replay) else Spared(llm, self.pace)

    async def close(self) -> None:
        """Close every desk."""
        gc.unfreeze()
        for task in self._watching:
            task.cancel()
        for desk in self.desks.values():
            await desk.close()
        self.desks.clear()

    def desk(self, name: str | None) -> Desk:
        """The desk of a profile; the first where none is named.

        Raises:
            Problem: 422, there is none of that name.
        """
        if name is None:
            return next(iter(self.desks.values()))
        try:
            return self.desks[name]
        except KeyError:
            raise Problem(422, f"no profile {name!r} is served; served: {', '.join(self.desks)}") from None

    def state(self) -> Mapping[str, object]:
        """What `/readyz` says: ready or not, and of every profile its documents and its model's breaker."""
        for name, desk in self.desks.items():
            if desk.breaker:
                opened = desk.breaker != "closed"
                self.metrics.level("dragoman_model_breaker_open", float(opened), profile=name)
        return {
            "ready": bool(self.desks) and not self.counter.draining,
            "in_flight": self.counter.now,
            "profiles": {
                name: {"documents": desk.corpus.documents if desk.corpus else None, "breaker": desk.breaker or None}
                for name, desk in self.desks.items()
            },
        }

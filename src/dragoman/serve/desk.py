"""A profile opened over its index, ready to be asked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Self

from dragoman.dragoman import Dragoman
from dragoman.llm.open import close, warm
from dragoman.profile import Profile, load_profile
from dragoman.profile_steps import Parts, flat, open_model
from dragoman.protocols import LLM
from dragoman.rewriters.lexicon import Lexicon
from dragoman.serve.changes import Changes, Replies, Told
from dragoman.serve.corpus import Corpus
from dragoman.serve.metrics import Metrics
from dragoman.serve.problems import Problem
from dragoman.serve.settings import Table
from dragoman.telemetry import Listener, log
from dragoman.tracing import from_environment

VARIANTS_KEPT = 32


class Desk:
    """One profile over one index.

    Attributes:
        hall: answers by the profile as it is.
        raw: the same without any rewriting; nobody is told of its questions.
        lexicon: the profile's, read once.
        llm: the rewriting model; None where the profile has none.
        corpus: None where there is nothing to search.
    """

    def __init__(
        self,
        profile: Profile,
        corpus: Corpus | None = None,
        llm: LLM | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.profile, self.corpus, self.llm = profile, corpus, llm
        self.lexicon: Lexicon | None = profile.lexicon()
        self._listeners = tuple(listeners)
        self._replies = Replies()
        self._variants: OrderedDict[Changes, Dragoman] = OrderedDict()
        vocabulary = corpus.vocabulary if corpus else None
        # `shared`: every variant reads and writes the same files, opened once
        self._parts = Parts(corpus.retrievers if corpus else (), vocabulary, llm, shared={})
        self.hall = profile.build(self._parts, listeners=self._listeners)
        self._parts = replace(self._parts, writer=self.hall.writer)
        self.raw = replace(profile, steps=()).build(replace(self._parts, llm=None, models=False))

    @classmethod
    async def open(
        cls, table: Table, corpus: Corpus | None, metrics: Metrics, held: Callable[[LLM], LLM] = lambda llm: llm
    ) -> Self:
        """The desk of a table, its model's client built and its embedder loaded.

        Args:
            held: what the model is asked through.

        Raises:
            ProfileError: the profile cannot be used.
        """
        profile = load_profile(table.profile)
        name = table.model or profile.rewrite_model
        llm = open_model(name, profile) if name else None
        if llm is not None:
            await warm(llm)
            llm = held(llm)
        desk = cls(profile, corpus, llm, [metrics.listener(profile.name), *from_environment()])
        if corpus is not None:
            await desk.raw.asearch("the first question must not wait for files to be read", 1)
            log.info("profile %s over %s documents is ready", profile.name, corpus.documents)
        return desk

    @property
    def name(self) -> str:
        """The profile's."""
        return self.profile.name

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of the profile's steps, in order."""
        return tuple(use.use for use in flat(self.profile.steps))

    @property
    def breaker(self) -> str:
        """The state of the model's breaker; empty where there is none."""
        return str(getattr(self.llm, "state", ""))

    def searching(self) -> None:
        """See that there is something to search.

        Raises:
            Problem: 409, there is no index.
        """
        if not self.hall.retrievers:
            raise Problem(409, f"profile {self.name!r} is served without an index, for rewriting alone; give --index")

    async def changed(self, changes: Changes) -> Dragoman:
        """The hall under changes of the profile; the plain one where there are none.

        Raises:
            ProfileError: the changes cannot be used.
        """
        if not changes:
            return self.hall
        known = self._variants.get(changes)
        if known is None:
            known = await asyncio.to_thread(self._made, changes)
            self._variants[changes] = known
            while len(self._variants) > VARIANTS_KEPT:
                self._variants.popitem(last=False)
        self._variants.move_to_end(changes)
        return known

    def _made(self, changes: Changes) -> Dragoman:
        llm = self.llm
        if llm is not None and changes.told:
            llm = Told(llm, self._replies, read=changes.told == "read")
        profile = changes.apply(self.profile, self.lexicon)
        return profile.build(replace(self._parts, llm=llm), listeners=self._listeners)

    async def close(self) -> None:
        """Close the model's connections and the index's files."""
        await self.hall.aclose()
        if self.llm is not None:
            await close(self.llm)
        if self.corpus is not None:
            self.corpus.close()

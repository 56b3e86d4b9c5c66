"""Events: what happens, as it happens, for whoever listens.

What takes time emits `NAME.start`, then one of `NAME.stop`, `NAME.exception` (it failed) or
`NAME.cut` (nobody waits for it any more). `KINDS` lists them. Each carries `id`, the same at start
and end, and `within`, the id of what it happens in, however many go on at once. Listeners are plain
callables; one that raises is logged and never breaks a question. Events hold the texts themselves;
the log holds none.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dragoman.protocols import LLM, Prompt, Reply

log = logging.getLogger("dragoman")

KINDS: Mapping[str, str] = {
    "answer": "a question answered; its search and the writing model's call happen within",
    "question": "a question rewritten and searched",
    "rewriting": "a question rewritten and not searched",
    "step": "one rewriter's turn; `step.skipped` stands alone for one that had none",
    "llm": "one call of a model, hedges included",
    "ranking": "one search on one retriever",
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        name: a kind and a phase, as `step.stop`.
        attributes: `id`; `within` at the start, 0 in nothing; `seconds` and `error` at the end, and by kind
            `question`, `rewriter`, `rewriting`, `outcome`, `llm`, `prompt`, `streamed`, `reply`, `retriever`
            (its name), `engine` (itself), `search`, `ranking`, `result`, `answer`.
    """

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


Listener: TypeAlias = Callable[[Event], None]
# A listener with a method of this shape is entered around what happens within the id: for a tracer's own context.
Inside: TypeAlias = Callable[[int], AbstractContextManager[object]]
_ids = itertools.count(1)


class Events:
    """Tells every listener of an event; costs one truth test when there are none."""

    __slots__ = ("around", "listeners")

    def __init__(self, listeners: tuple[Listener, ...] = ()) -> None:
        self.listeners = listeners
        found = (getattr(listener, "inside", None) for listener in listeners)
        self.around: tuple[Inside, ...] = tuple(enter for enter in found if enter is not None)

    def __bool__(self) -> bool:
        return bool(self.listeners)

    def emit(self, name: str, **attributes: Any) -> None:
        """Give the event to every listener, in order."""
        if not self.listeners:
            return
        event = Event(name, attributes)
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:  # a listener is the user's code and must never lose a question
                log.exception("an event listener failed on %s", name)

    def begin(self, kind: str, within: Happening | None = None, **attributes: Any) -> Happening | None:
        """Tell of a start; None where nobody listens.

        Args:
            within: what it happens in; None: what goes on here, which `inside` says.
            attributes: told of again at its end.
        """
        if not self.listeners:
            return None
        if within is not None:
            with inside(within):
                return self.begin(kind, **attributes)
        around = _here.get()
        happening = Happening(self, kind, next(_ids), time.perf_counter(), attributes)
        self.emit(f"{kind}.start", id=happening.id, within=around.id if around else 0, **attributes)
        return happening


@dataclass(frozen=True, slots=True)
class Happening:
    """Something under way, told of at its start."""

    events: Events
    kind: str
    id: int
    began: float
    attributes: Mapping[str, Any]

    def stop(self, **attributes: Any) -> None:
        """It is done."""
        self._end("stop", attributes)

    def fail(self, error: BaseException, **attributes: Any) -> None:
        """It raised: an exception, or whatever cuts a task from outside."""
        self._end("exception" if isinstance(error, Exception) else "cut", {"error": error, **attributes})

    def _end(self, phase: str, attributes: Mapping[str, Any]) -> None:
        known = {"id": self.id, "seconds": time.perf_counter() - self.began, **self.attributes}
        self.events.emit(f"{self.kind}.{phase}", **{**known, **attributes})


_here: ContextVar[Happening | None] = ContextVar("dragoman_happening", default=None)


def here() -> Happening | None:
    """What goes on here; None where nobody listens."""
    return _here.get()


def inside(happening: Happening | None) -> AbstractContextManager[object]:
    """What begins in the block, here and in the tasks and threads it starts, happens within `happening`."""
    return nullcontext() if happening is None else _Inside(happening)


class _Inside:
    __slots__ = ("_entered", "_happening", "_token")

    def __init__(self, happening: Happening) -> None:
        self._happening = happening
        self._entered: ExitStack | None = None

    def __enter__(self) -> None:
        self._token = _here.set(self._happening)
        for enter in self._happening.events.around:
            self._entered = self._entered or ExitStack()
            with _unharmed(self._happening.kind):
                self._entered.enter_context(enter(self._happening.id))

    def __exit__(self, *_: object) -> None:
        if self._entered is not None:
            with _unharmed(self._happening.kind):
                self._entered.close()
        with suppress(ValueError):  # closed from another context, where it was never set
            _here.reset(self._token)


@contextmanager
def _unharmed(kind: str) -> Iterator[None]:
    try:
        yield
    except Exception:  # as in `emit`
        log.exception("an event listener failed around a %s", kind)


def told(events: Events, kind: str, **attributes: Any) -> AbstractContextManager[dict[str, Any]]:
    """The block as one happening. What is put into the dictionary is told of when it stops."""
    return _told(events, kind, attributes) if events.listeners else nullcontext({})


@contextmanager
def _told(events: Events, kind: str, attributes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    happening = events.begin(kind, **attributes)
    known: dict[str, Any] = {}
    try:
        with inside(happening):
            yield known
    except BaseException as error:
        if happening:
            happening.fail(error)
        raise
    if happening:
        happening.stop(**known)


async def called(llm: LLM, prompt: Prompt) -> Reply:
    """The model's reply; whoever listens to what goes on here is told of the call.

    Raises:
        LLMError: what the model raised.
    """
    around = _here.get()
    if around is None:
        return await llm(prompt)
    with told(around.events, "llm", llm=llm.name, prompt=prompt) as known:
        known["reply"] = reply = await llm(prompt)
    return reply

"""Events: what happened, as it happens, for whoever listens.

A step emits `start`, then `stop` or `exception`; so do a ranking and a model call. Listeners are
plain callables; one that raises is logged and never breaks a question. Question text reaches the
log only where `content` is switched on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

log = logging.getLogger("dragoman")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        name: `step.start`, `step.stop`, `step.exception`, `ranking.start`, ... `question.stop`.
        attributes: what is known of it: `question`, `rewriter`, `rewriting`, `outcome`, `seconds`, `error`.
    """

    name: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


Listener: TypeAlias = Callable[[Event], None]


class Events:
    """Tells every listener of an event; costs one truth test when there are none."""

    __slots__ = ("listeners",)

    def __init__(self, listeners: tuple[Listener, ...] = ()) -> None:
        self.listeners = listeners

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

"""How far a call had come, so that one that is cut can say where it hung.

A leash opens a `Progress` around a call; the wire, which knows nothing of leashes, notes in it what
it waits for. Outside a leash noting does nothing.
"""

from __future__ import annotations

from contextvars import ContextVar


class Progress:
    """What a call waits for, in words; empty while nothing is known."""

    __slots__ = ("waits_for",)

    def __init__(self) -> None:
        self.waits_for = ""


_current: ContextVar[Progress | None] = ContextVar("dragoman_progress", default=None)


def follow(progress: Progress) -> None:
    """Have what this task notes from here on stand in `progress`."""
    _current.set(progress)


def waits_for(what: str) -> None:
    """Note what the call of this task waits for."""
    progress = _current.get()
    if progress is not None:
        progress.waits_for = what

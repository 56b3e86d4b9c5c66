"""One budget for one question, from the asking to the fused list.

The hall sets it; whoever waits for something outside this process reads it, so that a model's
leash never reaches past what is left of the question's own time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float | None] = ContextVar("dragoman_deadline", default=None)


@contextmanager
def budget(seconds: float | None) -> Iterator[None]:
    """Give everything inside `seconds` in all; never more than an outer budget has left."""
    outer = _until.get()
    mine = None if seconds is None else time.monotonic() + seconds
    token = _until.set(min(filter(None, (outer, mine)), default=None))
    try:
        yield
    finally:
        _until.reset(token)


def remaining(at_most: float | None = None) -> float | None:
    """Seconds left of the budget, 0 at least; `at_most` bounds it; None when nothing does."""
    until = _until.get()
    if until is None:
        return at_most
    left = max(0.0, until - time.monotonic())
    return left if at_most is None else min(left, at_most)

"""Knowing at once that the process was told to stop, while it still finishes what it accepted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def told_to_stop(note: Callable[[], None]) -> Iterator[None]:
    """Call `note` at the first signal to stop, then whatever the server does at it.

    Outside the main thread, and where the server has no handler of its own, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def noting(number: int, frame: FrameType | None) -> None:
        note()
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    mine = [number for number, handler in before.items() if callable(handler)]
    for number in mine:
        signal.signal(number, noting)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, before[number])

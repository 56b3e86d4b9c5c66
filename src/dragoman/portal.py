"""The synchronous face's way into the async core: one event loop in one background thread.

Started at the first call that needs it and shared by the process, so that a client's connections
outlive a question and a call works where a loop already runs (a notebook, a web handler).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_owner = 0


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, computed on the background loop; an interrupt cancels it there.

    Raises:
        BaseException: whatever the coroutine raised, `SystemExit` too.
    """
    loop = _background()
    if threading.current_thread().name == _THREAD:
        coroutine.close()
        raise RuntimeError("a synchronous call was made from inside Dragoman's own loop; await the a… method instead")
    future = copy_context().run(asyncio.run_coroutine_threadsafe, coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def away(coroutine: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result, computed on the background loop, where clients' connections live.

    So a client serves whichever loop asks, one after another too. Cancelled here, the coroutine is
    cancelled there and nobody waits for its cleaning up, which may take a client seconds.
    """
    future = copy_context().run(asyncio.run_coroutine_threadsafe, coroutine, _background())
    return await asyncio.wrap_future(future)


_THREAD = "dragoman-portal"


def _keep_running(loop: asyncio.AbstractEventLoop) -> None:
    """Until it is stopped: one caller's part that exits or is interrupted ends its own call, not everybody's loop."""
    while True:
        try:
            return loop.run_forever()
        except (SystemExit, KeyboardInterrupt):  # kept by its task, for whoever waits there
            continue


def _background() -> asyncio.AbstractEventLoop:
    global _loop, _owner
    with _lock:
        if _loop is None or _loop.is_closed() or _owner != os.getpid():  # a fork leaves the thread behind
            _loop, _owner = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_keep_running, args=(_loop,), name=_THREAD, daemon=True).start()
        return _loop


def stop() -> None:
    """End the background loop; the next call starts another. For tests and for tidy exits."""
    global _loop
    with _lock:
        if _loop is not None and _owner == os.getpid() and _loop.is_running():
            _loop.call_soon_threadsafe(_loop.stop)
            while _loop.is_running():
                threading.Event().wait(0.001)
            _loop.close()
        _loop = None

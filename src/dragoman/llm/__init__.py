"""Models: one file a wire, the leash, the breaker, replies read. Names load when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.llm.breaker import Breaker
    from dragoman.llm.callable import Called
    from dragoman.llm.leash import Leash
    from dragoman.llm.open import close, open_llm, open_writer, warm
    from dragoman.llm.reading import read
    from dragoman.llm.replay import Recorder, Replay

_HOME = {
    "Breaker": "breaker",
    "Called": "callable",
    "Leash": "leash",
    "Recorder": "replay",
    "Replay": "replay",
    "close": "open",
    "open_llm": "open",
    "open_writer": "open",
    "read": "reading",
    "warm": "open",
}
__all__ = ["Breaker", "Called", "Leash", "Recorder", "Replay", "close", "open_llm", "open_writer", "read", "warm"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

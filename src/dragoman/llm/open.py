"""A name, a client or a callable -> a model, on its leash and behind its breaker.

    anthropic:MODEL                     key in ANTHROPIC_API_KEY
    openai:MODEL                        key in OPENAI_API_KEY
    openai:MODEL@URL                    any compatible server; no key is sent
    openai:MODEL@URL#VARIABLE           … with the key in that variable (anthropic:… likewise)
    replay:FILE   replay:FILE#MODEL     a recording

A key may also stand in the file that `<VARIABLE>_FILE` names. A key goes only where its variable is
named for it: with a URL of your own, the official API's key is not sent there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dragoman.llm.breaker import Breaker
from dragoman.llm.callable import Called
from dragoman.llm.clients import Given
from dragoman.llm.leash import Leash, closed
from dragoman.llm.replay import Replay
from dragoman.protocols import LLM, Writer

SECONDS = 4.0  # a leash long enough for a small model's two searches, short enough to be waited for
_SPEC = re.compile(
    r"(?P<wire>[a-z]+):(?P<model>(?:(?!://)[^\s#])+?)(?:@(?P<url>https?://[^\s#@]+)(?:#(?P<key>[A-Za-z_][A-Za-z0-9_]*))?)?"
)
Source: TypeAlias = "str | LLM | Callable[[str, str], Any] | object"


def open_llm(
    source: Source,
    *,
    seconds: float = SECONDS,
    model: str = "",
    side_job: bool = True,
    hedge_after: float | None = None,
) -> LLM:
    """A model from its name, a client of your own, a callable, or a model.

    Args:
        source: a name as the module's head shows; an `anthropic.AsyncAnthropic` or
            `openai.AsyncOpenAI` (or kin) with `model`; a callable `(rules, input) -> str | dict`,
            plain or asynchronous; or anything that already is an `LLM`.
        seconds: the leash: from the asking to the value, in all.
        model: for a client of your own.
        side_job: True gives it a leash, a breaker, a short client timeout and no retries. False
            leaves the client its own defaults, for the model that writes answers (`open_writer`).
        hedge_after: see `Leash`.

    Raises:
        MissingExtraError: the SDK is not installed.
        LLMUnavailable: the key is not set; the message names the variable.
        CollectionError: a recording cannot be read.
        ValueError: the name or the object is nothing of the above.
    """
    llm = _opened(source, model, seconds if side_job else None)
    return Breaker(Leash(llm, seconds, hedge_after)) if side_job and not isinstance(llm, Replay) else llm


def open_writer(source: Source, *, model: str = "") -> Writer:
    """The model that writes answers, with its client's own timeout and retries.

    Raises:
        TypeError: it gives values and writes no text; and what `open_llm` raises.
    """
    llm = open_llm(source, model=model, side_job=False)
    if not isinstance(llm, Writer):
        raise TypeError(f"{llm.name} gives values; a model that writes answers has a method `stream`")
    return llm


async def warm(llm: object) -> None:
    """Import what the model needs and build its client, so that the first question does not wait for it.

    Asks nothing of the model. A model without a `warm` of its own has nothing to warm.
    """
    own = getattr(innermost(llm), "warm", None)
    if own is not None:
        await own()


async def close(llm: object) -> None:
    """Close the connections that the model holds open on this event loop; it can be asked again."""
    await closed()
    own = getattr(innermost(llm), "aclose", None)
    if own is not None:
        await own()


class Held:
    """A model as a part that is closed with the others."""

    def __init__(self, llm: object) -> None:
        self._llm = llm

    async def aclose(self) -> None:
        """As `close`."""
        await close(self._llm)


def innermost(llm: object) -> object:
    """The model inside its breaker, leash and recorder."""
    while hasattr(llm, "llm"):
        llm = llm.llm
    return llm


def _opened(source: Source, model: str, seconds: float | None) -> LLM:
    if isinstance(source, str):
        return _named(source, seconds)
    if _is_llm(source):
        return source  # type: ignore[return-value]  # its one parameter was looked at
    if callable(source):
        return Called(source, model and f"callable:{model}")
    return _around(source, model, seconds)


def _is_llm(source: object) -> bool:
    if not isinstance(source, LLM):
        return False
    parameters = inspect.signature(source).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(needed) == 1


def _named(spec: str, seconds: float | None) -> LLM:
    wire, _, rest = spec.partition(":")
    if wire == "replay" and rest:
        file, _, model = rest.partition("#")
        return Replay(file, model)
    match = _SPEC.fullmatch(spec)
    if match is None or wire not in WIRES:
        raise ValueError(
            f"{spec.split('@')[0][:80]!r} names no model; expected anthropic:MODEL, openai:MODEL, "
            "openai:MODEL@http://host:port/v1, openai:MODEL@URL#KEY_VARIABLE or replay:FILE"
        )
    url = match["url"]
    return WIRES[wire](
        match["model"], url, match["key"], seconds, f"{wire}:{match['model']}" + (f"@{url}" if url else "")
    )


def _anthropic(model: str, url: str | None, variable: str | None, seconds: float | None, name: str) -> LLM:
    from dragoman.llm import anthropic

    variable = variable if url else anthropic.KEY
    return anthropic.Anthropic(model, anthropic.clients(url, variable, seconds, name), name)


def _openai(model: str, url: str | None, variable: str | None, seconds: float | None, name: str) -> LLM:
    from dragoman.llm import openai

    variable = variable if url else openai.KEY
    return openai.OpenAI(model, openai.clients(url, variable, seconds, name), name, own=url is None)


WIRES: Mapping[str, Callable[[str, str | None, str | None, float | None, str], LLM]] = {
    "anthropic": _anthropic,
    "openai": _openai,
}


def _around(client: Any, model: str, seconds: float | None) -> LLM:
    """A client of the user's own; as a side job, a copy of it that shares its connections."""
    wire = next((wire for wire, part in (("anthropic", "messages"), ("openai", "chat")) if hasattr(client, part)), None)
    kind = type(client).__name__
    if wire is None:
        raise ValueError(f"a {kind} is no model: expected a name, a callable, or an Anthropic or OpenAI client")
    if not kind.startswith("Async"):
        raise ValueError(f"a {kind} cannot be cut at a deadline; give the asynchronous client, Async{kind}")
    if not model:
        raise ValueError(f"a {kind} needs to know which model to ask: open_llm(client, model=...)")
    if seconds is not None:
        client = client.with_options(timeout=seconds, max_retries=0)
    if wire == "anthropic":
        from dragoman.llm.anthropic import Anthropic

        return Anthropic(model, Given(client))
    from dragoman.llm.openai import OpenAI

    host = str(getattr(client, "base_url", ""))
    return OpenAI(model, Given(client), own="openai.com" in host or "azure" in host)

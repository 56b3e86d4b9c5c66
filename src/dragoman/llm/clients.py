"""An SDK's client for each event loop, built aside from it; keys; SDKs that may not be installed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from dragoman.errors import LLMUnavailable, MissingExtraError
from dragoman.llm.edge import Bounded
from dragoman.llm.progress import waits_for


class ClientSource(Protocol):
    """Where the client for the running loop comes from."""

    async def get(self) -> Any:
        """The client."""

    async def aclose(self) -> None:
        """Close what this source opened."""


class Clients:
    """One client for each event loop, because a client's connections belong to the loop they were opened on.

    Building imports the SDK (up to seconds) and loads certificates, so it happens in a thread; a
    caller that is cut meanwhile leaves it running for the next one.
    """

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build
        self._built: dict[asyncio.AbstractEventLoop, Any] = {}
        self._building: dict[asyncio.AbstractEventLoop, asyncio.Future[Any]] = {}

    async def get(self) -> Any:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        if loop in self._built:
            return self._built[loop]
        for closed in [known for known in (*self._built, *self._building) if known.is_closed()]:
            self._built.pop(closed, None)
            self._building.pop(closed, None)
        building = self._building.get(loop)
        if building is None:
            building = self._building[loop] = loop.run_in_executor(None, self._build)
            building.add_done_callback(partial(self._done, loop))
        return await asyncio.shield(building)

    def _done(self, loop: asyncio.AbstractEventLoop, building: asyncio.Future[Any]) -> None:
        self._building.pop(loop, None)
        if not building.cancelled() and building.exception() is None:
            self._built[loop] = building.result()

    async def aclose(self) -> None:
        """Close the running loop's client and its connections; the next call builds another."""
        client = self._built.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()


class Given:
    """A client of the user's own: used as it is, on whatever loop, and closed by its owner."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def get(self) -> Any:
        """The client."""
        return self._client

    async def aclose(self) -> None:
        """Nothing: its owner closes it."""


def require(package: str, extra: str) -> None:
    """Raise unless `package` can be imported; does not import it.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec(package) is None:
        raise MissingExtraError(f"a model of {package}", extra)


def key(variable: str, name: str) -> str:
    """A key from the environment variable, or from the file that `<variable>_FILE` names.

    Raises:
        LLMUnavailable: neither is set, or the file cannot be read or is empty; the message names the variable.
    """
    value = os.environ.get(variable, "").strip()
    if value:
        return value
    file = os.environ.get(f"{variable}_FILE", "")
    if not file:
        raise LLMUnavailable(
            f"{name} needs a key: set {variable}, or {variable}_FILE to the path of a file that holds it"
        )
    try:
        value = Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LLMUnavailable(f"{name} needs a key: the file that {variable}_FILE names cannot be read") from error
    if not value:
        raise LLMUnavailable(f"{name} needs a key: the file that {variable}_FILE names is empty")
    return value


def side_job(sdk: Any, seconds: float, name: str) -> Mapping[str, Any]:
    """What a side job's client is built with: a short timeout, no retries, no redirects, bodies bounded.

    A redirect is not followed because the key would travel with it.
    """

    async def bound(response: Any) -> None:
        packed = response.headers.pop("content-encoding", "identity").lower() not in ("", "identity")
        response.stream = _bounded(type(response.stream).__mro__)(response.stream, packed, name)

    async def watch(request: Any) -> None:
        request.extensions.setdefault("trace", _Watch())

    http = sdk.DefaultAsyncHttpxClient(
        timeout=seconds,
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"request": [watch], "response": [bound]},
    )
    return {"timeout": seconds, "max_retries": 0, "http_client": http}


# By the end of the HTTP client's name for what begins, which starts with the protocol's ("http11.").
_WAITS: Mapping[str, str] = {
    "connect_tcp.started": "before it took the connection",
    "start_tls.started": "in the TLS handshake",
    "receive_response_headers.started": "before its headers were whole",
    "receive_response_body.started": "after its headers",
}


class _Watch:
    """Notes how far a request has come.

    And closes the socket of a TLS handshake that was cut, which the HTTP client does for its own errors only.
    """

    def __init__(self) -> None:
        self._stream: Any = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """Told of each event of the request by the HTTP client."""
        what = _WAITS.get(event.partition(".")[2])
        if what is not None:
            waits_for(what)
        elif event == "connection.connect_tcp.complete":
            self._stream = info["return_value"]
        elif event == "connection.start_tls.failed" and self._stream is not None:
            await self._stream.aclose()


@cache
def _bounded(kinds: tuple[type, ...]) -> Any:
    """`Bounded` as a stream of the HTTP client's own kind, which the client insists on."""
    base = next(kind for kind in kinds if kind.__name__ == "AsyncByteStream")
    return type("BoundedStream", (Bounded, base), {})

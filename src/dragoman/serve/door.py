"""The door: who may come in, how often, with how much, and how many at once.

Plain ASGI, around everything else. A request's body is read here, whole, before it takes one of the
places for questions, so that a body that drips in holds nobody up.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.serve.metrics import Metrics
from dragoman.serve.pace import Pace
from dragoman.serve.problems import Problem, template_of
from dragoman.serve.settings import Settings, is_loopback

ASKING = "/v1/"  # what is behind keys and limits
ASKERS_KEPT = 10_000  # of the rate limit; an asker that is let go has not come for a long time
# Sent with every answer. The page loads nothing from elsewhere and no other page frames it.
HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


@dataclass(slots=True)
class Counter:
    """Questions at once, and whether new ones are still taken."""

    metrics: Metrics
    most: int
    pace: Pace
    now: int = 0
    draining: bool = False

    def enter(self) -> None:
        """Take a place.

        Raises:
            Problem: 503, there is none, or the process runs so far behind that nobody would wait for the answer.
        """
        if self.pace.lost:
            raise Problem(
                503, f"this service runs {self.pace.late:.1f} s behind; come again in a second", {"Retry-After": "1"}
            )
        if self.now >= self.most:
            raise Problem(
                503,
                f"{self.most} questions are being answered, the most at once; come again in a second",
                {"Retry-After": "1"},
            )
        self.now += 1
        self.metrics.level("dragoman_in_flight", self.now)

    def drain(self) -> None:
        """From here on `/readyz` says that the service is stopping."""
        self.draining = True

    def leave(self) -> None:
        """Give the place back."""
        self.now -= 1
        self.metrics.level("dragoman_in_flight", self.now)


@dataclass(slots=True)
class Rate:
    """A bucket of a minute's questions for each asker, refilled steadily."""

    per_minute: int
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def spend(self, asker: str) -> None:
        """One question of the asker's.

        Raises:
            Problem: 429, none is left; `Retry-After` says when the next is.
        """
        if not self.per_minute:
            return
        now = self.clock()
        left, then = self._left.pop(asker, (float(self.per_minute), now))
        left = min(float(self.per_minute), left + (now - then) * self.per_minute / 60)
        self._left[asker] = (left - 1 if left >= 1 else left, now)
        while len(self._left) > ASKERS_KEPT:
            self._left.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) * 60 / self.per_minute)
            raise Problem(
                429, f"{self.per_minute} questions a minute; the next in {wait} s", {"Retry-After": str(wait)}
            )


class Door:
    """Around the application: see the module's head."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, counter: Counter) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._counter = counter
        self._keys = tuple(key.encode() for key in settings.keys)
        self._rate = Rate(settings.limits.per_minute)
        self._local = is_loopback(settings.host) and not settings.keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in, or answer with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        try:
            await self._through(scope, receive, sending)
        except Problem as problem:
            await problem.response()(scope, receive, sending)
        finally:
            path = _metric_path(scope)
            self._metrics.count("dragoman_requests_total", path=path, status=str(status))
            self._metrics.observe("dragoman_request_seconds", time.perf_counter() - began, path=path)

    async def _through(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if self._local:
            _from_here(headers, self._settings.origins)
        if not scope["path"].startswith(ASKING):
            await self._app(scope, receive, send)
            return
        asker = self._asker(headers, scope)
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        self._rate.spend(asker)
        body = await self._read(headers, receive)
        self._counter.enter()
        try:
            await self._app(scope, _again(body, receive), send)
        finally:
            self._counter.leave()

    def _asker(self, headers: Headers, scope: Scope) -> str:
        """Who asks: the number of the key, or the address where no key is needed."""
        if not self._keys:
            return str((scope.get("client") or ("",))[0])
        given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()
        found = [hmac.compare_digest(given.encode(), key) for key in self._keys]  # every one, in constant time
        if not any(found):
            what = "this key is not one of the service's" if given else "no key was given"
            raise Problem(401, f"{what}; send 'Authorization: Bearer KEY'", {"WWW-Authenticate": "Bearer"})
        return str(found.index(True))

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        limits = self._settings.limits
        told = headers.get("content-length", "")
        if told.isdecimal() and int(told) > limits.body:
            raise _too_large(limits.body)
        body = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "the connection closed before the request was whole")
                    body += message.get("body", b"")
                    if len(body) > limits.body:
                        raise _too_large(limits.body)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError as exc:
            raise Problem(
                408, f"the body did not come within {limits.body_seconds:g} s", {"Connection": "close"}
            ) from exc


def _too_large(most: int) -> Problem:
    return Problem(413, f"a request is at most {most:,} bytes; shorten the question or its history")


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read, then whatever else comes: that the asker went away."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


def _from_here(headers: Headers, origins: Sequence[str]) -> None:
    """Refuse what a page elsewhere has a browser of this machine ask: no key protects a local service.

    Raises:
        Problem: 403, the `Host` names another machine (DNS rebinding) or the `Origin` another page.
    """
    host = _host_name(headers.get("host", ""))
    if not is_loopback(host):
        raise Problem(
            403, f"this service answers on this machine alone, not as {host!r}; set an API key to serve others"
        )
    origin = headers.get("origin")
    if origin and origin not in origins and not is_loopback(_host_name(urlsplit(origin).netloc)):
        raise Problem(403, f"a page of {origin} may not ask a service that needs no key")


def _host_name(host: str) -> str:
    """A `Host` header's name or address, without its port."""
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _metric_path(scope: Scope) -> str:
    """The path where it is one of the service's; so that made-up paths do not fill the counters.

    Who is turned away at the door has no route yet.
    """
    path = getattr(scope.get("route"), "path", None) or template_of(scope["app"], scope["path"])
    return str(path or "other")

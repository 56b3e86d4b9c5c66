"""Where foreign errors become ours: one table of statuses, one of causes, and a body of bounded size.

No message quotes what a server sent: it may echo the question or the key.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from dragoman.errors import LLMError, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreadable
from dragoman.llm.progress import waits_for
from dragoman.llm.reading import parse, unreadable
from dragoman.protocols import Schema
from dragoman.types import Usage

LARGEST_BODY = 512 * 1024  # bytes, unpacked; a reply of 1,024 tokens with its envelope comes to a hundredth of it

Row = tuple[type[LLMError], str]
STATUSES: Mapping[int, Row] = {
    400: (LLMUnavailable, "turned the request down (400)"),
    401: (LLMUnavailable, "did not accept the key (401); check the variable that holds it"),
    402: (LLMUnavailable, "asks for payment (402)"),
    403: (LLMUnavailable, "forbids this key this request (403)"),
    404: (LLMUnavailable, "knows no such model or address (404); check the model's name and the URL"),
    405: (LLMUnavailable, "takes no such request at this address (405); check the URL"),
    408: (LLMUnavailable, "gave up waiting for the request (408)"),
    409: (LLMUnavailable, "reports a conflict (409)"),
    413: (LLMUnavailable, "found the request too large (413)"),
    422: (LLMUnavailable, "could not process the request (422)"),
    429: (LLMUnavailable, "has had too many requests (429)"),
    500: (LLMUnavailable, "failed inside (500)"),
    502: (LLMUnavailable, "stands behind a gateway that got no answer (502)"),
    503: (LLMUnavailable, "is out of service (503)"),
    504: (LLMUnavailable, "stands behind a gateway that gave up waiting (504)"),
    529: (LLMUnavailable, "is overloaded (529)"),
}
# By the name of any class among the causes, the most telling first; names, so that no SDK is imported here.
CAUSES: tuple[tuple[str, Row], ...] = (
    ("TooManyRedirects", (LLMUnavailable, "redirects without end; give the final URL")),
    ("gaierror", (LLMUnavailable, "has a host name that nobody knows; check the URL and the network")),
    ("SSLError", (LLMUnavailable, "failed the TLS handshake; check https and the certificate")),
    ("ConnectionRefusedError", (LLMUnavailable, "refused the connection; is the server running?")),
    ("ConnectionResetError", (LLMUnavailable, "reset the connection half way")),
    ("BrokenPipeError", (LLMUnavailable, "reset the connection half way")),
    ("RemoteProtocolError", (LLMUnavailable, "closed the connection before its reply was whole")),
    (
        "LocalProtocolError",
        (LLMUnavailable, "could not be asked: a header is malformed; check the key for stray characters"),
    ),
    ("ReadError", (LLMUnavailable, "closed the connection before its reply was whole")),
    ("DecodingError", (LLMUnreadable, "sent a body that its own encoding does not unpack")),
    ("UnsupportedProtocol", (LLMUnavailable, "has a URL that is neither http nor https")),
    ("InvalidURL", (LLMUnavailable, "has a URL that cannot be read")),
    ("APITimeoutError", (LLMTimeout, "did not answer in time")),
    ("TimeoutException", (LLMTimeout, "did not answer in time")),
    ("TimeoutError", (LLMTimeout, "did not answer in time")),
    ("ConnectError", (LLMUnavailable, "could not be connected to")),
)
# A broken protocol told apart by the HTTP client's own words, which stand in no message of ours.
_PROTOCOL: Mapping[str, str] = {
    "illegal": "answered with something that is not HTTP; check the URL and the port",
    "too long": "sent headers without end",
    "without sending a response": "closed the connection without a reply",
}
_CODE = re.compile(r"[a-z][a-z_]{1,40}")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,3})?")


def mapped(error: BaseException, name: str, statuses: Mapping[int, Row] = STATUSES) -> LLMError:
    """The error of ours that says what a foreign one means; raise it `from` that one.

    Args:
        error: anything an SDK or its transport raised.
        name: the model's, as the message begins with it.
        statuses: what an HTTP status means on this wire.
    """
    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, LLMError):
            return cause
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _of_status(error, status, name, statuses)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    for known, (kind, says) in CAUSES:
        if known in names:
            return kind(f"{name} {_told_apart(causes, says) if known == 'RemoteProtocolError' else says}")
    return LLMUnavailable(f"{name} could not be asked ({type(error).__name__})")


def _told_apart(causes: Iterable[BaseException], says: str) -> str:
    words = " ".join(str(cause) for cause in causes if type(cause).__name__ == "RemoteProtocolError").lower()
    return next((own for known, own in _PROTOCOL.items() if known in words), says)


def _causes(error: BaseException) -> Iterator[BaseException]:
    pending: list[BaseException | None] = [error]
    seen: set[int] = set()
    while pending:
        cause = pending.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        pending += [cause.__context__, cause.__cause__]
        if isinstance(cause, BaseExceptionGroup):
            pending += cause.exceptions


def _of_status(error: BaseException, status: int, name: str, statuses: Mapping[int, Row]) -> LLMError:
    if 300 <= status < 400:
        return LLMUnavailable(f"{name} redirects to another address ({status}); give the final URL")
    kind, says = statuses.get(status, (LLMUnavailable, f"answered with status {status}"))
    code = code_of(error)
    if code == "content_filter":
        return LLMRefused(f"{name} was stopped by its provider's content filter ({status})")
    wait = str(getattr(getattr(error, "response", None), "headers", {}).get("retry-after", ""))
    return kind(
        f"{name} {says}"
        + (f": {code}" if code else "")
        + (f"; it asks to wait {wait} s" if _SECONDS.fullmatch(wait) else "")
    )


def code_of(error: BaseException) -> str:
    """The provider's own word for an error, where it is a plain word such as `insufficient_quota`; else empty."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(inner, dict):
        return ""
    words = (inner.get("code"), inner.get("type"))
    return next((word for word in words if isinstance(word, str) and _CODE.fullmatch(word)), "")


class Parameters:
    """Optional parameters of a request, each sent until the server says that it does not know it.

    A refused one costs the call that finds it out (nothing is asked twice on the asker's time) and
    is left out from the next call on.

    Args:
        marks: for each parameter the words by which a server's complaint names it.
        without: those that are known from the start to be refused.
    """

    def __init__(self, marks: Mapping[str, tuple[str, ...]], without: Iterable[str] = ()) -> None:
        self._marks = marks
        self.without = set(without)

    def __contains__(self, parameter: str) -> bool:
        return parameter not in self.without

    def mapped(self, error: BaseException, name: str, statuses: Mapping[int, Row]) -> LLMError:
        """As `mapped`, and parameters that a status of 400 or 422 complains of are noted."""
        ours = mapped(error, name, statuses)
        if getattr(error, "status_code", None) not in (400, 422):
            return ours
        said = str(getattr(error, "body", "")).lower()
        refused = {p for p, marks in self._marks.items() if p in self and any(mark in said for mark in marks)}
        if not refused:
            return ours
        self.without |= refused
        return type(ours)(
            f"{ours}; it does not know {', '.join(sorted(refused))}: asked otherwise from the next call on"
        )


async def whole(response: Any, name: str) -> tuple[bytes, str]:
    """An SDK response's body, at most `LARGEST_BODY` bytes of it, and its content type.

    Raises:
        LLMUnreadable: there is more.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in response.iter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST_BODY:
            raise too_large(name)
    return b"".join(pieces), str(response.headers.get("content-type", ""))


def too_large(name: str, packed: bool = False) -> LLMUnreadable:
    """The error for a body that nobody needs to read to its end."""
    sent = "a packed body of " if packed else ""
    return LLMUnreadable(f"{name} sent {sent}more than {LARGEST_BODY:,} bytes; a reply is a few thousand")


class Bounded:
    """A response's raw stream, unpacked here and cut off at `LARGEST_BODY`.

    An HTTP client unpacks a whole chunk at once, so a compressed body of a few kilobytes can fill
    the memory before anybody counts; here no more is ever unpacked than is allowed.
    """

    def __init__(self, stream: Any, packed: bool, name: str) -> None:
        self._stream, self._name = stream, name
        self._unpack = zlib.decompressobj(wbits=47) if packed else None  # 47: gzip or zlib, by its header
        self._left = LARGEST_BODY

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            piece = chunk if self._unpack is None else self._unpacked(chunk)
            self._left -= len(piece)
            if self._left < 0:
                raise too_large(self._name, self._unpack is not None)
            waits_for(f"after {LARGEST_BODY - self._left:,} bytes of its body")
            yield piece

    def _unpacked(self, chunk: bytes) -> bytes:
        try:
            return b"" if self._unpack is None else self._unpack.decompress(chunk, self._left + 1)
        except zlib.error as error:
            raise LLMUnreadable(f"{self._name} sent a body that its own encoding does not unpack") from error

    async def aclose(self) -> None:
        """Close the connection's side of the stream."""
        await self._stream.aclose()


def envelope(raw: bytes, content_type: str, name: str) -> dict[str, Any]:
    """A reply's body as the object that both wires send.

    Raises:
        LLMUnavailable: a web page, or an error said with status 200: something else answers at this address.
        LLMUnreadable: it is not UTF-8, not JSON, or not an object.
    """
    kind = content_type.split(";")[0].strip().lower() or "no content type"
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LLMUnreadable(f"{name} sent {len(raw):,} bytes that are not UTF-8 ({kind})") from error
    if kind == "text/html" or text.lstrip()[:1] == "<":
        raise LLMUnavailable(f"{name} sent a web page; a proxy or another site answers at this address, check the URL")
    try:
        body = parse(text)
    except ValueError as error:
        raise unreadable(f"{name} sent {kind} that is not JSON: {error}", text) from error
    if not isinstance(body, dict):
        raise unreadable(f"{name} sent JSON that is not an object", text)
    if body.get("error"):
        raise LLMUnavailable(f"{name} answered with an error under status 200")
    return body


def usage(counted: Any, tokens_in: str, tokens_out: str) -> Usage:
    """Tokens as a provider counts them; what is not a whole number counts as 0."""
    numbers = (counted.get(tokens_in), counted.get(tokens_out)) if isinstance(counted, dict) else (0, 0)
    return Usage(*(number if isinstance(number, int) and number > 0 else 0 for number in numbers))


def with_schema(rules: str, schema: Schema) -> str:
    """The rules with the schema in words, for a model whose decoding cannot be constrained."""
    return f"{rules}\n\nReply with one JSON object that fits this schema, and nothing else:\n{json.dumps(schema)}"

"""What can go wrong on a wire: each fault a coroutine that answers one request badly."""

from __future__ import annotations

import asyncio
import json
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import cache

SOCKET_LINGER_OFF = struct.pack("ii", 1, 0)  # closing then sends a reset instead of a goodbye


class Fault(StrEnum):
    """A way to answer a request badly. Statuses are given as numbers."""

    HANG_BEFORE_HEADERS = "hang before headers"
    HANG_AFTER_HEADERS = "hang after headers"
    DRIP_BODY = "one byte of the body a second"
    TRICKLE_HEADERS = "one byte of the headers a second"
    CLOSE_AT_ONCE = "close at once"
    RESET_HALF_WAY = "reset half way"
    CLOSE_HALF_WAY = "close half way"
    NOT_HTTP = "not HTTP"
    HTML = "200 with HTML"
    WRONG_CONTENT_TYPE = "wrong content type"
    WRONG_CHARSET = "wrong charset"
    EMPTY_BODY = "200 with nothing"
    NOT_AN_OBJECT = "200 with a JSON list"
    REDIRECT_LOOP = "redirect loop"
    GZIP_BOMB = "gzip bomb"
    BROKEN_GZIP = "broken gzip"
    ENDLESS_BODY = "a body without end"
    ENDLESS_HEADERS = "headers without end"


Write = Callable[[bytes], Awaitable[None]]


def response(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    """A whole HTTP/1.1 response."""
    lines = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} {'OK' if status == 200 else 'Status'}\r\n{head}\r\n".encode() + body


@cache
def bomb() -> bytes:
    """Gzip of 64 kB that unpacks to 64 MB."""
    pack = zlib.compressobj(9, wbits=31)
    return b"".join([pack.compress(bytes(1024 * 1024)) for _ in range(64)] + [pack.flush()])


async def commit(fault: Fault, good: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer with a fault; `good` is the response that would have been right. Hangs until cancelled where it hangs."""

    async def write(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    if fault in _WHOLE:
        await write(_WHOLE[fault](good))
    else:
        await _FAULTS[fault](good, write, writer)


async def _hang(_good: bytes, _write: Write, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def _hang_after(good: bytes, write: Write, _writer: asyncio.StreamWriter) -> None:
    await write(good[: good.index(b"\r\n\r\n") + 4])
    await asyncio.Event().wait()


async def _drip(good: bytes, write: Write, _writer: asyncio.StreamWriter) -> None:
    at = good.index(b"\r\n\r\n") + 4
    await write(good[:at])
    await _one_by_one(good[at:], write)


async def _trickle(good: bytes, write: Write, _writer: asyncio.StreamWriter) -> None:
    await _one_by_one(good, write)


async def _one_by_one(data: bytes, write: Write) -> None:
    for byte in data:
        await write(bytes([byte]))
        await asyncio.sleep(1)


async def _close(_good: bytes, _write: Write, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _close_half(good: bytes, write: Write, writer: asyncio.StreamWriter) -> None:
    await write(good[: len(good) - 20])
    writer.close()


async def _reset(good: bytes, write: Write, writer: asyncio.StreamWriter) -> None:
    import socket

    await write(good[: len(good) - 20])
    await asyncio.sleep(0.05)  # the client has read what there is and waits for more
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, SOCKET_LINGER_OFF)
    writer.transport.abort()


async def _endless(_good: bytes, write: Write, _writer: asyncio.StreamWriter) -> None:
    await write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        await write(b"10000\r\n" + b" " * 65_536 + b"\r\n")


async def _endless_headers(_good: bytes, write: Write, _writer: asyncio.StreamWriter) -> None:
    await write(b"HTTP/1.1 200 OK\r\n")
    number = 0
    while True:
        number += 1
        await write(f"x-{number}: {'x' * 1000}\r\n".encode())


_PAGE = b"<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>"
_PACKED = {"content-encoding": "gzip"}
_WHOLE: Mapping[Fault, Callable[[bytes], bytes]] = {
    Fault.NOT_HTTP: lambda _: b"220 mail.example ESMTP\r\n\r\n",
    Fault.HTML: lambda _: response(200, _PAGE, {"content-type": "text/html; charset=utf-8"}),
    Fault.WRONG_CONTENT_TYPE: lambda _: response(200, b"\x89PNG not JSON", {"content-type": "image/png"}),
    Fault.WRONG_CHARSET: lambda _: response(
        200, json.dumps({"content": "Größe"}, ensure_ascii=False).encode("utf-16"), {"content-type": "application/json"}
    ),
    Fault.EMPTY_BODY: lambda _: response(200, b""),
    Fault.NOT_AN_OBJECT: lambda _: response(200, b"[]"),
    Fault.REDIRECT_LOOP: lambda _: response(307, b"", {"location": "/again"}),
    Fault.GZIP_BOMB: lambda _: response(200, bomb(), _PACKED),
    Fault.BROKEN_GZIP: lambda good: response(200, good, _PACKED),
}
_FAULTS: Mapping[Fault, Callable[[bytes, Write, asyncio.StreamWriter], Awaitable[None]]] = {
    Fault.HANG_BEFORE_HEADERS: _hang,
    Fault.HANG_AFTER_HEADERS: _hang_after,
    Fault.DRIP_BODY: _drip,
    Fault.TRICKLE_HEADERS: _trickle,
    Fault.CLOSE_AT_ONCE: _close,
    Fault.RESET_HALF_WAY: _reset,
    Fault.CLOSE_HALF_WAY: _close_half,
    Fault.ENDLESS_BODY: _endless,
    Fault.ENDLESS_HEADERS: _endless_headers,
}

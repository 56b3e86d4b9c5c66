"""A model server by script: real sockets on loopback, both wire formats, every fault."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from dragoman.testing.faults import Fault, commit, response

Stop: TypeAlias = Literal["end", "length", "filter", "refusal"]
_ANTHROPIC: Mapping[Stop, str] = {"end": "end_turn", "length": "max_tokens", "filter": "refusal", "refusal": "refusal"}
_OPENAI: Mapping[Stop, str] = {"end": "stop", "length": "length", "filter": "content_filter", "refusal": "stop"}


@dataclass(frozen=True, slots=True)
class Says:
    """A reply: its text, how it ends, and after how many seconds it comes."""

    text: str
    stop: Stop = "end"
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Status:
    """An error by its HTTP status, with headers and the body that a provider would send."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=lambda: {"error": {"type": "scripted", "message": "as scripted"}})


Turn: TypeAlias = str | dict[str, Any] | int | Says | Status | Fault


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class ScriptedServer:
    """Answers the first request with the first turn, and so on; the last turn answers all that follow.

    A turn is a text, a value (sent as JSON), a status, `Says`, `Status` or a `Fault`. Runs in a
    thread of its own with its own event loop, so that it serves plain and asynchronous tests alike:

        with ScriptedServer({"searches": ["maximum speed limit"]}, Fault.DRIP_BODY, 529) as server:
            llm = open_llm(f"openai:any@{server.openai}")

    Attributes:
        requests: what came, in order.
        connections: open at this moment.
    """

    def __init__(self, *turns: Turn) -> None:
        self._turns: list[Turn] = list(turns) or [""]
        self.requests: list[Request] = []
        self.connections = 0
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="scripted-server", daemon=True)

    @property
    def anthropic(self) -> str:
        """The base URL for Anthropic's SDK."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai(self) -> str:
        """The base URL for OpenAI's SDK."""
        return f"http://127.0.0.1:{self.port}/v1"

    def script(self, turns: Iterable[Turn]) -> None:
        """Replace the turns that are still to come."""
        self._turns = list(turns) or [""]

    def next_turn(self) -> Turn:
        """What the next request is answered with; a server of your own may draw it by chance."""
        return self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the scripted server did not start within 10 s")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        others = asyncio.all_tasks() - {t for t in (asyncio.current_task(),) if t}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await self._answer(await _request(reader), reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side has gone or speaks another language, or the server stops
        finally:
            self.connections -= 1
            writer.close()

    async def _answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if request.path == "/tls":
            writer.write(response(400, b"this is a plain HTTP server"))
            await writer.drain()
            raise ConnectionResetError
        self.requests.append(request)
        turn = self.next_turn()
        answering = asyncio.ensure_future(self._take(turn, request, writer))
        leaving = asyncio.ensure_future(reader.read(1))  # while one hangs, notice that the client has gone
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ConnectionResetError
            answering.result()
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.wait({answering, leaving})

    async def _take(self, turn: Turn, request: Request, writer: asyncio.StreamWriter) -> None:
        if isinstance(turn, Fault):
            await commit(turn, reply(Says("{}"), request), writer)
            return
        if isinstance(turn, Says):
            await asyncio.sleep(turn.after)
        writer.write(reply(turn, request))
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> Request:
    begun = await reader.readexactly(1)
    if begun == b"\x16":  # a TLS handshake; a plain server answers in plain words
        return Request("/tls", {}, {})
    head = begun + await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(first.split(" ")[1], headers, json.loads(body or b"{}"))


def reply(turn: str | dict[str, Any] | int | Says | Status, request: Request) -> bytes:
    """The response to a request in the format of the wire it came on."""
    if isinstance(turn, int):
        turn = Status(turn)
    if isinstance(turn, Status):
        return response(turn.status, json.dumps(turn.body).encode(), turn.headers)
    says = turn if isinstance(turn, Says) else Says(turn if isinstance(turn, str) else json.dumps(turn))
    anthropic = request.path.endswith("/messages")
    if request.body.get("stream"):
        return _events(_anthropic_events(says) if anthropic else _openai_events(says))
    return response(200, json.dumps(_anthropic(says) if anthropic else _openai(says)).encode())


def _anthropic(says: Says) -> dict[str, Any]:
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [{"type": "text", "text": says.text}],
        "stop_reason": _ANTHROPIC[says.stop],
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _openai(says: Says) -> dict[str, Any]:
    refused = says.stop == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else says.text,
        "refusal": says.text or "I cannot help with that." if refused else None,
    }
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": _OPENAI[says.stop]}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _pieces(text: str) -> list[str]:
    return [text[at : at + 8] for at in range(0, len(text), 8)]


def _anthropic_events(says: Says) -> Sequence[dict[str, Any]]:
    start = {**_anthropic(Says("")), "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in _pieces(says.text)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": _ANTHROPIC[says.stop], "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]


def _openai_events(says: Says) -> Sequence[dict[str, Any]]:
    field_ = "refusal" if says.stop == "refusal" else "content"

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        return {**head, "choices": [choice]}

    return [*(chunk({field_: piece}) for piece in _pieces(says.text)), chunk({}, _OPENAI[says.stop])]


def _events(events: Sequence[dict[str, Any]]) -> bytes:
    lines = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    if not any("type" in event for event in events):
        lines.append("data: [DONE]\n\n")
    return response(200, "".join(lines).encode(), {"content-type": "text/event-stream"})

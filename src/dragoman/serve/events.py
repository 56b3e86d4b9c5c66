"""Server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from dragoman import answer
from dragoman.errors import DragomanError
from dragoman.protocols import Writer
from dragoman.record import answer_data, result_data
from dragoman.serve.problems import problem_of
from dragoman.types import Result

MEDIA_TYPE = "text/event-stream"
# One event, as OpenAPI 3.2 has it.
SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"enum": ["result", "piece", "answer", "problem"], "type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}


def event(name: str, data: Any) -> bytes:
    """One event; JSON has no line ends of its own, so the data is one line."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


async def answering(result: Result, writer: Writer | None) -> AsyncIterator[bytes]:
    """`result` at once, each `piece` of the answer as it comes, the whole `answer` with its citations checked.

    What fails on the way is a `problem` event, the last one.
    """
    yield event("result", result_data(result))
    try:
        async for piece in answer.stream(result, writer):
            if isinstance(piece, str):
                yield event("piece", {"text": piece})
            else:
                yield event("answer", answer_data(piece))
    except DragomanError as error:
        yield event("problem", problem_of(error).data())

"""Server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeAlias

from dragoman.errors import DragomanError
from dragoman.record import answer_data, result_data
from dragoman.serve.problems import problem_of
from dragoman.types import Answer, Result

Part: TypeAlias = Result | str | Answer
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


async def following(first: Part, parts: AsyncGenerator[Part, None]) -> AsyncIterator[bytes]:
    """`result` at once, each `piece` of the answer as it comes, the whole `answer` with its citations checked.

    What fails on the way is a `problem` event, the last one.

    Args:
        first: what `parts`, of `Dragoman.afollow`, gave already.
        parts: the rest; they end here.
    """
    async with aclosing(parts):
        try:
            yield _told(first)
            async for part in parts:
                yield _told(part)
        except DragomanError as error:
            yield event("problem", problem_of(error).data())


def _told(part: Part) -> bytes:
    if isinstance(part, Result):
        return event("result", result_data(part))
    if isinstance(part, str):
        return event("piece", {"text": part})
    return event("answer", answer_data(part))

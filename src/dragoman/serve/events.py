"""Server-sent events (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from dragoman import answer
from dragoman.dragoman import Dragoman
from dragoman.errors import DragomanError
from dragoman.protocols import Writer
from dragoman.record import answer_data, result_data
from dragoman.serve.problems import problem_of
from dragoman.telemetry import Happening, inside
from dragoman.types import Answer, Question, Result

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


async def searched(hall: Dragoman, question: Question, depth: int) -> tuple[Result, Happening | None]:
    """What is found, and the answer that has begun with it; what fails here still has its status.

    Raises:
        QuestionError, RetrievalError: as `Dragoman.asearch`.
    """
    happening = hall.events.begin("answer", question=question)
    try:
        with inside(happening):
            return await hall.asearch(question, depth), happening
    except BaseException as error:
        if happening:
            happening.fail(error)
        raise


async def answering(result: Result, writer: Writer | None, happening: Happening | None = None) -> AsyncIterator[bytes]:
    """`result` at once, each `piece` of the answer as it comes, the whole `answer` with its citations checked.

    What fails on the way is a `problem` event, the last one.

    Args:
        happening: the answer as listeners are told of it; it ends here.
    """
    piece: str | Answer = ""
    try:
        yield event("result", result_data(result))
        async with aclosing(answer.stream(result, writer, happening)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield event("piece", {"text": piece})
                else:
                    yield event("answer", answer_data(piece))
    except BaseException as error:
        if happening:
            happening.fail(error)
        if not isinstance(error, DragomanError):
            raise
        yield event("problem", problem_of(error).data())
    else:
        if happening:
            happening.stop(answer=piece)

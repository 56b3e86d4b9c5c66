"""One row of the hostile table asked of Dragoman over a real socket; shared by the tests beside it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.hostile_rows import Row
from bench.peers.stubs import Stub

from dragoman.dragoman import Dragoman, Settings
from dragoman.llm.open import close, open_llm, warm
from dragoman.retrievers import CallableRetriever
from dragoman.rewriters.prompted import Prompted
from dragoman.telemetry import Event
from dragoman.testing import ScriptedServer
from dragoman.types import Message, Question, Result

WIRES = ("openai", "anthropic")
SECRET = "sk-hostile-hush-hush"
VARIABLE = "HOSTILE_KEY"
RESERVE = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of one question: the result, what was searched, how often the model was asked, how long it took."""

    result: Result
    searched: list[str]
    calls: int
    seconds: float
    model: str


def closed_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def spec(row: Row, wire: str, server: ScriptedServer) -> str:
    """The model's name for a row: the server, or a place where nobody answers rightly."""
    base = str(getattr(server, wire))
    if row.address == "closed":
        base = base.replace(f":{server.port}", f":{closed_port()}")
    elif row.address == "unknown":
        base = base.replace("127.0.0.1", "nobody.invalid")
    elif row.address == "tls":
        base = base.replace("http://", "https://")
    return f"{wire}:scripted@{base}#{VARIABLE}"


def question_of(row: Row) -> Question:
    """The row's question with the turns before it."""
    before = None if row.before is None else tuple(Message(role, text) for role, text in row.before)
    return Question(row.question, before)


def retrievers(fault: str, searched: list[str]) -> list[CallableRetriever]:
    """The two stubs, each of which notes what it was asked for."""
    stubs = (Stub("words", fault, searched), Stub("meaning", fault, searched))
    return [CallableRetriever(_passages(stub), stub.kind) for stub in stubs]


def _passages(stub: Stub) -> Callable[[str, int], list[dict[str, object]]]:
    return lambda text, depth: [passage._asdict() for passage in stub(text, depth)]


async def ask(
    row: Row, wire: str, *, leash: float = 5.0, budget: float = 6.0, listeners: Sequence[Callable[[Event], None]] = ()
) -> Asked:
    """The row's question over its fault."""
    form = "rewritten" if row.prompt == "rewrite" else "searches"
    searched: list[str] = []
    with ScriptedServer(row.say(form)) as server:  # type: ignore[arg-type]  # both are forms
        llm = open_llm(spec(row, wire, server), seconds=leash)
        await warm(llm)
        settings = Settings(seconds=budget, reserve=RESERVE)
        steps = [Prompted(row.prompt, llm)]
        dragoman = Dragoman(retrievers(row.fault, searched), steps, settings=settings, listeners=listeners)
        began = time.perf_counter()
        try:
            result = await dragoman.asearch(question_of(row), row.depth)
            took = time.perf_counter() - began
        finally:
            await close(llm)
        return Asked(result, searched, len(server.requests), took, llm.name)

"""The same three things over the Model Context Protocol: `rewrite`, `search` and `explain` as tools.

Inputs and outputs are typed; an output is the record's JSON (`dragoman.record`). What cannot be
asked, and retrievers that are all down, come back as a tool's error with the reason in words; a
defect does not say more than that it is one.
"""

from __future__ import annotations

import functools
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

import dragoman
from dragoman.dragoman import DEPTH, Dragoman
from dragoman.errors import DragomanError
from dragoman.profile import Profile, load_profile, open_dragoman
from dragoman.record import result_data, rewriting_data, rewriting_tree, tree
from dragoman.serve.answers import FailureData, RewriteAnswer, SearchAnswer
from dragoman.serve.bodies import MOST_DEPTH, MOST_TURNS, Turn
from dragoman.serve.settings import KEYS, ServiceError, is_loopback, read_keys
from dragoman.types import Message, Question

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from dragoman.telemetry import Listener

PATH = "/mcp"
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
INSTRUCTIONS = (
    "Searches one corpus by questions in anybody's words. `search` puts a question into the corpus's own words and "
    "gives the best passages; cite them by their `doc_id`. `explain` says how they were found. `rewrite` gives the "
    "searches without running them. Pass the asker's words as they are, and earlier turns as `history`."
)
Text = Annotated[str, Field(description="What is asked, in the asker's own words.")]
Depth = Annotated[int, Field(ge=1, le=MOST_DEPTH, description="How many hits.")]
Filters = Annotated[
    dict[str, str] | None, Field(description='Metadata that every hit must have, as {"chapter": "12"}.')
]
History = Annotated[
    list[Turn] | None,
    Field(max_length=MOST_TURNS, description="The turns before it, oldest first, when it is part of a conversation."),
]
T = TypeVar("T")


class Passage(BaseModel):
    """A passage found."""

    rank: int
    doc_id: str
    score: float
    title: str
    text: str
    metadata: dict[str, str]


class Found(BaseModel):
    """The best passages, and the query that found them."""

    question: str
    query: str
    off_topic: bool
    hits: list[Passage]
    failures: list[FailureData]
    seconds: float


class Explained(SearchAnswer):
    """The whole record, and the same as a tree for people."""

    tree: str


class ExplainedRewriting(RewriteAnswer):
    """The record of the rewriting, where there is nothing to search, and the same as a tree for people."""

    tree: str


def make_server(hall: Dragoman, about: str = "") -> MCPServer[Any]:
    """A server over `hall`, which stays the caller's to close.

    Without retrievers there is no tool `search`, and `explain` tells of the rewriting alone.

    Args:
        about: said to the client's model: what the corpus is.
    """
    server: MCPServer[Any] = MCPServer(
        "dragoman",
        title="Dragoman",
        version=dragoman.__version__,
        instructions=f"{INSTRUCTIONS} {about}".strip(),
        log_level="WARNING",
    )
    tools = [_rewrite(hall), _search(hall), _explain(hall)] if hall.retrievers else [_rewrite(hall), _retell(hall)]
    for tool in tools:
        server.add_tool(_said(tool), annotations=READS)
    return server


def _rewrite(hall: Dragoman) -> Callable[..., Awaitable[Any]]:
    async def rewrite(question: Text, history: History = None) -> RewriteAnswer:
        """The question with its noise out, in the corpus's own words, and the searches that it becomes."""
        return RewriteAnswer.model_validate(rewriting_data(await hall.arewrite(_asked(question, None, history))))

    return rewrite


def _search(hall: Dragoman) -> Callable[..., Awaitable[Any]]:
    async def search(question: Text, depth: Depth = DEPTH, filters: Filters = None, history: History = None) -> Found:
        """The passages that answer a question, best first, each with its doc_id to cite."""
        return Found.model_validate(result_data(await hall.asearch(_asked(question, filters, history), depth)))

    return search


def _explain(hall: Dragoman) -> Callable[..., Awaitable[Any]]:
    async def explain(
        question: Text, depth: Depth = DEPTH, filters: Filters = None, history: History = None
    ) -> Explained:
        """Why each passage was found: every step, search and ranking, and each one's share in every hit."""
        result = await hall.asearch(_asked(question, filters, history), depth)
        return Explained.model_validate({**result_data(result), "tree": tree(result)})

    return explain


def _retell(hall: Dragoman) -> Callable[..., Awaitable[Any]]:
    async def explain(question: Text, history: History = None) -> ExplainedRewriting:
        """What each step made of the question, and why."""
        rewriting = await hall.arewrite(_asked(question, None, history))
        return ExplainedRewriting.model_validate({**rewriting_data(rewriting), "tree": rewriting_tree(rewriting)})

    return explain


def _said(tool: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """What the package raises on purpose as the tool's error, in its own words."""

    @functools.wraps(tool)
    async def run(**given: Any) -> T:
        try:
            return await tool(**given)
        except DragomanError as error:
            raise ToolError(str(error)) from error

    return run


def _asked(question: str, filters: Mapping[str, str] | None, history: Sequence[Turn] | None) -> Question:
    turns = None if history is None else tuple(Message(turn.role, turn.text) for turn in history)
    return Question(question, turns, filters or {})


async def run_mcp(
    profile: str | Path | Profile,
    *,
    index: Path | str | None = None,
    model: str | None = None,
    http: str | None = None,
    embed: str | None = None,
    listeners: Sequence[Listener] = (),
) -> None:
    """Serve on standard input and output, or over HTTP, until the client or the process ends.

    Args:
        http: `HOST:PORT` to serve streamable HTTP at `/mcp` there; None: standard input and output.
            A host that other machines reach needs an API key, as `dragoman serve` does, sent as
            `Authorization: Bearer KEY`.
        index, model, embed, listeners: as `open_dragoman` takes them.

    Raises:
        ProfileError, IndexStateError: one of them cannot be used.
        ServiceError: the address is not one, or can be reached and no key is set.
    """
    where = None if http is None else _address(http)
    keys = read_keys() if where else ()
    if where and not keys and not is_loopback(where[0]):
        raise ServiceError(
            f"{where[0]} can be reached from other machines and no API key is set; set {KEYS}, or serve on 127.0.0.1"
        )
    read = profile if isinstance(profile, Profile) else load_profile(profile)
    async with await open_dragoman(read, index=index, model=model, embed=embed, listeners=listeners) as hall:
        server = make_server(hall, read.about)
        if where is None:
            await server.run_stdio_async()
        else:
            await _serve_http(server, *where, keys)


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; an IPv6 host stands in brackets."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise ServiceError(f"{text!r} is not HOST:PORT, as in 127.0.0.1:8001")
    return host, int(port)


async def _serve_http(server: MCPServer[Any], host: str, port: int, keys: Sequence[str]) -> None:
    import uvicorn

    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, host=_local(host)
    )
    config = uvicorn.Config(_Keyed(app, keys) if keys else app, host=host, port=port, log_level="warning")
    with config.bind_socket() as listening:
        name = f"[{host}]" if ":" in host else host
        print(f"http://{name}:{listening.getsockname()[1]}{PATH}", flush=True)
        await uvicorn.Server(config).serve(sockets=[listening])


def _local(host: str) -> str:
    """Every loopback address by the name under which the SDK refuses pages that rebind their host's name."""
    try:
        return "127.0.0.1" if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host


class _Keyed:
    """Lets through who sends one of the keys; a lifespan passes."""

    def __init__(self, app: ASGIApp, keys: Sequence[str]) -> None:
        self.app, self.keys = app, [f"Bearer {key}".encode() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.responses import PlainTextResponse

        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        known = [hmac.compare_digest(given, key) for key in self.keys]  # all of them, so that time tells nothing
        if scope["type"] == "http" and not any(known):
            refusal = PlainTextResponse(
                "a key is needed: Authorization: Bearer KEY", 401, {"WWW-Authenticate": "Bearer"}
            )
            await refusal(scope, receive, send)
        else:
            await self.app(scope, receive, send)

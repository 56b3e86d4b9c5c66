"""Both wires over real sockets, through the official SDKs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman.errors import LLMError, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreadable
from dragoman.llm.open import close, open_llm, open_writer, warm
from dragoman.llm.openai import OpenAI
from dragoman.protocols import LLM, Prompt
from dragoman.testing import Fault, Says, ScriptedServer, Status, check_llm
from dragoman.types import Usage

QUESTION = "my secret question about speed"
SECRET = "sk-hush-hush"
SCHEMA = {
    "type": "object",
    "properties": {"searches": {"type": "array", "items": {"type": "string"}, "maxItems": 4}},
    "required": ["searches"],
    "additionalProperties": False,
}
PROMPT = Prompt("rephrase", "Say it in the law's words.", QUESTION, SCHEMA)
VALUE = {"searches": ["maximum speed limit", "speeding penalty"]}
WIRES = ("anthropic", "openai")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def spec(wire: str, server: ScriptedServer) -> str:
    return f"{wire}:some-model@{getattr(server, wire)}#TEST_KEY"


@asynccontextmanager
async def opened(wire: str, server: ScriptedServer, seconds: float = 5.0, **more: Any) -> AsyncIterator[LLM]:
    llm = open_llm(spec(wire, server), seconds=seconds, **more)
    await warm(llm)
    try:
        yield llm
    finally:
        await close(llm)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_value_comes_back_with_its_cost_and_its_model(wire: str) -> None:
    with ScriptedServer(VALUE) as server:
        async with opened(wire, server) as llm:
            reply = await llm(PROMPT)
    assert reply.value == VALUE
    assert reply.usage == Usage(11, 7)
    assert reply.model == llm.name == f"{wire}:some-model@{getattr(server, wire)}"


async def test_anthropic_is_asked_for_the_schema_at_low_effort_and_with_its_key() -> None:
    with ScriptedServer(VALUE) as server:
        async with opened("anthropic", server) as llm:
            await llm(PROMPT)
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert SECRET in request.headers.get("authorization", "") + request.headers.get("x-api-key", "")
    assert request.body["max_tokens"] == 1024
    assert request.body["system"] == PROMPT.rules
    assert request.body["messages"] == [{"role": "user", "content": QUESTION}]
    assert request.body["output_config"]["effort"] == "low"
    schema = request.body["output_config"]["format"]["schema"]
    assert "maxItems" not in json.dumps(schema)
    assert schema["properties"]["searches"]["items"] == {"type": "string"}


async def test_a_compatible_server_is_asked_for_the_schema_strictly() -> None:
    with ScriptedServer(VALUE) as server:
        async with opened("openai", server) as llm:
            await llm(PROMPT)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.body["max_tokens"] == 1024
    assert "reasoning_effort" not in request.body
    assert request.body["response_format"]["json_schema"]["strict"] is True
    assert [m["role"] for m in request.body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("model", "effort"),
    [("claude-haiku-4-5", False), ("claude-sonnet-4-5-20250929", False), ("claude-opus-4-6", True), ("new-5", True)],
)
@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
async def test_effort_is_sent_to_models_that_know_it(model: str, effort: bool) -> None:
    with ScriptedServer(VALUE) as server:
        llm = open_llm(f"anthropic:{model}@{server.anthropic}", seconds=5)
        await llm(PROMPT)
        await close(llm)
    assert ("effort" in server.requests[0].body["output_config"]) is effort


@pytest.mark.parametrize(
    ("model", "own", "limit", "effort"),
    [
        ("gpt-5-mini", True, "max_completion_tokens", True),
        ("o3", True, "max_completion_tokens", True),
        ("gpt-4o-mini", True, "max_completion_tokens", False),
        ("gpt-5-mini", False, "max_tokens", False),
    ],
)
def test_openais_own_api_gets_its_own_parameters(model: str, own: bool, limit: str, effort: bool) -> None:
    asked = OpenAI(model, source=None, own=own)._asked("rules", "input", 9)  # type: ignore[arg-type]
    assert asked[limit] == 9
    assert ("reasoning_effort" in asked) is effort


COMPLAINT = {
    "error": {"type": "invalid_request_error", "message": "output_config.effort: not supported; response_format"}
}


@pytest.mark.parametrize("wire", WIRES)
async def test_a_parameter_that_a_server_does_not_know_is_left_out_from_the_next_call_on(wire: str) -> None:
    with ScriptedServer(Status(400, body=COMPLAINT), VALUE) as server:
        async with opened(wire, server) as llm:
            with pytest.raises(LLMUnavailable, match=r"does not know .*: asked otherwise from the next call on"):
                await llm(PROMPT)
            assert (await llm(PROMPT)).value == VALUE
    first, second = server.requests
    left_out = "response_format" if wire == "openai" else "effort"
    assert left_out in json.dumps(first.body)
    assert left_out not in json.dumps(second.body)
    assert wire == "anthropic" or "fits this schema" in second.body["messages"][0]["content"]


def known(status: int) -> str:
    return rf"\({status}\)"


STATUSES = (400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529, 418)
FAULTS: dict[str, tuple[Any, type[LLMError], str]] = {
    **{str(status): (status, LLMUnavailable, known(status)) for status in STATUSES if status != 418},
    "unheard of": (418, LLMUnavailable, "status 418"),
    "429 with a wait": (Status(429, {"retry-after": "30"}), LLMUnavailable, r"\(429\).*asks to wait 30 s"),
    "429 with junk": (Status(429, {"retry-after": SECRET}), LLMUnavailable, r"\(429\)"),
    "quota": (Status(429, body={"error": {"code": "insufficient_quota"}}), LLMUnavailable, "insufficient_quota"),
    "filtered": (Status(400, body={"error": {"code": "content_filter"}}), LLMRefused, "content filter"),
    "redirect": (Fault.REDIRECT_LOOP, LLMUnavailable, r"redirects to another address \(307\)"),
    "html": (Fault.HTML, LLMUnavailable, "sent a web page"),
    "content type": (Fault.WRONG_CONTENT_TYPE, LLMUnreadable, "not UTF-8 .image/png"),
    "charset": (Fault.WRONG_CHARSET, LLMUnreadable, "not UTF-8 .application/json"),
    "nothing": (Fault.EMPTY_BODY, LLMUnreadable, "is not JSON"),
    "a list": (Fault.NOT_AN_OBJECT, LLMUnreadable, "not an object"),
    "another api": (Status(200, body={"data": []}), LLMUnreadable, "sent no message"),
    "an error at 200": (Status(200), LLMUnavailable, "error under status 200"),
    "bomb": (Fault.GZIP_BOMB, LLMUnreadable, "sent a packed body of more than 524,288 bytes"),
    "endless": (Fault.ENDLESS_BODY, LLMUnreadable, "sent more than 524,288 bytes"),
    "headers": (Fault.ENDLESS_HEADERS, LLMUnavailable, "sent headers without end"),
    "broken gzip": (Fault.BROKEN_GZIP, LLMUnreadable, "does not unpack"),
    "close": (Fault.CLOSE_AT_ONCE, LLMUnavailable, "closed the connection without a reply"),
    "close half way": (Fault.CLOSE_HALF_WAY, LLMUnavailable, "before its reply was whole"),
    "reset half way": (
        Fault.RESET_HALF_WAY,
        LLMUnavailable,
        "reset the connection half way|before its reply was whole",
    ),
    "no http": (Fault.NOT_HTTP, LLMUnavailable, "that is not HTTP"),
    "hang": (
        Fault.HANG_BEFORE_HEADERS,
        LLMTimeout,
        "did not answer within 0.3 s and was cut before its headers were whole",
    ),
    "hang after headers": (
        Fault.HANG_AFTER_HEADERS,
        LLMTimeout,
        "did not answer within 0.3 s and was cut after its headers",
    ),
    "drip": (Fault.DRIP_BODY, LLMTimeout, "did not answer within 0.3 s"),
    "trickle": (Fault.TRICKLE_HEADERS, LLMTimeout, "did not answer within 0.3 s"),
    "length": (Says('{"searches": ["a"', "length"), LLMUnreadable, "ended for length"),
    "whole but for length": (Says(json.dumps(VALUE), "length"), LLMUnreadable, "ended for length"),
    "refusal": (Says("I cannot", "refusal"), LLMRefused, "declined to answer"),
    "filter": (Says("", "filter"), LLMRefused, "declined|content filter"),
    "empty": ("", LLMUnreadable, "the reply is empty"),
    "prose": ("Sure, here you go!", LLMUnreadable, "not JSON"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("turn", "kind", "says"), FAULTS.values(), ids=FAULTS.keys())
async def test_every_fault_is_named_and_tells_no_secret(
    wire: str, turn: Any, kind: type[LLMError], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    seconds = 0.3 if kind is LLMTimeout else 5.0
    with ScriptedServer(turn) as server:
        async with opened(wire, server, seconds) as llm:
            with pytest.raises(LLMError, match=says) as caught:
                await llm(PROMPT)
    assert type(caught.value) is kind
    assert len(server.requests) == 1  # nothing is asked twice on the asker's time
    told = str(caught.value) + caplog.text + repr(llm)
    assert SECRET not in told
    assert QUESTION not in told


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:{closed}", "refused the connection"),
        ("https://127.0.0.1:{port}", "TLS handshake"),
        ("http://no-such-host.invalid", "host name that nobody knows"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_told_apart(wire: str, url: str, says: str) -> None:
    with ScriptedServer(VALUE) as server:
        probe = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        closed = probe.sockets[0].getsockname()[1]
        probe.close()
        await probe.wait_closed()
        llm = open_llm(f"{wire}:m@{url.format(closed=closed, port=server.port)}", seconds=10)
        with pytest.raises(LLMUnavailable, match=says):
            await llm(PROMPT)
        await close(llm)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_hanging_tls_handshake_is_cut_and_closed(wire: str) -> None:
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()
        gone.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    llm = open_llm(f"{wire}:m@https://127.0.0.1:{port}", seconds=0.3)
    await warm(llm)
    began = asyncio.get_running_loop().time()
    with pytest.raises(LLMTimeout):
        await llm(PROMPT)
    took = asyncio.get_running_loop().time() - began
    await asyncio.wait_for(gone.wait(), 1)
    await close(llm)
    server.close()
    assert took < 0.6


@pytest.mark.parametrize("wire", WIRES)
async def test_a_writer_streams_text_in_pieces(wire: str) -> None:
    text = "The limit is 25 miles per hour [46.2-874]."
    with ScriptedServer(text) as server:
        writer = open_writer(spec(wire, server))
        pieces = [piece async for piece in writer.stream("Answer from the passages.", "passages and question", 500)]
        await close(writer)
    assert "".join(pieces) == text
    assert len(pieces) > 3
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (Says("half an ans", "length"), LLMUnreadable),
        (Says("No.", "refusal"), LLMRefused),
        (401, LLMUnavailable),
        (Fault.CLOSE_HALF_WAY, LLMError),
    ],
)
async def test_a_writer_that_does_not_finish_raises(wire: str, turn: Any, kind: type[LLMError]) -> None:
    with ScriptedServer(turn) as server:
        writer = open_writer(spec(wire, server))
        with pytest.raises(kind):
            [piece async for piece in writer.stream("rules", "input", 500)]
        await close(writer)


def anthropic_client(url: str) -> Any:
    import anthropic

    return anthropic.AsyncAnthropic(api_key=SECRET, base_url=url)


def openai_client(url: str) -> Any:
    import openai

    return openai.AsyncOpenAI(api_key=SECRET, base_url=url)


@pytest.mark.parametrize(("wire", "make"), [("anthropic", anthropic_client), ("openai", openai_client)])
async def test_a_client_of_ones_own_is_used_and_left_open(wire: str, make: Callable[[str], Any]) -> None:
    with ScriptedServer(VALUE, 500, VALUE) as server:
        client = make(getattr(server, wire))
        llm = open_llm(client, model="mine", seconds=5)
        assert (await llm(PROMPT)).value == VALUE
        with pytest.raises(LLMUnavailable, match="500"):
            await llm(PROMPT)
        await close(llm)
        assert len(server.requests) == 2  # as a side job it retries nothing
        assert (await llm(PROMPT)).value == VALUE
        assert client.max_retries == 2  # what its owner set stands
        await client.close()
    assert server.requests[0].body["model"] == "mine"
    assert SECRET not in repr(llm)


@pytest.mark.parametrize(("wire", "make"), [("anthropic", anthropic_client), ("openai", openai_client)])
async def test_a_bomb_through_a_client_of_ones_own_is_bounded_too(wire: str, make: Callable[[str], Any]) -> None:
    with ScriptedServer(Fault.GZIP_BOMB) as server:
        client = make(getattr(server, wire))
        with pytest.raises(LLMUnreadable, match="sent more than"):
            await open_llm(client, model="mine", seconds=5)(PROMPT)
        await client.close()


@pytest.mark.parametrize("wire", WIRES)
def test_a_wire_keeps_the_contract_of_a_model(wire: str) -> None:
    with ScriptedServer(VALUE) as server, ScriptedServer(500) as broken:
        llm = open_llm(spec(wire, server), seconds=5)
        check_llm(llm, prompt=PROMPT, broken=lambda: open_llm(spec(wire, broken), seconds=5))

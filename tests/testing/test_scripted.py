from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from dragoman import testing
from dragoman.errors import LLMTimeout, LLMUnavailable, LLMUnreadable, RewriteError
from dragoman.protocols import Prompt, Reply
from dragoman.testing import Fault, Says, ScriptedModel, ScriptedServer, Status, check_llm, check_rewriter
from dragoman.testing.faults import bomb
from dragoman.testing.models import PROMPT
from dragoman.types import Rewriting, Search, Usage

VALUE = {"about_the_corpus": True, "searches": ["maximum speed limit"]}


async def test_a_scripted_model_gives_its_turns_and_then_the_last_one() -> None:
    model = ScriptedModel(VALUE, json.dumps(VALUE), LLMTimeout("late"), lambda prompt: {"asked": prompt.name})
    assert (await model(PROMPT)).value == VALUE
    assert (await model(PROMPT)).value == VALUE
    with pytest.raises(LLMTimeout):
        await model(PROMPT)
    for _ in range(2):
        assert (await model(PROMPT)).value == {"asked": "contract"}
    assert model.calls == 5
    assert model.prompts[0] is PROMPT


async def test_a_scripted_model_reads_text_as_a_reply_is_read() -> None:
    with pytest.raises(LLMUnreadable):
        await ScriptedModel("Sure!")(PROMPT)


async def test_a_scripted_model_without_turns_says_so() -> None:
    with pytest.raises(LLMUnavailable, match="script at least one"):
        await ScriptedModel()(PROMPT)


async def test_a_scripted_model_writes_word_by_word() -> None:
    model = ScriptedModel("The limit  is 25.")
    assert [piece async for piece in model.stream("r", "i", 9)] == ["The", " limit", " ", " is", " 25."]


async def raw(server: ScriptedServer, path: str, body: dict[str, Any]) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    sent = json.dumps(body).encode()
    writer.write(f"POST {path} HTTP/1.1\r\nX-Mark: 7\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent)
    try:
        return await asyncio.wait_for(reader.read(1_000_000), 0.3)
    except TimeoutError:
        return b""
    finally:
        writer.close()
        await writer.wait_closed()


async def test_the_server_answers_in_the_format_it_was_asked_in_and_keeps_what_came() -> None:
    with ScriptedServer("hello") as server:
        one = await raw(server, "/v1/messages", {"a": 1})
        two = await raw(server, "/v1/chat/completions", {"b": 2})
    assert json.loads(one.partition(b"\r\n\r\n")[2])["content"] == [{"type": "text", "text": "hello"}]
    assert json.loads(two.partition(b"\r\n\r\n")[2])["choices"][0]["message"]["content"] == "hello"
    assert [(r.path, dict(r.body)) for r in server.requests] == [
        ("/v1/messages", {"a": 1}),
        ("/v1/chat/completions", {"b": 2}),
    ]
    assert server.requests[0].headers["x-mark"] == "7"


async def test_the_server_takes_its_turns_in_order_and_the_last_one_stays() -> None:
    with ScriptedServer(529, Status(429, {"retry-after": "3"}), Says("x", after=0.01)) as server:
        heads = [(await raw(server, "/v1/messages", {})).split(b"\r\n")[0] for _ in range(4)]
        server.script([500])
        heads.append((await raw(server, "/v1/messages", {})).split(b"\r\n")[0])
    assert [head.split()[1] for head in heads] == [b"529", b"429", b"200", b"200", b"500"]


@pytest.mark.parametrize("fault", Fault)
async def test_the_server_commits_every_fault_and_notices_who_left(fault: Fault) -> None:
    with ScriptedServer(fault) as server:
        try:
            answer = await raw(server, "/v1/messages", {})
        except ConnectionResetError:
            answer = b""
        silent = fault in (Fault.HANG_BEFORE_HEADERS, Fault.CLOSE_AT_ONCE)
        for _ in range(100):
            if not server.connections:
                break
            await asyncio.sleep(0.01)
        assert server.connections == 0
    assert not (silent and answer)
    assert len(server.requests) == 1


def test_the_bomb_is_small_until_it_is_unpacked() -> None:
    assert len(bomb()) < 100_000


class Checks:
    """A model that keeps the contract but for one thing."""

    name = "mine"

    def __init__(self, give: Callable[[Prompt], Any] = lambda prompt: Reply(VALUE)) -> None:
        self.give = give

    async def __call__(self, prompt: Prompt) -> Reply:
        await asyncio.sleep(0)
        given: Reply = self.give(prompt)
        return given


def raising(error: Exception) -> Callable[[Prompt], Any]:
    def give(prompt: Prompt) -> Any:
        raise error

    return give


class Leaves(Checks):
    async def __call__(self, prompt: Prompt) -> Reply:
        self.task = asyncio.create_task(asyncio.sleep(30))
        await asyncio.sleep(0.01)
        self.task.cancel()
        return Reply(VALUE)


class Swallows(Checks):
    async def __call__(self, prompt: Prompt) -> Reply:
        for _ in range(2):
            try:
                await asyncio.sleep(0.002)
            except asyncio.CancelledError:
                await asyncio.sleep(1.2)
        return Reply(VALUE)


class Plain:
    name = "plain"

    def __call__(self, prompt: Prompt) -> Reply:
        return Reply(VALUE)


@pytest.mark.parametrize(
    ("llm", "says"),
    [
        (Checks(lambda p: VALUE), "gave a dict, not a Reply"),
        (Checks(lambda p: Reply({"searches": "a"})), "another shape than its schema"),
        (Checks(lambda p: Reply(VALUE, Usage(-1, 0))), "below 0"),
        (Checks(raising(LLMTimeout("late"))), "raised LLMTimeout: late; expected a Reply"),
        (Leaves(), "left 2 tasks behind"),
        (Swallows(), "still runs a second later"),
        (Plain(), "asked with a coroutine"),
        (object(), "has a `name` and is called"),
    ],
)
def test_a_model_that_breaks_the_contract_is_told_how(llm: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_llm(llm)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Checks(raising(OSError("down"))), "raised OSError; map it to an LLMError"),
        (Checks(raising(LLMUnavailable(f"could not answer {PROMPT.input}"))), "quotes the question"),
        (Checks(raising(LLMUnavailable(""))), "without a message"),
        (Checks(), "failure is an exception"),
    ],
)
def test_a_model_that_fails_wrongly_is_told_how(broken: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_llm(Checks(), broken=lambda: broken)


def test_a_model_that_keeps_the_contract_passes() -> None:
    check_llm(ScriptedModel(VALUE), broken=lambda: ScriptedModel(LLMUnavailable("down")))


class Step:
    """A rewriter made of a function."""

    name = "mine"

    def __init__(self, do: Callable[[Rewriting], Any]) -> None:
        self.do = do

    def __call__(self, rewriting: Rewriting) -> Rewriting | Awaitable[Rewriting]:
        given: Rewriting | Awaitable[Rewriting] = self.do(rewriting)
        return given


async def waits(rewriting: Rewriting) -> Rewriting:
    await asyncio.sleep(0)
    return rewriting.add([Search("from a model", "mine")])


def declines(rewriting: Rewriting) -> Rewriting:
    raise RewriteError("did not answer")


@pytest.mark.parametrize("do", [lambda r: r, waits, declines, lambda r: r.rewrite(r.query.upper() or r.query)])
def test_a_rewriter_that_keeps_the_contract_passes(do: Any) -> None:
    check_rewriter(Step(do))


COUNT = iter(range(1_000_000))


def fails(rewriting: Rewriting) -> Rewriting:
    raise KeyError("x")


def mute(rewriting: Rewriting) -> Rewriting:
    raise RewriteError


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (fails, "raised KeyError: 'x'; only RewriteError may leave it"),
        (mute, "without a message"),
        (lambda r: "text", "gave a str, not a Rewriting"),
        (lambda r: Rewriting.of("another"), "changed the question"),
        (lambda r: replace(r, rewritten=" "), "the query is blank"),
        (lambda r: r.rewrite(f"{next(COUNT)}"), "twice gave two rewritings"),
        (lambda r: replace(r, searches=()), "lost or moved searches"),
        (lambda r: replace(r, steps=(*r.steps, None)), "the chain keeps the record"),
    ],
)
def test_a_rewriter_that_breaks_the_contract_is_told_how(do: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_rewriter(Step(do))


def test_the_face_names_all_it_gives() -> None:
    assert all(hasattr(testing, name) for name in testing.__all__)
    assert isinstance(Reply(VALUE), Reply)

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman.errors import LLMError, LLMRefused, LLMTimeout, LLMUnavailable, LLMUnreadable
from dragoman.llm.callable import MOST_THREADS, Called
from dragoman.llm.open import open_llm, open_writer
from dragoman.protocols import Prompt, Reply
from dragoman.testing import check_llm

SCHEMA = {"type": "object", "properties": {"searches": {"type": "array", "items": {"type": "string"}}}}
PROMPT = Prompt("p", "the rules", "the input", SCHEMA)
VALUE = {"searches": ["a"]}


def plain(rules: str, given: str) -> str:
    assert (rules, given) == ("the rules", "the input")
    return '```json\n{"searches": ["a"]}\n```'


async def coroutine(rules: str, given: str) -> dict[str, Any]:
    return VALUE


class Method:
    async def __call__(self, rules: str, given: str) -> Any:
        return Reply(VALUE)


@pytest.mark.parametrize("function", [plain, coroutine, Method(), lambda rules, given: coroutine(rules, given)])
async def test_any_callable_is_a_model(function: Any) -> None:
    assert (await open_llm(function)(PROMPT)).value == VALUE


async def test_a_plain_function_runs_in_a_daemon_thread() -> None:
    seen: list[bool] = []

    def function(rules: str, given: str) -> str:
        seen.append(threading.current_thread().daemon)
        return "{}"

    await Called(function)(PROMPT)
    assert seen == [True]


async def test_as_many_calls_as_there_are_threads_may_be_made_again_and_again() -> None:
    called = Called(lambda rules, given: "{}")
    for _ in range(20):
        replies = await asyncio.gather(*(called(PROMPT) for _ in range(MOST_THREADS)))
        assert [reply.value for reply in replies] == [{}] * MOST_THREADS


def fails(error: BaseException) -> Any:
    def function(rules: str, given: str) -> str:
        raise error

    return function


@pytest.mark.parametrize(
    ("function", "kind", "says"),
    [
        (lambda r, i: {"searches": "a b"}, LLMUnreadable, "expected array, found string"),
        (lambda r, i: ["a"], LLMUnreadable, "expected object, found array"),
        (lambda r, i: None, LLMUnreadable, "expected object, found null"),
        (lambda r, i: "no json", LLMUnreadable, "not JSON"),
        (fails(TimeoutError()), LLMTimeout, "gave up waiting"),
        (fails(LLMRefused("mine")), LLMRefused, "mine"),
        (fails(ValueError("the input")), LLMUnavailable, "raised ValueError$"),
        (fails(StopIteration()), LLMUnavailable, "raised"),
        (fails(SystemExit("the input")), LLMUnavailable, "raised RuntimeError$"),
    ],
)
async def test_what_a_callable_does_wrong_becomes_an_error_of_ours(
    function: Any, kind: type[LLMError], says: str
) -> None:
    with pytest.raises(LLMError, match=says) as caught:
        await Called(function, "mine")(PROMPT)
    assert type(caught.value) is kind
    assert "the input" not in str(caught.value)


async def pieces(rules: str, given: str) -> AsyncIterator[str]:
    yield "one "
    yield "two"


async def broken(rules: str, given: str) -> AsyncIterator[str]:
    yield "one "
    raise ValueError("secret")


@pytest.mark.parametrize(("function", "expected"), [(lambda r, i: "one two", ["one two"]), (pieces, ["one ", "two"])])
async def test_a_callable_writes_text_at_once_or_in_pieces(function: Any, expected: list[str]) -> None:
    assert [piece async for piece in open_writer(function).stream("r", "i", 9)] == expected


async def test_a_callable_that_breaks_off_raises_an_error_of_ours() -> None:
    with pytest.raises(LLMUnavailable, match="raised ValueError"):
        [piece async for piece in open_writer(broken).stream("r", "i", 9)]
    with pytest.raises(LLMUnreadable, match="an answer is text"):
        [piece async for piece in open_writer(coroutine).stream("r", "i", 9)]


def test_a_callable_keeps_the_contract_of_a_model() -> None:
    for function in (plain, coroutine):
        check_llm(Called(function), prompt=PROMPT, broken=lambda: Called(fails(OSError("the input"))))

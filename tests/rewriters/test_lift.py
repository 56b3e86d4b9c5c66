"""Lifting: functions, coroutines and objects with a method become rewriters; nothing they do escapes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable

import pytest

from dragoman.errors import LLMRefused, RewriteError
from dragoman.protocols import Rewriter
from dragoman.rewriters.chain import Chain
from dragoman.rewriters.lift import lift
from dragoman.types import Outcome, Rewriting, Search

ASKED = Rewriting.of("how fast may I go")


async def result(rewriter: Rewriter, rewriting: Rewriting = ASKED) -> Rewriting:
    given = rewriter(rewriting)
    return await given if isinstance(given, Awaitable) else given


def shout(text: str) -> str:
    return text.upper()


def test_a_function_to_text_rewrites_the_query_and_keeps_its_own_name() -> None:
    lifted = lift(shout)
    after = lifted(ASKED)
    assert isinstance(after, Rewriting)
    assert (lifted.name, after.rewritten, after.question.text) == ("shout", "HOW FAST MAY I GO", ASKED.question.text)


def test_a_function_is_given_what_the_step_before_it_wrote() -> None:
    after = Chain([lift(shout), lift(lambda text: text + "!", name="bang")])(ASKED)
    assert isinstance(after, Rewriting)
    assert after.query == "HOW FAST MAY I GO!"


def test_a_function_to_a_list_adds_searches_with_its_origin() -> None:
    after = lift(lambda _: ["maximum speed", "  ", "speed limit"], name="mine", origin="experts")(ASKED)
    assert isinstance(after, Rewriting)
    assert after.searches == (Search("maximum speed", "experts"), Search("speed limit", "experts"))
    assert after.query == ASKED.query


def test_a_text_is_never_split_into_letters() -> None:
    after = lift(lambda _: "abc", name="letters")(ASKED)
    assert isinstance(after, Rewriting)
    assert (after.query, after.searches) == ("abc", ())


def test_searches_among_the_texts_are_taken_as_they_are() -> None:
    search = Search("maximum speed", "mine", 0.5, (("speed", 2.0),))
    after = lift(lambda _: (search, "limit"), name="f")(ASKED)
    assert isinstance(after, Rewriting)
    assert after.searches == (search, Search("limit", "f"))


@pytest.mark.parametrize("given", [None, "", "   ", [], ()])
def test_nothing_changes_nothing(given: object) -> None:
    after = Chain([lift(lambda _: given, name="f")])(ASKED)
    assert isinstance(after, Rewriting)
    assert (after.query, after.searches, after.steps[0].outcome) == (ASKED.query, (), Outcome.UNCHANGED)


@pytest.mark.parametrize(
    ("given", "named"), [(7, "int"), (b"x", "bytes"), ({"a": 1}, "dict"), (["a", 3], "int"), (["a", None], "NoneType")]
)
def test_another_value_is_an_error_that_names_what_came(given: object, named: str) -> None:
    with pytest.raises(RewriteError, match=rf"mine returned .*{named}.*expected a text"):
        lift(lambda _: given, name="mine")(ASKED)


def broken(text: str) -> str:
    raise KeyError(text)


async def broken_later(text: str) -> str:
    raise KeyError(text)


@pytest.mark.parametrize("thing", [broken, broken_later])
@pytest.mark.parametrize("blocking", [False, True])
async def test_what_it_raises_is_a_rewrite_error_with_its_cause(thing: object, blocking: bool) -> None:
    with pytest.raises(RewriteError, match="raised KeyError") as caught:
        await result(lift(thing, blocking=blocking))
    assert isinstance(caught.value.__cause__, KeyError)


async def test_a_rewrite_error_of_its_own_keeps_its_kind() -> None:
    def refuse(text: str) -> str:
        raise LLMRefused("not this one")

    with pytest.raises(LLMRefused, match="not this one"):
        await result(lift(refuse))


async def test_a_coroutine_function_is_awaited() -> None:
    async def later(text: str) -> list[str]:
        await asyncio.sleep(0)
        return [text + " law"]

    assert (await result(lift(later))).searches == (Search("how fast may I go law", "later"),)


class Service:
    def rewrite(self, question: str) -> str:
        return question + " please"


class SlowService:
    async def rewrite(self, question: str) -> str:
        return question + " later"


async def test_an_object_with_a_rewrite_method_is_lifted_plain_or_async() -> None:
    assert (await result(lift(Service()))).query == "how fast may I go please"
    lifted = lift(SlowService())
    assert (lifted.name, (await result(lifted)).query) == ("SlowService", "how fast may I go later")


def test_a_rewriter_is_returned_as_it_is() -> None:
    lifted = lift(shout)
    assert lift(lifted) is lifted


@pytest.mark.parametrize("thing", [7, "text", object(), Service])
def test_what_is_no_rewriter_is_said_at_once(thing: object) -> None:
    with pytest.raises(TypeError, match=r"give (a function|an object)"):
        lift(thing)


async def test_a_blocking_function_runs_beside_the_loop_and_can_be_left_at_a_deadline() -> None:
    held = threading.Event()

    def wait(text: str) -> str:
        held.wait(5)
        return text

    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await result(lift(wait, blocking=True))
    took = time.perf_counter() - began
    held.set()
    await asyncio.sleep(0.02)
    assert took < 2


async def test_a_blocking_function_answers_from_another_thread() -> None:
    after = await result(lift(lambda _: threading.current_thread().name, name="f", blocking=True))
    assert after.query != threading.current_thread().name

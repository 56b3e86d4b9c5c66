"""Events: told in order, tied together, and harmless."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dragoman.dragoman import Dragoman
from dragoman.errors import QuestionError, RetrievalError
from dragoman.rewriters.prompted import Prompted
from dragoman.telemetry import KINDS, Event, Events, called, here, inside, told
from dragoman.testing import ScriptedModel
from dragoman.testing.models import PROMPT
from dragoman.types import Answer, Hit, Metadata, Ranking, Search

GOOD = {"about_corpus": True, "searches": ["maximum speed"]}


class Words:
    """One hit for everything, or none at all."""

    name = "words"

    def __init__(self, down: bool = False) -> None:
        self.down = down

    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        await asyncio.sleep(0)
        if self.down:
            raise RetrievalError("refused")
        return Ranking(search, self.name, (Hit("s1", 1.0, text="maximum speed"),))


def hall(*listeners: object, model: ScriptedModel | None = None, down: bool = False) -> Dragoman:
    steps = [Prompted("rephrase", model or ScriptedModel(GOOD))]
    return Dragoman([Words(down)], steps, writer=ScriptedModel("So [s1]."), listeners=listeners)  # type: ignore[arg-type]


def tree(heard: list[Event]) -> set[str]:
    """Each thing that began, under what it began in."""
    names = {0: ""}
    for event in heard:
        if event.name.endswith(".start"):
            kind = event.name.removesuffix(".start")
            names[event.attributes["id"]] = f"{names[event.attributes['within']]}/{kind}"
    return set(names.values()) - {""}


async def test_a_plain_callable_hears_the_whole_journey_as_a_tree() -> None:
    heard: list[Event] = []
    await hall(heard.append).aask("how fast")
    assert tree(heard) == {
        "/answer",
        "/answer/llm",
        "/answer/question",
        "/answer/question/ranking",
        "/answer/question/step",
        "/answer/question/step/llm",
    }


async def test_every_kind_that_is_listed_is_told_of_and_no_other() -> None:
    heard: list[Event] = []
    asked = hall(heard.append)
    await asked.aask("how fast")
    await asked.arewrite("how fast")
    assert {event.name.split(".")[0] for event in heard} == set(KINDS)


@pytest.mark.parametrize("down", [False, True])
async def test_whatever_begins_ends_once(down: bool) -> None:
    heard: list[Event] = []
    model = ScriptedModel(GOOD, after=0.01)
    results = await asyncio.gather(
        *(hall(heard.append, model=model, down=down).aask("q") for _ in range(5)), return_exceptions=True
    )
    assert all(isinstance(result, RetrievalError if down else Answer) for result in results)
    began = [event.attributes["id"] for event in heard if event.name.endswith(".start")]
    ended = [event.attributes["id"] for event in heard if event.name.endswith((".stop", ".exception", ".cut"))]
    assert sorted(began) == sorted(ended)
    assert all(event.attributes["seconds"] >= 0 for event in heard if not event.name.endswith(".start"))


async def test_an_end_says_again_what_the_start_said() -> None:
    heard: list[Event] = []
    await hall(heard.append).asearch("how fast")
    by_id = {event.attributes["id"]: event.attributes for event in heard if event.name.endswith(".start")}
    for event in heard:
        if event.name.endswith(".stop"):
            start = by_id[event.attributes["id"]]
            assert set(start) - {"within"} <= set(event.attributes)


async def test_a_stream_that_is_left_half_way_is_cut() -> None:
    heard: list[Event] = []
    stream = hall(heard.append).astream("how fast")
    await anext(stream)
    await stream.aclose()
    assert [event.name for event in heard][-1] == "answer.cut"
    assert "llm.cut" in {event.name for event in heard}


async def test_what_cannot_be_asked_was_never_a_question() -> None:
    heard: list[Event] = []
    for ask in (hall(heard.append).asearch, hall(heard.append).aask, hall(heard.append).arewrite):
        with pytest.raises(QuestionError):
            await ask(" ")
    assert heard == []


class Harmful:
    """Raises wherever it can."""

    def __call__(self, event: Event) -> None:
        raise RuntimeError("my own fault")

    @contextmanager
    def inside(self, id: int) -> Iterator[None]:
        try:
            yield
        finally:
            raise RuntimeError("my own fault")


async def test_a_listener_that_raises_anywhere_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Event] = []
    given = await hall(Harmful(), heard.append).aask("how fast")
    assert given.found
    assert {event.name for event in heard} >= {"question.start", "answer.stop"}
    assert "an event listener failed" in caplog.text


async def test_nothing_is_left_of_what_went_on() -> None:
    heard: list[Event] = []
    with told(Events((heard.append,)), "question") as known:
        assert here() is not None
        known["result"] = "found"
    assert here() is None
    assert heard[-1].attributes["result"] == "found"
    with inside(None):
        assert here() is None


async def test_a_model_called_outside_of_any_question_tells_nobody() -> None:
    reply = await called(ScriptedModel(GOOD), PROMPT)
    assert reply.value == GOOD

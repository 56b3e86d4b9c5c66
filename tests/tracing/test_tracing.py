"""Spans and metrics are what the table, and so the docs, say."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from dragoman.dragoman import Dragoman, Settings
from dragoman.errors import DragomanError, LLMTimeout, MissingExtraError, RetrievalError
from dragoman.protocols import Prompt, Reply, Retriever, Rewriter
from dragoman.rewriters.chain import Together
from dragoman.rewriters.prompted import Prompted
from dragoman.search import current_pool
from dragoman.testing import ScriptedModel
from dragoman.tracing import Tracing, from_environment
from dragoman.tracing.reference import events_reference, metrics_reference, spans_reference
from dragoman.tracing.setup import VARIABLE
from dragoman.tracing.table import METRICS, SPANS
from dragoman.types import Answer, Hit, Message, Metadata, Question, Ranking, Rewriting, RuleHit, Search, Usage

PAGE = Path(__file__).parents[2] / "docs" / "telemetry.md"
SECRET = "xylophone"  # stands in questions and replies; nowhere in a span unless content is on
TYPES = {"string": str, "boolean": bool, "int": int, "string[]": tuple}
GOOD = {"about_corpus": True, "searches": [f"maximum speed {SECRET}"]}


@dataclass
class Adapter:
    """An engine somewhere else."""

    table: str = "passages"
    url: str = "postgresql://user:secret@engine.test:5433/database"


Adapter.__module__ = "dragoman.retrievers.postgres"


@dataclass
class Words:
    """One hit for everything; late, down, or of a remote engine on demand."""

    name: str = "words"
    inline: bool = False
    seconds: float = 0.0
    error: Exception | None = None
    engine: Any = field(default_factory=Adapter)

    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        with trace.get_tracer("driver").start_as_current_span("SELECT"):
            await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return Ranking(search, self.name, (Hit("s1", 1.0, "Speed", f"maximum speed {SECRET}"),))


@dataclass
class Inline:
    """In this process."""

    name: str = "inline"
    inline: bool = True

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        return Ranking(search, self.name, (Hit("s1", 1.0, text="t"),))


@dataclass
class Local:
    """A local step whose rule bites, or that settles the question."""

    name: str = "rules"
    settled: str = ""

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        import dataclasses

        done = rewriting.rewrite(f"{rewriting.query} said").note(RuleHit("noise", SECRET), f"because of {SECRET}")
        return dataclasses.replace(done, settled=self.settled)


@dataclass
class Feedback:
    """Searches by itself, as a step may."""

    name: str = "feedback"

    async def __call__(self, rewriting: Rewriting) -> Rewriting:
        pool = current_pool()
        if pool is None:
            return rewriting
        await pool.rankings([Search(f"{rewriting.query} again", self.name)])
        return rewriting.add([Search(f"{rewriting.query} again", self.name)])


class Traced:
    """Providers in memory, and what they were told."""

    def __init__(self, content: bool = False) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.listener = Tracing(content, tracer_provider=self.provider, meter_provider=self.meters)

    def hall(self, *rewriters: Rewriter, retrievers: Sequence[Retriever] = (), **given: Any) -> Dragoman:
        return Dragoman(retrievers or [Words()], rewriters, listeners=[self.listener], **given)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def one(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def parent(self, span: ReadableSpan) -> ReadableSpan | None:
        return next((s for s in self.spans if span.parent and s.context.span_id == span.parent.span_id), None)

    def path(self, span: ReadableSpan) -> str:
        above = self.parent(span)
        return f"{self.path(above)} > {span.name}" if above else span.name

    def points(self) -> dict[str, list[tuple[Mapping[str, Any], Any]]]:
        data = self.reader.get_metrics_data()
        found: dict[str, list[tuple[Mapping[str, Any], Any]]] = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] = [(dict(p.attributes or {}), p) for p in metric.data.data_points]
        return found


@pytest.fixture
def traced() -> Iterator[Traced]:
    made = Traced()
    yield made
    made.meters.shutdown()


@pytest.fixture
def verbose() -> Iterator[Traced]:
    made = Traced(content=True)
    yield made
    made.meters.shutdown()


def model(*turns: Any, name: str = "openai:small@http://model.test:8000/v1", after: float = 0.0) -> ScriptedModel:
    return ScriptedModel(*(turns or (GOOD,)), name=name, after=after, usage=Usage(120, 9))


def rephrase(llm: Any) -> Prompted:
    return Prompted("rephrase", llm)


def kind_of(span: ReadableSpan) -> str:
    first = span.name.split(" ")[0]
    return next(kind for kind, row in SPANS.items() if row.name == first)


async def everything(traced: Traced) -> None:
    """Questions in which every attribute of the table comes up."""
    talk = Question(f"and {SECRET}?", history=(Message("user", f"about {SECRET}"),))
    writer = model(f"It is so {SECRET} [s1].", name="anthropic:writes")
    good = traced.hall(Local(), rephrase(model()), Feedback(), retrievers=[Words(), Inline()], writer=writer)
    await good.aask(talk)
    await good.arewrite(talk)
    with pytest.raises(RetrievalError):
        await traced.hall(
            Local(settled="enough"),
            rephrase(model(LLMTimeout(SECRET))),
            retrievers=[Words(error=RetrievalError(SECRET))],
        ).aask(talk)
    broken = traced.hall(rephrase(model(ZeroDivisionError(SECRET))))
    for ask in (broken.asearch, broken.arewrite):
        with pytest.raises(ZeroDivisionError):
            await ask(talk)
    hanging = traced.hall(rephrase(model(after=60)), retrievers=[Words(seconds=60)])
    for cut in (hanging.aask(talk), hanging.arewrite(talk)):
        task = asyncio.create_task(cut)
        await asyncio.sleep(0.05)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    unwritten = traced.hall(writer=model(LLMTimeout(SECRET), name="anthropic:writes"))
    await unwritten.aask(talk)


@pytest.mark.parametrize("kind", SPANS)
async def test_spans_hold_what_the_table_lists_and_nothing_else(kind: str, verbose: Traced) -> None:
    await everything(verbose)
    spans = [span for span in verbose.spans if span.name != "SELECT" and kind_of(span) == kind]
    found = {name: value for span in spans for name, value in (span.attributes or {}).items()}
    listed = {each.name: each for each in SPANS[kind].attributes}
    assert sorted(found) == sorted(listed)
    for name, value in found.items():
        assert type(value) is TYPES[listed[name].type], name


async def test_metrics_are_those_of_the_table_with_its_attributes(traced: Traced) -> None:
    await everything(traced)
    found = traced.points()
    assert sorted(found) == sorted(row.name for row in METRICS)
    for row in METRICS:
        seen = {name for attributes, _ in found[row.name] for name in attributes}
        assert seen == set(row.by), row.name
        if row.bounds:
            assert found[row.name][0][1].explicit_bounds == row.bounds


async def test_without_content_no_word_of_anybodys_leaves(traced: Traced) -> None:
    await everything(traced)
    said = [span.to_json() for span in traced.spans] + [repr(traced.points())]
    assert [text for text in said if SECRET in text or "secret" in text] == []
    content = {each.name for row in SPANS.values() for each in row.attributes if each.content}
    assert {name for span in traced.spans for name in span.attributes or {}} & content == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("events", events_reference()), ("spans", spans_reference()), ("metrics", metrics_reference())],
)
def test_the_page_is_made_of_the_table(name: str, expected: str) -> None:
    text = PAGE.read_text("utf-8")
    held = text.split(f"<!-- {name} -->")[1].split(f"<!-- /{name} -->")[0].strip()
    assert held == expected, f"put this between the marks in {PAGE.name}:\n\n{expected}"


async def test_spans_nest_as_the_work_does(traced: Traced) -> None:
    hall = traced.hall(Local(), Together([rephrase(model())]), Feedback(), writer=model("So [s1].", name="w:writes"))
    with traced.provider.get_tracer("web").start_as_current_span("GET /"):
        await hall.aask("how fast")
    paths = {traced.path(span) for span in traced.spans}
    assert {
        "GET / > answer > question > step rules",
        "GET / > answer > question > step rephrase > chat small",
        "GET / > answer > question > step feedback > search passages",
        "GET / > answer > question > search passages",
        "GET / > answer > chat writes",
    } <= paths
    assert len({span.context.trace_id for span in traced.spans}) == 1


async def test_what_a_driver_traces_by_itself_is_inside_the_ranking(
    traced: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "get_tracer", lambda name: traced.provider.get_tracer(name))
    await traced.hall().asearch("how fast")
    assert traced.path(traced.one("SELECT")) == "question > search passages > SELECT"


async def test_questions_side_by_side_keep_their_spans_apart(traced: Traced) -> None:
    hall = traced.hall(rephrase(model(after=0.01)), Feedback(), retrievers=[Words(seconds=0.005)])
    await asyncio.gather(*(hall.asearch(f"question {number}") for number in range(20)))
    questions = [span for span in traced.spans if span.name == "question"]
    assert len({span.context.trace_id for span in questions}) == 20
    for question in questions:
        mine = sorted(s.name for s in traced.spans if s.context.trace_id == question.context.trace_id)
        assert mine == [
            "chat small",
            "question",
            *["search passages"] * 3,
            "step feedback",
            "step rephrase",
        ]


async def test_nothing_stays_open_and_nothing_stays_current(traced: Traced) -> None:
    await everything(traced)
    assert traced.listener._open == {}
    assert not trace.get_current_span().get_span_context().is_valid


def test_the_synchronous_face_nests_too_and_leaves_the_callers_span_current(traced: Traced) -> None:
    hall = traced.hall(Local(), rephrase(model()))
    with traced.provider.get_tracer("script").start_as_current_span("script") as outer:
        hall.rewrite("how fast")
        hall.search("how fast")
        assert trace.get_current_span() is outer
    paths = {traced.path(span) for span in traced.spans}
    assert "script > rewriting > step rephrase > chat small" in paths
    assert "script > question > step rephrase > chat small" in paths


async def test_a_stream_leaves_the_consumers_span_current_between_its_pieces(traced: Traced) -> None:
    hall = traced.hall(writer=model("It is so, and so, and so [s1].", name="w:writes"))
    with traced.provider.get_tracer("web").start_as_current_span("web") as outer:
        pieces = []
        async for piece in hall.astream("how fast"):
            assert trace.get_current_span() is outer
            pieces.append(piece)
    assert isinstance(pieces[-1], Answer)
    assert traced.path(traced.one("chat writes")) == "web > answer > chat writes"
    assert traced.path(traced.one("question")) == "web > answer > question"


async def test_a_model_call_follows_the_genai_conventions(verbose: Traced) -> None:
    await verbose.hall(rephrase(model())).arewrite("how fast")
    span = verbose.one("chat small")
    held = dict(span.attributes or {})
    assert span.kind is SpanKind.CLIENT
    told = {name: held[name] for name in held if name.startswith(("gen_ai.op", "gen_ai.pr", "gen_ai.u", "server"))}
    assert told == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.prompt.name": "rephrase",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 9,
        "server.address": "model.test",
        "server.port": 8000,
    }
    (message,) = json.loads(str(held["gen_ai.output.messages"]))
    assert message["role"] == "assistant"
    assert json.loads(message["parts"][0]["content"]) == GOOD
    assert json.loads(str(held["gen_ai.input.messages"]))[0]["role"] == "user"


async def test_a_ranking_follows_the_database_conventions(traced: Traced) -> None:
    await traced.hall(retrievers=[Words(), Inline()]).asearch("how fast")
    remote, local = traced.one("search passages"), traced.one("search")
    assert (remote.kind, local.kind) == (SpanKind.CLIENT, SpanKind.INTERNAL)
    assert dict(remote.attributes or {}) == {
        "db.system.name": "postgresql",
        "db.operation.name": "search",
        "db.collection.name": "passages",
        "db.response.returned_rows": 1,
        "dragoman.retriever.name": "words",
        "dragoman.search.origin": "question",
        "server.address": "engine.test",
        "server.port": 5433,
    }


async def test_what_failed_is_an_error_and_what_was_handled_is_none_above_it(traced: Traced) -> None:
    down = Words(name="down", error=RetrievalError("refused"))
    await traced.hall(rephrase(model(LLMTimeout("late"))), retrievers=[Words(), down]).asearch("how fast")
    failed = {span.name: (span.attributes or {})["error.type"] for span in traced.spans if not span.status.is_ok
              and span.status.status_code is StatusCode.ERROR}  # fmt: skip
    assert failed == {"step rephrase": "LLMTimeout", "chat small": "LLMTimeout", "search passages": "RetrievalError"}
    assert (traced.one("step rephrase").attributes or {})["dragoman.step.outcome"] == "timed_out"
    assert traced.one("question").status.status_code is StatusCode.UNSET


async def test_what_is_cut_is_marked_and_not_measured(traced: Traced) -> None:
    hall = traced.hall(rephrase(model(after=60)), retrievers=[Words(seconds=60)])
    task = asyncio.create_task(hall.asearch("how fast"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ended = {span.name: dict(span.attributes or {}) for span in traced.spans if span.name != "SELECT"}
    assert sorted(ended) == ["chat small", "question", "search passages", "step rephrase"]
    assert all(held["dragoman.cut"] and "error.type" not in held for held in ended.values())
    assert traced.points() == {}


async def test_a_budget_that_runs_out_is_a_time_out_not_a_cut(traced: Traced) -> None:
    hall = traced.hall(retrievers=[Inline(), Words(seconds=60)], settings=Settings(seconds=0.05))
    await hall.asearch("how fast")
    assert (traced.one("search passages").attributes or {})["error.type"] == "TimeoutError"


async def test_outcomes_and_rules_are_counted(traced: Traced) -> None:
    hall = traced.hall(Local(settled="enough"), rephrase(model()))
    for _ in range(3):
        await hall.asearch("how fast")
    counted = traced.points()
    steps = {(a["dragoman.step.name"], a["dragoman.step.outcome"]): p.value for a, p in counted["dragoman.steps"]}
    assert steps == {("rules", "rewritten"): 3, ("rephrase", "skipped"): 3}
    assert [(a["dragoman.rule"], p.value) for a, p in counted["dragoman.rules"]] == [("noise", 3)]
    assert [(a["dragoman.question.outcome"], p.value) for a, p in counted["dragoman.questions"]] == [("found", 3)]
    assert [p.count for _, p in counted["dragoman.question.duration"]] == [3]


async def test_a_users_own_model_is_traced_by_its_name(traced: Traced) -> None:
    @dataclass
    class Own:
        name: str = "mine"

        async def __call__(self, prompt: Prompt) -> Reply:
            return Reply(GOOD, Usage(), self.name)

    await traced.hall(rephrase(Own())).arewrite("how fast")
    held = traced.one("chat mine").attributes or {}
    assert held["gen_ai.provider.name"] == "other"
    assert "gen_ai.usage.input_tokens" not in held


def test_nothing_is_traced_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert from_environment() == ()


def test_a_switch_that_says_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "yes")
    with pytest.raises(DragomanError, match="expected spans or content"):
        from_environment()


def test_without_opentelemetry_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[otel\]"):
        Tracing()
    monkeypatch.setenv(VARIABLE, "spans")
    with pytest.raises(MissingExtraError, match=r"dragoman\[otel\]"):
        from_environment()

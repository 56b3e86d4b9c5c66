"""What traces and metrics are called and hold, as data: the listener reads it, the docs are made from it.

Names follow OpenTelemetry's conventions for databases (1.44) and for generative AI (a repository of
their own since 0.1); `dragoman.*` where no convention has a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dragoman.tracing import values
from dragoman.tracing.values import Counted, Told, Value, number, of, recorded

# Boundaries in seconds, as each convention gives them; those of steps reach down to a lexicon's microseconds.
DATABASE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
INFERENCE = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
STEPS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a span.

    Attributes:
        of: its value by what the event tells; where None or empty it is not set.
        late: known at the end, not at the start.
        content: somebody's words: set only where content is switched on.
    """

    name: str
    type: str
    about: str
    of: Callable[[Told], Value]
    late: bool = False
    content: bool = False


@dataclass(frozen=True, slots=True)
class SpanRow:
    """The span of one kind of event.

    Attributes:
        name: its fixed part; `target` names the attribute whose value follows.
        client: whether it is a call to another process.
    """

    name: str
    about: str
    attributes: tuple[Attribute, ...]
    target: str = ""
    client: Callable[[Told], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric.

    Attributes:
        kind: of the events that end in it; those that were cut are left out.
        of: what is counted or recorded, each with further attributes.
        by: the span's attributes that it carries, and the further ones.
        bounds: of a histogram, in seconds; empty: it is a counter.
    """

    name: str
    kind: str
    unit: str
    about: str
    of: Callable[[Told], Counted]
    by: tuple[str, ...]
    bounds: tuple[float, ...] = ()


ERROR = Attribute("error.type", "string", "the error's class, when it failed", values.error, late=True)
CUT = Attribute("dragoman.cut", "boolean", "true when nobody waited for its end", values.cut, late=True)
TEXT = Attribute("dragoman.question.text", "string", "the question as asked", of("question", "text"), content=True)
TURNS = Attribute("dragoman.question.turns", "int", "messages before it, in a conversation", values.turns)
HOST = Attribute("server.address", "string", "host, where there is one", values.host)
PORT = Attribute("server.port", "int", "port, where the address names one", values.port)


def _query(*path: str) -> Attribute:
    return Attribute(
        "dragoman.question.query",
        "string",
        "what became of it",
        of(path[0], *path[1:], "query"),
        late=True,
        content=True,
    )


SPANS: Mapping[str, SpanRow] = {
    "answer": SpanRow(
        "answer",
        "a question answered; `question` and the writing model's call are its children",
        (
            TEXT,
            TURNS,
            Attribute("dragoman.answer.found", "boolean", "false: not in the corpus", of("answer", "found"), late=True),
            Attribute(
                "dragoman.answer.quoted", "boolean", "true: no model wrote it", of("answer", "quoted"), late=True
            ),
            Attribute("dragoman.answer.citations", "int", "passages cited", number("answer", "citations"), late=True),
            Attribute("dragoman.answer.text", "string", "the answer", of("answer", "text"), late=True, content=True),
            ERROR,
            CUT,
        ),
    ),
    "question": SpanRow(
        "question",
        "a question rewritten and searched; its steps and rankings are its children",
        (
            TEXT,
            TURNS,
            Attribute(
                "dragoman.question.off_topic", "boolean", "held off-topic", of("result", "rewriting", "off_topic"), True
            ),
            Attribute("dragoman.question.searches", "int", "searches run", number("result", "searches"), late=True),
            Attribute("dragoman.question.hits", "int", "hits given", number("result", "hits"), late=True),
            Attribute(
                "dragoman.question.failures", "int", "searches not answered", number("result", "failures"), late=True
            ),
            _query("result", "rewriting"),
            ERROR,
            CUT,
        ),
    ),
    "rewriting": SpanRow(
        "rewriting",
        "a question rewritten and not searched; its steps are its children",
        (
            TEXT,
            TURNS,
            Attribute("dragoman.question.off_topic", "boolean", "held off-topic", of("rewriting", "off_topic"), True),
            _query("rewriting"),
            ERROR,
            CUT,
        ),
    ),
    "step": SpanRow(
        "step",
        "one rewriter's turn; one that was skipped takes no time",
        (
            Attribute("dragoman.step.name", "string", "the rewriter's", of("rewriter")),
            Attribute(
                "dragoman.step.outcome", "string", "`rewritten`, … as in the glossary", values.outcome, late=True
            ),
            Attribute("dragoman.step.rules", "string[]", "ids of rules that bit", values.rules, late=True),
            Attribute("dragoman.step.before", "string", "the query before", of("rewriting", "query"), content=True),
            Attribute("dragoman.step.after", "string[]", "what it wrote", recorded("after"), late=True, content=True),
            Attribute("dragoman.step.reason", "string", "why", values.reason, late=True, content=True),
            ERROR,
            CUT,
        ),
        target="dragoman.step.name",
    ),
    "llm": SpanRow(
        "chat",
        "one call of a model, within the step or the answer that makes it; hedges included",
        (
            Attribute("gen_ai.operation.name", "string", "`chat`", lambda _: "chat"),
            Attribute("gen_ai.provider.name", "string", "the wire: `anthropic`, `openai`, …", values.provider),
            Attribute("gen_ai.request.model", "string", "the model asked", values.model),
            Attribute("gen_ai.request.max_tokens", "int", "a longer reply is none", of("prompt", "max_tokens")),
            Attribute("gen_ai.request.stream", "boolean", "true: written in pieces", of("streamed")),
            Attribute("gen_ai.output.type", "string", "`json`, or `text` in pieces", values.output),
            Attribute("gen_ai.prompt.name", "string", "the prompt file's", of("prompt", "name")),
            HOST,
            PORT,
            Attribute("gen_ai.response.model", "string", "the model that answered", values.answering_model, late=True),
            Attribute("gen_ai.usage.input_tokens", "int", "tokens in", values.tokens("tokens_in"), late=True),
            Attribute("gen_ai.usage.output_tokens", "int", "tokens out", values.tokens("tokens_out"), late=True),
            Attribute("gen_ai.system_instructions", "string", "the rules, as JSON", values.instructions, content=True),
            Attribute("gen_ai.input.messages", "string", "the input, as JSON", values.given, content=True),
            Attribute(
                "gen_ai.output.messages", "string", "the reply, as JSON", values.replied, late=True, content=True
            ),
            ERROR,
            CUT,
        ),
        target="gen_ai.request.model",
        client=lambda _: True,
    ),
    "ranking": SpanRow(
        "search",
        "one search on one retriever",
        (
            Attribute("db.system.name", "string", "the engine; `dragoman` for the embedded index", values.system),
            Attribute("db.operation.name", "string", "`search`", lambda _: "search"),
            Attribute("db.collection.name", "string", "its table, collection or index", values.collection),
            Attribute("dragoman.retriever.name", "string", "the retriever's", of("retriever")),
            Attribute(
                "dragoman.search.origin", "string", "`question`, or the step that wrote it", of("search", "origin")
            ),
            HOST,
            PORT,
            Attribute("db.response.returned_rows", "int", "hits", number("ranking", "hits"), late=True),
            Attribute("db.query.text", "string", "the search's text", of("search", "text"), content=True),
            ERROR,
            CUT,
        ),
        target="db.collection.name",
        client=values.remote,
    ),
}
_STEP = ("dragoman.step.name", "dragoman.step.outcome")
_MODEL = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model")
_ENGINE = ("db.system.name", "db.operation.name", "db.collection.name", "dragoman.retriever.name")
_AT = ("server.address", "server.port")
_ERROR = ("error.type",)
METRICS = (
    MetricRow(
        "dragoman.questions", "question", "{question}", "questions", values.came_to, ("dragoman.question.outcome",)
    ),
    MetricRow("dragoman.question.duration", "question", "s", "asking to fused", values.took, _ERROR, DATABASE),
    MetricRow("dragoman.steps", "step", "{step}", "turns of rewriters", values.once, _STEP),
    MetricRow("dragoman.step.duration", "step", "s", "one turn; none for skipped", values.turn_took, _STEP, STEPS),
    MetricRow("dragoman.rules", "step", "{rule}", "rules that bit", values.bitten, ("dragoman.rule", _STEP[0])),
    MetricRow(
        "gen_ai.client.inference.duration", "llm", "s", "one call", values.took, _MODEL + _AT + _ERROR, INFERENCE
    ),
    MetricRow(
        "gen_ai.client.inference.usage.input_tokens",
        "llm",
        "{token}",
        "tokens in",
        values.spent("tokens_in"),
        _MODEL + _AT,
    ),
    MetricRow(
        "gen_ai.client.inference.usage.output_tokens",
        "llm",
        "{token}",
        "tokens out",
        values.spent("tokens_out"),
        _MODEL + _AT,
    ),
    MetricRow(
        "db.client.operation.duration", "ranking", "s", "one search", values.took, _ENGINE + _AT + _ERROR, DATABASE
    ),
)

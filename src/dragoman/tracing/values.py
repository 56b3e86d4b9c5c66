"""What an event tells, as the values of attributes and metrics: by whom, of what, how it came out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import urlsplit

Told: TypeAlias = Mapping[str, Any]  # an event's attributes
Value: TypeAlias = str | bool | int | float | Sequence[str] | None
Counted: TypeAlias = Sequence[tuple[float, Mapping[str, str]]]  # values, each with attributes of its own
# Module of an engine's adapter, or its client's package where one adapter is for two -> db.system.name.
SYSTEMS: Mapping[str, str] = {
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "elasticsearch": "elasticsearch",
    "opensearchpy": "opensearch",
    "qdrant": "qdrant",
    "milvus": "milvus",
    "lancedb": "lancedb",
    "words": "dragoman",  # the embedded index
    "meaning": "dragoman",
}
OTHER = "other"  # an engine or a model of the user's own


def error(told: Told) -> str:
    """The error's class; empty where there is none, or the end was a cut."""
    raised = told.get("error")
    return type(raised).__qualname__ if isinstance(raised, Exception) else ""


def cut(told: Told) -> bool | None:
    """True where something ended it from outside."""
    return True if "error" in told and not isinstance(told["error"], Exception) else None


def turns(told: Told) -> int | None:
    """Messages before the question; None: not a conversation."""
    history = told["question"].history
    return None if history is None else len(history)


def of(what: str, *path: str) -> Callable[[Told], Any]:
    """An attribute of what the event tells of, as `of("result", "rewriting", "query")`; None where it does not."""

    def value(told: Told) -> Any:
        found = told.get(what)
        for name in path:
            found = None if found is None else getattr(found, name)
        return found

    return value


def number(what: str, *path: str) -> Callable[[Told], int | None]:
    """How many there are of what `of` gives."""
    get = of(what, *path)

    def value(told: Told) -> int | None:
        found = get(told)
        return None if found is None else len(found)

    return value


def model(told: Told) -> str:
    """`openai:NAME@http://host/v1` -> NAME."""
    return _bare(told["llm"])


def answering_model(told: Told) -> str:
    """The one that the reply names."""
    return _bare(told["reply"].model) if "reply" in told else ""


def _bare(name: str) -> str:
    wire, colon, rest = name.partition(":")
    return rest.partition("@http")[0] if colon else wire


def provider(told: Told) -> str:
    """The wire that the model is on: `anthropic`, `openai` (and whatever is compatible), `replay`."""
    wire, colon, _ = str(told["llm"]).partition(":")
    return wire if colon else OTHER


def tokens(which: str) -> Callable[[Told], int | None]:
    """Tokens as the provider counts them; None where it does not."""

    def value(told: Told) -> int | None:
        return getattr(told["reply"].usage, which) or None if "reply" in told else None

    return value


def outcome(told: Told) -> str:
    """The step's, as its word."""
    return str(told.get("outcome", ""))


def output(told: Told) -> str:
    """What kind of value was asked for."""
    return "text" if told.get("streamed") else "json"


def instructions(told: Told) -> str:
    """The rules that the model is given."""
    return json.dumps([{"type": "text", "content": told["prompt"].rules}], ensure_ascii=False)


def given(told: Told) -> str:
    """The input that the model is given."""
    return json.dumps([_message("user", told["prompt"].input)], ensure_ascii=False)


def replied(told: Told) -> str:
    """What the model answered; it stopped by itself, or the call would have failed."""
    if "reply" not in told:
        return ""
    value = told["reply"].value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return json.dumps([{**_message("assistant", text), "finish_reason": "stop"}], ensure_ascii=False)


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _engine(told: Told) -> Any:
    return getattr(told["engine"], "engine", told["engine"])


def system(told: Told) -> str:
    """The engine by the conventions' name."""
    engine = _engine(told)
    package = getattr(getattr(engine, "kind", None), "package", "")
    return SYSTEMS.get(package or type(engine).__module__.rpartition(".")[2], OTHER)


def collection(told: Told) -> str:
    """The engine's table, collection or index; empty where it has no name."""
    found = (getattr(_engine(told), name, None) for name in ("table", "collection", "target"))
    return next((each for each in found if isinstance(each, str)), "")


def remote(told: Told) -> bool:
    """Whether the retriever waits for something outside this process."""
    return not getattr(told["engine"], "inline", False)


def host(told: Told) -> str:
    """Of the model's or the engine's URL; empty where it has none, or several."""
    return _place(told)[0]


def port(told: Told) -> int | None:
    """As `host`."""
    return _place(told)[1]


def _place(told: Told) -> tuple[str, int | None]:
    url = str(told["llm"]).partition("@")[2] if "llm" in told else str(getattr(_engine(told), "url", ""))
    if "://" not in url or "," in url:
        return "", None
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port
    except ValueError:  # a port that is no number
        return "", None


def recorded(name: str) -> Callable[[Told], Any]:
    """Of the step's own record; None where the step failed, which leaves none in the event."""

    def value(told: Told) -> Any:
        if "outcome" not in told or "error" in told:
            return None
        return getattr(told["rewriting"].steps[-1], name)

    return value


def reason(told: Told) -> str:
    """Why the step came out as it did."""
    return str(told["error"]) if "error" in told else recorded("reason")(told) or ""


def rules(told: Told) -> list[str]:
    """The ids of the rules that bit, each once; what a guard turned down is noted on the error."""
    return list(dict.fromkeys(_bitten(told)))


def _bitten(told: Told) -> list[str]:
    noted = recorded("rules")(told) or getattr(told.get("error"), "notes", ())
    return [note.rule for note in noted if hasattr(note, "rule")]


def once(_: Told) -> Counted:
    """One more."""
    return [(1, {})]


def took(told: Told) -> Counted:
    """Its duration in seconds."""
    return [(told["seconds"], {})]


def turn_took(told: Told) -> Counted:
    """Its duration, if it had a turn."""
    return [] if told["outcome"] == "skipped" else took(told)


def came_to(told: Told) -> Counted:
    """One question, by what came of it."""
    result = told.get("result")
    if result is None:
        outcome = "failed"
    else:
        outcome = "off_topic" if result.rewriting.off_topic else "found" if result.hits else "nothing_found"
    return [(1, {"dragoman.question.outcome": outcome})]


def bitten(told: Told) -> Counted:
    """Each rule as often as it bit."""
    return [(1, {"dragoman.rule": rule}) for rule in _bitten(told)]


def spent(which: str) -> Callable[[Told], Counted]:
    """Tokens, where the provider counts them."""
    count = tokens(which)

    def value(told: Told) -> Counted:
        found = count(told)
        return [(found, {})] if found else []

    return value

"""Counters in Prometheus's text format, of this process and of the workers beside it."""

from __future__ import annotations

import asyncio
import json
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dragoman.telemetry import Event

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds. A model-free question takes milliseconds, a model's leash a few seconds.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SHARED_EVERY = 1.0  # seconds between two writings of this worker's counters for the others
Labels: TypeAlias = tuple[tuple[str, str], ...]
Sample: TypeAlias = tuple[str, Labels]


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its name, what it counts, and whether it is a `counter`, a `gauge` or a `histogram`."""

    name: str
    about: str
    kind: str = "counter"


FAMILIES = (
    Family("dragoman_requests_total", "Requests answered, by path and status."),
    Family("dragoman_request_seconds", "Seconds from a request's head to the end of its answer.", "histogram"),
    Family("dragoman_questions_total", "Questions searched, by profile."),
    Family("dragoman_question_seconds", "Seconds from the asking to the fused list.", "histogram"),
    Family("dragoman_steps_total", "Turns of rewriters, by profile, step and outcome."),
    Family("dragoman_step_seconds", "Seconds of one rewriter's turn.", "histogram"),
    Family("dragoman_rules_total", "Rules, lexicon entries and guards that bit, by profile and kind of rule."),
    Family("dragoman_tokens_total", "Tokens of the rewriting model, by profile and direction."),
    Family("dragoman_rankings_total", "Searches run on a retriever, by outcome."),
    Family("dragoman_ranking_seconds", "Seconds of one search on one retriever.", "histogram"),
    Family("dragoman_feedback_total", "Feedback kept, by whether the hit helped."),
    Family("dragoman_in_flight", "Questions being answered at this moment.", "gauge"),
    Family("dragoman_model_breaker_open", "1: the model keeps failing and is not asked.", "gauge"),
)


class Metrics:
    """The counters of this process.

    Args:
        shared: where worker processes leave theirs for one another; None: there is one process.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._values: defaultdict[Sample, float] = defaultdict(float)
        self._shared = shared
        self._changed = False

    def count(self, name: str, by: float = 1, **labels: str) -> None:
        """Add to a counter."""
        self._values[name, _labels(labels)] += by
        self._changed = True

    def level(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._values[name, _labels(labels)] = value
        self._changed = True

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Put a duration into a histogram."""
        key = _labels(labels)
        at = bisect_left(BOUNDS, seconds)
        bound = f"{BOUNDS[at]:g}" if at < len(BOUNDS) else "+Inf"
        self._values[f"{name}_bucket", (*key, ("le", bound))] += 1
        self._values[f"{name}_sum", key] += seconds
        self._changed = True

    def listener(self, profile: str) -> Listener:
        """What counts a profile's events."""
        return Listener(self, profile)

    def text(self) -> str:
        """Everything counted so far, by every worker."""
        self._write()
        total: defaultdict[Sample, float] = defaultdict(float)
        for values in (self._values, *self._others()):
            for sample, value in values.items():
                total[sample] += value
        return "".join(line + "\n" for line in _lines(total))

    async def keep(self) -> None:
        """Leave the counters for the other workers as long as they change, until cancelled."""
        while self._shared is not None:
            await asyncio.sleep(SHARED_EVERY)
            if self._changed:
                self._write()

    def _write(self) -> None:
        """Leave the counters where the other workers read them, whole or not at all."""
        if self._shared is None:
            return
        self._changed = False
        file = self._shared / f"{os.getpid()}.json"
        part = file.with_suffix(".part")
        part.write_text(json.dumps([[name, labels, value] for (name, labels), value in self._values.items()]))
        part.replace(file)

    def _others(self) -> Iterator[Mapping[Sample, float]]:
        if self._shared is None:
            return
        for file in sorted(self._shared.glob("*.json")):
            if file.stem != str(os.getpid()):
                rows = json.loads(file.read_text())
                yield {(name, tuple((key, value) for key, value in labels)): value for name, labels, value in rows}


class Listener:
    """Counts the events of one profile's questions."""

    def __init__(self, metrics: Metrics, profile: str) -> None:
        self._metrics, self._profile = metrics, profile

    def __call__(self, event: Event) -> None:
        """Count it."""
        kind, _, phase = event.name.partition(".")
        if phase in ("stop", "exception"):
            getattr(self, f"_{kind}", _nothing)(event.attributes, phase)

    def _step(self, attributes: Mapping[str, object], _: str) -> None:
        name, outcome = str(attributes["rewriter"]), str(attributes["outcome"])
        self._metrics.count("dragoman_steps_total", profile=self._profile, step=name, outcome=outcome)
        self._metrics.observe("dragoman_step_seconds", _seconds(attributes), profile=self._profile, step=name)
        for step in getattr(attributes.get("rewriting"), "steps", ())[-1:]:
            for hit in step.rules:
                self._metrics.count("dragoman_rules_total", profile=self._profile, rule=hit.rule)
            for direction, tokens in (("in", step.usage.tokens_in), ("out", step.usage.tokens_out)):
                if tokens:
                    self._metrics.count(
                        "dragoman_tokens_total", tokens, profile=self._profile, step=name, direction=direction
                    )

    def _ranking(self, attributes: Mapping[str, object], phase: str) -> None:
        retriever = str(attributes["retriever"])
        outcome = "answered" if phase == "stop" else "failed"
        self._metrics.count("dragoman_rankings_total", profile=self._profile, retriever=retriever, outcome=outcome)
        self._metrics.observe(
            "dragoman_ranking_seconds", _seconds(attributes), profile=self._profile, retriever=retriever
        )

    def _question(self, attributes: Mapping[str, object], _: str) -> None:
        self._metrics.count("dragoman_questions_total", profile=self._profile)
        self._metrics.observe("dragoman_question_seconds", _seconds(attributes), profile=self._profile)


def _nothing(_: Mapping[str, object], __: str) -> None:
    """For events of kinds that are not counted."""


def _seconds(attributes: Mapping[str, object]) -> float:
    seconds = attributes.get("seconds", 0.0)
    return seconds if isinstance(seconds, float) else 0.0


def _labels(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _lines(values: Mapping[Sample, float]) -> Iterator[str]:
    for family in FAMILIES:
        yield f"# HELP {family.name} {family.about}"
        yield f"# TYPE {family.name} {family.kind}"
        if family.kind == "histogram":
            yield from _histogram(family.name, values)
        else:
            for (name, labels), value in sorted(values.items()):
                if name == family.name:
                    yield f"{name}{_braces(labels)} {value:.12g}"


def _histogram(name: str, values: Mapping[Sample, float]) -> Iterator[str]:
    """Buckets are kept apart and summed up here: `le` means at most."""
    for labels in sorted({labels for found, labels in values if found == f"{name}_sum"}):
        count = 0.0
        for bound in (*(f"{bound:g}" for bound in BOUNDS), "+Inf"):
            count += values.get((f"{name}_bucket", (*labels, ("le", bound))), 0.0)
            yield f"{name}_bucket{_braces((*labels, ('le', bound)))} {count:.12g}"
        yield f"{name}_sum{_braces(labels)} {values[f'{name}_sum', labels]:.12g}"
        yield f"{name}_count{_braces(labels)} {count:.12g}"


def _braces(labels: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{key}="{_escape(value)}"' for key, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

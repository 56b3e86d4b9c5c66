"""Events -> OpenTelemetry spans and metrics, by the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dragoman.errors import MissingExtraError
from dragoman.telemetry import Event
from dragoman.tracing.table import METRICS, SPANS, MetricRow, SpanRow
from dragoman.tracing.values import Told

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider
    from opentelemetry.trace import Span, TracerProvider

SCOPE = "dragoman"


class Tracing:
    """A listener that makes a span of every question, step, model call and ranking, and metrics of them.

    `Dragoman(..., listeners=[Tracing()])`. Spans nest in whatever span is current where the question
    is asked, and what a step or a retriever traces by itself nests in theirs. One may listen to
    several halls.

    Args:
        content: also put in the words: questions, searches, prompts, replies, reasons, errors' messages.
        tracer_provider, meter_provider: instead of the global ones.

    Raises:
        MissingExtraError: OpenTelemetry's API is not installed.
    """

    def __init__(
        self,
        content: bool = False,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ModuleNotFoundError as error:
            raise MissingExtraError("dragoman.tracing", "otel") from error
        self.content = content
        self._trace = trace
        self._tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
        self._metrics: dict[str, list[tuple[MetricRow, Counter | Histogram]]] = {}
        for row in METRICS:
            made: Counter | Histogram = (
                meter.create_histogram(row.name, row.unit, row.about, explicit_bucket_boundaries_advisory=row.bounds)
                if row.bounds
                else meter.create_counter(row.name, row.unit, row.about)
            )
            self._metrics.setdefault(row.kind, []).append((row, made))
        self._open: dict[int, Span] = {}

    def __call__(self, event: Event) -> None:
        """Begin or end a span."""
        kind, _, phase = event.name.partition(".")
        row = SPANS.get(kind)
        if row is None:
            return
        told = event.attributes
        if phase == "start":
            self._open[told["id"]] = self._begin(row, told)
        elif phase == "skipped":
            self._end(self._begin(row, told), kind, told)
        else:
            self._end(self._open.pop(told["id"]), kind, told)

    @contextmanager
    def inside(self, id: int) -> Iterator[None]:
        """Make the span the current one."""
        span = self._open[id]
        with self._trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield

    def _begin(self, row: SpanRow, told: Told) -> Span:
        known = self._attributes(row, told, late=False)
        target = known.get(row.target, "")
        kind = self._trace.SpanKind.CLIENT if row.client(told) else self._trace.SpanKind.INTERNAL
        return self._tracer.start_span(f"{row.name} {target}".rstrip(), kind=kind, attributes=known)

    def _end(self, span: Span, kind: str, told: Told) -> None:
        row = SPANS[kind]
        late = self._attributes(row, told, late=True)
        span.set_attributes(late)
        if "error.type" in late:
            said = str(told["error"]) if self.content else None  # a message may quote a reply
            span.set_status(self._trace.StatusCode.ERROR, said)
        span.end()
        if "dragoman.cut" not in late:
            self._measure(kind, told, {**self._attributes(row, told, late=False), **late})

    def _measure(self, kind: str, told: Told, known: Mapping[str, Any]) -> None:
        for row, made in self._metrics.get(kind, ()):
            by = {name: known[name] for name in row.by if name in known}
            for value, further in row.of(told):
                if row.bounds:
                    made.record(value, {**by, **further})  # type: ignore[union-attr]  # bounds make it a histogram
                else:
                    made.add(value, {**by, **further})  # type: ignore[union-attr]

    def _attributes(self, row: SpanRow, told: Told, late: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in row.attributes:
            if each.late == late and (self.content or not each.content):
                value = each.of(told)
                if value is not None and value != "" and value != () and value != []:
                    found[each.name] = value
        return found

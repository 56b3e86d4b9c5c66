"""Tracing from the environment, for the commands and the service."""

from __future__ import annotations

import os

from dragoman.errors import DragomanError, MissingExtraError
from dragoman.telemetry import Listener
from dragoman.tracing.listener import SCOPE, Tracing

VARIABLE = "DRAGOMAN_TRACE"
CHOICES = ("spans", "content")


def from_environment() -> tuple[Listener, ...]:
    """What `DRAGOMAN_TRACE` asks for: a `Tracing` for `spans` or `content`; nothing where it is not set.

    Providers that the program set up are used. Where it set up none, traces and metrics go out by OTLP
    over HTTP, to where `OTEL_EXPORTER_OTLP_ENDPOINT` says; `OTEL_SERVICE_NAME` and the other variables
    of OpenTelemetry's SDK hold too.

    Raises:
        DragomanError: the variable says something else.
        MissingExtraError: OpenTelemetry is not installed.
    """
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        return ()
    if wanted not in CHOICES:
        raise DragomanError(f"{VARIABLE} is {wanted!r}; expected {' or '.join(CHOICES)}, or nothing for no traces")
    _provide()
    return (Tracing(content=wanted == "content"),)


def _provide() -> None:
    """Set up the providers that are not there yet."""
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise MissingExtraError(VARIABLE, "otel") from error
    named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SCOPE}
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        spans = TracerProvider(resource=Resource.create(named))
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(spans)
    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics.set_meter_provider(MeterProvider([reader], Resource.create(named)))

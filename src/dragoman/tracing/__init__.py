"""OpenTelemetry traces and metrics of what happens; see `docs/telemetry.md`."""

from dragoman.tracing.listener import Tracing
from dragoman.tracing.setup import from_environment

__all__ = ["Tracing", "from_environment"]

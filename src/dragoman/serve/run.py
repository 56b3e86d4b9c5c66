"""Starting the service, and stopping it without losing a question."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from dragoman.serve.app import make_app
from dragoman.serve.settings import LEVEL, VARIABLE, ServiceError, Settings
from dragoman.telemetry import log

BACKLOG = 2048  # connections that may wait to be taken


class Announced(uvicorn.Server):
    """Says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and print the address."""
        await super().startup(sockets)
        if self.started:
            opened = [each for server in self.servers for each in server.sockets]
            _announce(self.config.host, opened[0].getsockname()[1])


def serve(settings: Settings, workers: int = 1) -> None:
    """Serve until the process is told to stop; what was accepted is finished first.

    Args:
        workers: processes that share the port. The limits of `settings` hold for each.

    Raises:
        ProfileError, IndexStateError: a profile or an index cannot be used.
        ServiceError: the address cannot be listened on.
    """
    _see_free(settings.host, settings.port)
    # The embedder of each worker takes its share of the processors; more threads would spin while they wait.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, processors() // workers)))
    if threading.current_thread() is threading.main_thread():
        # uvicorn raises the signal again once everything is done; by then there is nothing left to do.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt):
        _side_by_side(settings, workers) if workers > 1 else _alone(settings)


def _see_free(host: str, port: int) -> None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as exc:
        raise ServiceError(
            f"{host}:{port} cannot be listened on ({exc.strerror}); give another --port, 0 for a free one, or --host"
        ) from exc


def _alone(settings: Settings) -> None:
    server = Announced(uvicorn.Config(make_app(settings), **_options(settings)))
    try:
        server.run()
    except SystemExit:
        if not server.started:
            sys.exit(1)  # uvicorn has said why
        raise
    if not server.started:
        sys.exit(1)


def _side_by_side(settings: Settings, workers: int) -> None:
    with tempfile.TemporaryDirectory(prefix="dragoman-") as shared:
        os.environ[VARIABLE] = replace(settings, shared=shared).to_json()
        os.environ[LEVEL] = str(log.getEffectiveLevel())
        config = uvicorn.Config("dragoman.serve.app:worker", factory=True, workers=workers, **_options(settings))
        listening = config.bind_socket()
        _announce(settings.host, listening.getsockname()[1])
        Multiprocess(config, sockets=[listening]).run()


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _announce(host: str, port: int) -> None:
    name = f"[{host}]" if ":" in host else host
    print(f"http://{name}:{port}", flush=True)


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "backlog": BACKLOG,
        "timeout_graceful_shutdown": settings.limits.drain_seconds,
        "timeout_keep_alive": 15,
        "server_header": False,
        "access_log": False,  # the counters tell more
        "log_level": "warning",
        "ws": "none",
    }

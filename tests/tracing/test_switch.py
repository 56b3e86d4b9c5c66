"""The switch of the command line really sends, and what is not switched on is not even imported."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

QUESTION = "hello, whats the xylophone speed limit please"


@contextmanager
def collector() -> Iterator[tuple[str, dict[str, bytes]]]:
    """A collector of this machine: its address, and the bodies that it was sent by path."""
    sent: dict[str, bytes] = {}

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            sent[self.path] = sent.get(self.path, b"") + (gzip.decompress(body) if packed else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", sent
        finally:
            server.shutdown()
            thread.join()


def ran(*arguments: str, endpoint: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if name != "DRAGOMAN_TRACE"}
    environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    done = subprocess.run(
        [sys.executable, "-m", "dragoman.cli", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("how", ["spans", "content"])
def test_the_switch_sends_traces_and_metrics_and_words_only_with_content(how: str) -> None:
    with collector() as (address, sent):
        assert ran("--trace", how, "rewrite", QUESTION, endpoint=address) == "whats the xylophone speed limit\n"
    assert set(sent) == {"/v1/traces", "/v1/metrics"}
    assert b"step rules" in sent["/v1/traces"]
    assert b"dragoman.steps" in sent["/v1/metrics"]
    assert (b"xylophone" in sent["/v1/traces"]) == (how == "content")
    assert b"xylophone" not in sent["/v1/metrics"]


def test_without_the_switch_nothing_is_sent_and_opentelemetry_is_not_imported() -> None:
    with collector() as (address, sent):
        ran("rewrite", QUESTION, endpoint=address)
    assert sent == {}
    check = "import sys, dragoman.tracing, dragoman.profile; print([m for m in sys.modules if 'opentelemetry' in m])"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "[]\n"

"""The service as a process: it says where it listens, and stops without losing what it accepted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
from small_service import FAST

from dragoman.testing import Says, ScriptedServer

REPLY = json.dumps({"about_corpus": True, "searches": ["maximum speed limit residence district"]})


@contextmanager
def process(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command on a free port; gives the process and its address."""
    command = [sys.executable, "-m", "dragoman.cli", "serve", "--port", "0", "--index", str(folder / "index"), *options]
    environment = {**os.environ, "DRAGOMAN_API_KEYS": "", "DRAGOMAN_API_KEYS_FILE": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline().strip()
        finally:
            running.terminate()
            running.wait(30)


def ready(address: str) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"{address} did not become ready")


def test_told_to_stop_it_finishes_what_it_accepted_and_says_so(folder: Path) -> None:
    with ScriptedServer(Says(REPLY, after=1.5)) as model:
        options = ("--profile", "road-law", "--model", f"openai:any@{model.openai}", "--behind", "0")
        with process(folder, *options) as (running, address), ThreadPoolExecutor() as pool:
            ready(address)
            ask = {"question": FAST}
            asked = [pool.submit(httpx.post, f"{address}/v1/search", json=ask, timeout=20) for _ in range(5)]
            while len(model.requests) < 5:
                time.sleep(0.01)
            with httpx.Client(base_url=address) as kept:  # a connection from before the signal
                assert kept.get("/readyz").status_code == 200
                running.send_signal(signal.SIGTERM)
            for answer in asked:
                found = answer.result().json()
                assert found["hits"][0]["doc_id"] == "s1"
                assert "rephrase" in {search["origin"] for search in found["searches"]}
            assert running.wait(20) == 0


def test_workers_share_a_port_and_their_counters(folder: Path) -> None:
    with process(folder, "--workers", "2") as (_, address):
        ready(address)
        for _ in range(12):
            assert httpx.post(f"{address}/v1/search", json={"question": FAST}, timeout=20).status_code == 200
        sample = 'dragoman_requests_total{path="/v1/search",status="200"} '
        until, counted = time.monotonic() + 30, 0.0
        while counted != 12 and time.monotonic() < until:  # whichever worker answers
            time.sleep(0.2)
            text = httpx.get(f"{address}/metrics", timeout=20).text
            counted = sum(float(line.removeprefix(sample)) for line in text.splitlines() if line.startswith(sample))
        assert counted == 12


def test_a_port_that_is_taken_is_an_error_and_not_a_hang(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "dragoman.cli", "serve", "--index", str(folder / "index"), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot be listened on (Address already in use); give another --port" in done.stderr
    assert len(done.stderr.splitlines()) == 1

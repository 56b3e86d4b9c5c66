"""The service under load: 100 questions a second over a model that takes 200 ms, on the processors that are there.

    python -m bench.load [--rate 100] [--seconds 20] [--workers 2] [--model-seconds 0.2] [--behind 50]

Questions come at a steady rate whether or not earlier ones were answered (an open loop: a service that
falls behind is not spared), every one of them new, so that nothing is answered from a cache. The model is
a scripted server on loopback, asked over the wire like any other; with it one search of its own comes for
every question. Beside the rewritten questions, one in ten is asked raw, without any step. Printed: latency
at p50, p99 and max, what was refused or failed, processor time a question by part, what others on the
machine took meanwhile (a figure taken beside other work says little), and what bounds it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from dragoman import demo
from dragoman.retrievers.embedders import load_embedder
from dragoman.testing import Says, ScriptedServer

RAW_EVERY = 10
GOAL_P99 = 0.5  # seconds
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question's fate: seconds from when it was due, its status, whether it was raw, and the model joined."""

    seconds: float
    status: int
    raw: bool
    rewritten: bool


def questions(seed: int = 7) -> list[str]:
    """The example's questions, each with a number of its own, so that no two are the same and all stay short."""
    lines = (demo.example() / "queries.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    rng = random.Random(seed)
    return [f"{rng.choice(texts)} {number}" for number in range(20_000)]


class Wire:
    """HTTP/1.1 by hand over kept connections: the asker shares the service's processors and must cost little."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body; a connection that is free is taken, a new one where there is none."""
        while self._idle and self._idle[-1][0].at_eof():  # the service closes a connection that was long idle
            self._idle.pop()[1].close()
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection(self._host, self._port)
        head = f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answer.partition("content-length:")[2].partition("\r\n")[0])
        content = await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(answer.split(" ", 2)[1]), content

    def close(self) -> None:
        """Close what is free."""
        for _, writer in self._idle:
            writer.close()


async def drive(address: str, rate: float, seconds: float) -> list[Asked]:
    """Ask at a steady rate for so long; wait for what is still under way."""
    wire = Wire(address)
    began = time.perf_counter()
    tasks = []
    for number, text in enumerate(itertools.islice(questions(), int(rate * seconds))):
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(_ask(wire, text, due, raw=number % RAW_EVERY == 0)))
    asked = await asyncio.gather(*tasks)
    wire.close()
    return asked


async def _ask(wire: Wire, text: str, due: float, *, raw: bool) -> Asked:
    body = {"question": text, **({"steps": []} if raw else {})}
    status, content = await wire.post("/v1/search", json.dumps(body).encode())
    took = time.perf_counter() - due
    return Asked(took, status, raw, b'"origin":"rephrase"' in content)


def at(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def spent(pid: int) -> float:
    """Processor seconds of a process and of those it started."""
    total = 0.0
    for process in [pid, *_children(pid)]:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICK
    return total


def yardstick() -> float:
    """Processor seconds that embedding one question takes here and now; 2.6 ms on two idle cores of 2024."""
    os.environ["OMP_NUM_THREADS"] = "1"  # as a worker's: a second thread would spin while it waits
    embedder = load_embedder("default")
    texts = questions(seed=11)[:40]
    embedder(texts[:1])
    began = time.thread_time()
    for text in texts:
        embedder([text])
    return (time.thread_time() - began) / len(texts)


def busy() -> float:
    """Processor seconds of everything on this machine since it started."""
    user, nice, system, _, _, interrupts, soft, *_ = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + interrupts + soft) / TICK


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def row(name: str, asked: Sequence[Asked]) -> str:
    """A line of the table."""
    answered = [each.seconds for each in asked if each.status == 200]
    figures = "  ".join(
        f"{1000 * value:7.0f}" for value in (at(answered, 0.5), at(answered, 0.99), max(answered, default=0))
    )
    other = len(asked) - len(answered)
    return f"{name:<12} {len(asked):6}  {figures}  {other:6}"


def main() -> None:
    """Start the service and the model, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model-seconds", type=float, default=0.2)
    parser.add_argument(
        "--behind", type=int, default=50, help="as `dragoman serve` takes it; 0: the model always joins"
    )
    given = parser.parse_args()
    reply = json.dumps({"about_corpus": True, "searches": ["maximum speed limit residence district"]})
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(Says(reply, after=given.model_seconds)) as model:
        index = Path(folder) / "index"
        demo.build(index)
        command = [sys.executable, "-m", "dragoman.cli", "serve", "--profile", demo.PROFILE, "--index", str(index)]
        command += ["--model", f"openai:stub@{model.openai}", "--port", "0", "--workers", str(given.workers)]
        command += ["--behind", str(given.behind)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:  # noqa: S603  # our own command
            try:
                measure(service, given)
            finally:
                service.terminate()


def measure(service: subprocess.Popen[str], given: argparse.Namespace) -> None:
    """Wait until the service is ready, warm it, drive it, print."""
    if service.stdout is None:
        raise RuntimeError("the service's output is not read")
    address = service.stdout.readline().strip()
    _until_ready(address)
    asyncio.run(drive(address, 10, 2))
    before, mine, all_before, began = spent(service.pid), time.process_time(), busy(), time.perf_counter()
    asked = asyncio.run(drive(address, given.rate, given.seconds))
    took = time.perf_counter() - began
    used, own, everything = spent(service.pid) - before, time.process_time() - mine, busy() - all_before
    rewritten = [each for each in asked if not each.raw]
    cores = os.cpu_count() or 1
    print(f"{given.rate:g} questions a second for {given.seconds:g} s on {cores} cores, {given.workers} workers")
    print(f"{'':<12} {'asked':>6}  {'p50 ms':>7}  {'p99 ms':>7}  {'max ms':>7}  {'other':>6}")
    print(row("rewritten", rewritten))
    print(row("raw", [each for each in asked if each.raw]))
    share = sum(each.rewritten for each in rewritten) / max(1, len(rewritten))
    print(f"answered {len(asked) / took:.0f} a second; the model ({given.model_seconds:g} s) joined in {share:.1%}")
    print(f"service: {1000 * used / len(asked):.1f} ms of a processor a question, {used / took:.2f} cores")
    print(f"asking and the stub model: {1000 * own / len(asked):.1f} ms a question, {own / took:.2f} cores")
    print(f"everybody else on this machine: {max(0.0, everything - used - own) / took:.2f} cores")
    most = cores * len(asked) / (used + own)
    print(f"yardstick: embedding one question alone takes {1000 * yardstick():.1f} ms of a processor here and now")
    print(f"bound: processor time; at that cost, asking included, {cores} cores hold {most:.0f} questions a second")
    p99 = at([each.seconds for each in asked if each.status == 200], 0.99)
    print(f"goal: p99 under {1000 * GOAL_P99:.0f} ms: {'held' if p99 < GOAL_P99 else 'missed'} ({1000 * p99:.0f} ms)")


def _until_ready(address: str) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError(f"{address} did not become ready")


if __name__ == "__main__":
    main()

"""The soak: ten thousand questions, a hundred at a time, against a model and a retriever that fail at random.

    python -m bench.soak [--questions N] [--concurrent N] [--seed N] [--out FILE]

The model's server runs in a process of its own on loopback. Prints, and writes between the marks in
docs/reliability.md, what was asked and answered, how far questions went over their deadline, and what
was left behind. Exits 1 when a question was lost, was worse than its raw search, or left something.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.hostile_rows import QUESTION
from bench.marked import write_between
from bench.peers.stubs import clean
from dragoman.dragoman import Dragoman, Settings
from dragoman.errors import DragomanError, RetrievalError
from dragoman.llm.breaker import Breaker
from dragoman.llm.leash import Leash, closed
from dragoman.llm.open import close, innermost, open_llm, warm
from dragoman.protocols import LLM
from dragoman.retrievers import CallableRetriever
from dragoman.rewriters.prompted import Prompted
from dragoman.types import Hit, Result

HERE = Path(__file__).resolve().parent.parent
LEASH = 2.0  # seconds a model is given
BUDGET = 2.5  # seconds a question is given
RESERVE = 3
WARM = 200  # questions before anything is counted, so that pools and imports are not taken for leaks
BREAKER = 0.5  # seconds it stays open here, so that it opens and closes many times in one soak
OVER = 0.05  # seconds that a deadline may be missed by at p99
SUBJECTS = ("a school", "a stopped bus", "a parked car", "road works", "a tractor", "a hospital", "a crossing")


@dataclass(slots=True)
class Count:
    """What became of the questions."""

    asked: int = 0
    answered: int = 0
    at_raw: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    over: list[float] = field(default_factory=list)  # seconds beyond the question's budget, or 0
    over_leash: list[float] = field(default_factory=list)  # of the calls that were cut, beyond the leash


@dataclass(frozen=True, slots=True)
class Left:
    """What a process holds."""

    tasks: int
    threads: int
    sockets: int
    files: int

    @classmethod
    def now(cls) -> Left:
        """At this moment."""
        links = []
        for entry in os.scandir("/proc/self/fd"):
            try:
                links.append(str(Path(entry.path).readlink()))
            except OSError:  # the folder's own descriptor, closed meanwhile
                continue
        sockets = sum(link.startswith("socket:") for link in links)
        return cls(len(asyncio.all_tasks()), threading.active_count(), sockets, len(links) - sockets)


def question(chance: random.Random) -> str:
    """One of many questions."""
    return QUESTION.replace("a school", chance.choice(SUBJECTS)) + " " + chance.choice(("", "at night", "in town"))


def retrievers(chance: random.Random) -> list[CallableRetriever]:
    """`words`, which is well, and `meaning`, which is down, slow or late by chance."""

    def words(text: str, depth: int) -> list[Hit]:
        return [Hit(p.doc_id, p.score) for p in clean("words", text, depth)]

    async def meaning(text: str, depth: int) -> list[Hit]:
        at = chance.random()
        if at < 0.03:
            raise ConnectionError("down, as scripted")
        await asyncio.sleep(2 * BUDGET if at < 0.04 else 0.002)
        return [Hit(p.doc_id, p.score) for p in clean("meaning", text, depth)]

    return [CallableRetriever(words, inline=True), CallableRetriever(meaning)]


def at_raw(dragoman: Dragoman, result: Result) -> bool:
    """The question was searched, and what it found best alone is within the reserved place."""
    own = [ranking for ranking in result.rankings if ranking.search.origin == "question"]
    if not own or own[0].search.text != result.question.text.strip():
        return False
    best = dragoman.fuse(own, depth=1)[0].doc_id
    return best in [hit.doc_id for hit in result.hits[:RESERVE]]


async def one(dragoman: Dragoman, text: str, count: Count) -> None:
    """Ask one question and count what came of it."""
    count.asked += 1
    began = time.perf_counter()
    try:
        result = await dragoman.asearch(text)
    except RetrievalError as error:  # `words` never fails, so this is a lost question
        count.lost[str(error)[:80]] += 1
        return
    except Exception as error:  # a defect, to be counted and shown, not to end the soak
        count.lost[type(error).__name__ + (" (ours)" if isinstance(error, DragomanError) else "")] += 1
        return
    finally:
        count.over.append(max(0.0, time.perf_counter() - began - BUDGET))
    (step,) = result.rewriting.steps
    count.answered += 1
    count.at_raw += at_raw(dragoman, result)
    count.outcomes[str(step.outcome)] += 1
    if step.outcome == "timed_out":
        count.over_leash.append(max(0.0, step.seconds - LEASH))


async def many(systems: Sequence[Dragoman], number: int, concurrent: int, chance: random.Random) -> Count:
    """Ask `number` questions, `concurrent` at a time, each over one of the systems."""
    count = Count()
    left = iter(range(number))

    async def worker() -> None:
        for _ in left:
            await one(chance.choice(systems), question(chance).strip(), count)

    await asyncio.gather(*(worker() for _ in range(concurrent)))
    return count


def model(spec: str) -> LLM:
    """As `open_llm` makes it, but for the breaker's patience."""
    return Breaker(Leash(innermost(open_llm(spec, seconds=LEASH)), LEASH), seconds=BREAKER)  # type: ignore[arg-type]


async def soak(port: int, number: int, concurrent: int, seed: int) -> tuple[Count, Left, Left, float]:
    """Both wires in turn: the count, what was held before and after, and the seconds it took."""
    chance = random.Random(seed)
    bases = {"openai": f"http://127.0.0.1:{port}/v1", "anthropic": f"http://127.0.0.1:{port}"}
    llms = [model(f"{wire}:scripted@{base}") for wire, base in bases.items()]
    for llm in llms:
        await warm(llm)
    settings = Settings(seconds=BUDGET, reserve=RESERVE)
    systems = [Dragoman(retrievers(chance), [Prompted("rephrase", llm)], settings=settings) for llm in llms]
    await many(systems, WARM, concurrent, chance)
    await settled(llms)
    gc.freeze()  # as a service does once it is warm: else each full collection walks the SDKs' heaps, 0.2 s long
    before, began = Left.now(), time.perf_counter()
    count = await many(systems, number, concurrent, chance)
    took = time.perf_counter() - began
    gc.unfreeze()
    await settled(llms)
    return count, before, Left.now(), took


async def settled(llms: Sequence[LLM]) -> None:
    """Close what is open and let what is ending end."""
    await closed(10.0)
    for llm in llms:
        await close(llm)
    for _ in range(60):
        gc.collect()
        await asyncio.sleep(0.05)
        if len(asyncio.all_tasks()) == 1:
            break


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def written(count: Count, before: Left, after: Left, took: float, concurrent: int) -> str:
    """The report as Markdown."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    outcomes = ", ".join(f"{name} {number:,}" for name, number in count.outcomes.most_common())
    grown = {name: getattr(after, name) - getattr(before, name) for name in ("tasks", "threads", "sockets", "files")}
    rows = {
        "questions asked": f"{count.asked:,}, {concurrent} at a time, in {took:.0f} s",
        "answered": f"{count.answered:,}",
        "at raw or better": f"{count.at_raw:,}",
        "lost": f"{sum(count.lost.values()):,}" + "".join(f"; {why}: {n}" for why, n in count.lost.items()),
        "what the model's step came to": outcomes,
        f"over the question's {BUDGET:g} s": over(count.over),
        f"over the model's {LEASH:g} s, of the {len(count.over_leash):,} calls cut": over(count.over_leash),
        "peak memory": f"{peak:.0f} MB",
        "left behind": ", ".join(f"{number} {name}" for name, number in grown.items()),
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def over(values: Sequence[float]) -> str:
    """How far over, in milliseconds."""
    p50, p99, most = (1000 * percentile(values, share) for share in (0.5, 0.99, 1.0))
    return f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, most {most:.0f} ms"


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and report."""
    parser = argparse.ArgumentParser(prog="bench.soak", description="Questions against faults, many at a time.")
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--concurrent", type=int, default=100)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    os.environ.setdefault("NO_PROXY", "127.0.0.1")
    command = [sys.executable, "-m", "bench.soak_server", str(given.seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE) as server:  # noqa: S603
        assert server.stdout is not None  # noqa: S101  # a pipe, as asked for
        port = json.loads(server.stdout.readline())["port"]
        try:
            count, before, after, took = asyncio.run(soak(port, given.questions, given.concurrent, given.seed))
        finally:
            server.kill()
    report = written(count, before, after, took, given.concurrent)
    print(report)
    if given.out:
        write_between(given.out, "soak", report)
    left = (after.tasks, after.sockets) > (before.tasks, before.sockets)
    worse = count.answered < count.asked or count.at_raw < count.answered
    late = percentile(count.over, 0.99) > OVER
    if late:
        print(
            f"the deadline was missed by more than {OVER * 1000:.0f} ms at p99; is the machine busy?", file=sys.stderr
        )
    return int(left or worse or late)


if __name__ == "__main__":
    sys.exit(main())

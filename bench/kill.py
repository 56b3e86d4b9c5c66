"""kill -9 at random moments of what writes to disk: nothing acknowledged is lost, nothing is half-read.

    python -m bench.kill [--times N] [--seed N] [--only PART,...]

Each time a process is started that writes and says what is done, is killed within the time that a few
writes take, and what it left is opened by another process: everything that was said to be done must
be there, whole, and no more than the one write that was under way beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from dragoman.learn import Pair, learn, read_review
from dragoman.retrievers import build_index, open_index
from dragoman.rewriters.cache import RewriteCache
from dragoman.rewriters.lexicon import Lexicon
from dragoman.rewriters.memory_store import MemoryStore, Remembered
from dragoman.types import Ranking, Search

Say = Callable[[str], None]
Write = Callable[[Path, Say], None]
Check = Callable[[Path, Sequence[str]], None]
OPERATIONS = 4  # writes that a victim is killed within
LONGEST = 120.0  # seconds for one write on a busy machine


def corpus(folder: Path, number: int) -> Path:
    """A corpus whose size tells which it is: 30 and one more for each number."""
    path = folder / f"corpus-{number % 5}.jsonl"
    if not path.exists():
        rows = ({"_id": f"d{n}", "text": f"stop at sign {n} " * 10} for n in range(30 + number % 5))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def build(folder: Path, say: Say) -> None:
    """Index one corpus after another over the same directory."""
    number = 0
    while True:
        build_index([corpus(folder, number)], folder / "index", embedder=None)
        say(str(number))
        number += 1


def check_index(folder: Path, said: Sequence[str]) -> None:
    """The index is the last that was said to be built, or the one after it."""
    last = int(said[-1]) if said else -1
    if not said and not (folder / "index" / "manifest.json").exists():
        return
    with open_index(folder / "index") as index:
        index.verify()
        allowed = {30 + number % 5 for number in (last, last + 1) if number >= 0}
        claim(len(index) in allowed, f"{len(index)} documents, expected {allowed}")
        ranking = index.retrievers[0](Search("stop sign"), 100, {})
        claim(isinstance(ranking, Ranking) and len(ranking) == len(index), f"not all of {len(index)} found")
    build_index([corpus(folder, 0)], folder / "index", embedder=None)  # nothing left behind holds the next one up


def _entry(number: int) -> dict[str, object]:
    return {"rewritten": f"question {number} " * 20, "number": number}


def put_cache(folder: Path, say: Say) -> None:
    """Put entry after entry into a cache."""
    cache = RewriteCache(folder / "cache.sqlite")
    number = 0
    while True:
        cache.put(number.to_bytes(32, "big"), _entry(number))
        say(str(number))
        number += 1


def check_cache(folder: Path, said: Sequence[str]) -> None:
    """Every entry that was said to be put is there as it was put."""
    claim(not list(folder.glob("*.damaged*")), "the cache was set aside as damaged")
    cache = RewriteCache(folder / "cache.sqlite")
    for number in map(int, said):
        claim(cache.get(number.to_bytes(32, "big")) == _entry(number), f"entry {number} is gone or another")
    claim(len(said) <= cache.stats().entries <= len(said) + 1, f"{cache.stats().entries} entries, {len(said)} said")
    claim(not list(folder.glob("*.damaged*")), "the cache was found damaged")
    cache.put(b"after", {"works": True})
    claim(cache.get(b"after") == {"works": True}, "nothing can be put any more")
    cache.close()


def _remembered(number: int) -> Remembered:
    vectors = np.full((3, 16), 0.25, np.float32)
    return Remembered(f"question number {number}", (f"search {number}", "another"), vectors, "toy", 1.0 + number)


def put_memory(folder: Path, say: Say) -> None:
    """Remember one question after another."""
    store = MemoryStore(folder / "memory.sqlite", "kill")
    number = 0
    while True:
        store.put([_remembered(number)])
        say(str(number))
        number += 1


def check_memory(folder: Path, said: Sequence[str]) -> None:
    """Every question that was said to be remembered is, with its searches and vectors."""
    store = MemoryStore(folder / "memory.sqlite", "kill")
    rows = {row.question: row for row in store.rows()}
    for number in map(int, said):
        row = rows.get(f"question number {number}")
        claim(row is not None and row.searches == (f"search {number}", "another"), f"question {number} is gone")
        claim(row is not None and row.vectors.shape == (3, 16), f"question {number} has lost its vectors")
    claim(len(said) <= len(store) <= len(said) + 1, f"{len(store)} remembered, {len(said)} said")
    claim(not list(folder.glob("*.damaged*")), "the memory was found damaged")
    store.close()


def pairs(number: int) -> list[Pair]:
    """Questions that say `phone` and are answered with `device`; more of them each time."""
    fill = ("red light", "school zone", "highway", "parking lot", "bridge", "tunnel")
    chance = random.Random(number)
    return [
        Pair(f"can i use my phone at a {chance.choice(fill)} {n} {number}", (f"handheld device {chance.choice(fill)}",))
        for n in range(30)
    ]


def teach(folder: Path, say: Say) -> None:
    """Learn from more and more pairs into the same lexicon."""
    number = 0
    while True:
        learned = learn(pairs(number), folder / "lexicon.txt")
        say(str(learned.pairs))
        number += 1


def check_lexicon(folder: Path, said: Sequence[str]) -> None:
    """The lexicon is whole, and every pair that was said to be learned from is still known."""
    path = folder / "lexicon.txt"
    if said:
        claim(path.exists(), "the lexicon is gone")
    if path.exists():
        Lexicon.read(path)
        read_review(path)
    known = learn([], path).pairs
    last = int(said[-1]) if said else 0
    claim(last <= known <= last + 30, f"{known} pairs known, {last} said")


PARTS: Mapping[str, tuple[Write, Check]] = {
    "index": (build, check_index),
    "cache": (put_cache, check_cache),
    "memory": (put_memory, check_memory),
    "learning": (teach, check_lexicon),
}


def claim(holds: object, says: str) -> None:
    """Raise unless it holds.

    Raises:
        AssertionError: it does not.
    """
    if not holds:
        raise AssertionError(says)


@dataclass(slots=True)
class Victim:
    """A forked process that runs one function, and what it says, line by line."""

    pid: int
    pipe: int
    heard: bytes = b""

    @classmethod
    def start(cls, run: Callable[[Say], None]) -> Victim:
        """Begin; the caller must have no other thread."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _child(run, write)
        os.close(write)
        os.set_blocking(read, False)
        return cls(pid, read)

    def listen(self, until: float, lines: int = sys.maxsize) -> None:
        """Take in what it says until that moment, or until it has said so many lines, or ends."""
        import select

        while (left := until - time.monotonic()) > 0 and self.heard.count(b"\n") < lines:
            if not select.select([self.pipe], [], [], left)[0]:
                return
            piece = os.read(self.pipe, 65_536)
            if not piece:
                return
            self.heard += piece

    def end(self, hard: bool) -> int:
        """Kill it, or wait for it; its exit status."""
        if hard:
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.listen(time.monotonic() + 5)
        os.close(self.pipe)
        return status

    @property
    def said(self) -> list[str]:
        """The whole lines it said."""
        return self.heard.decode().split("\n")[:-1]


def _child(run: Callable[[Say], None], write: int) -> NoReturn:
    def say(line: str) -> None:
        os.write(write, line.encode() + b"\n")

    status = 1
    try:
        run(say)
        status = 0
    except BaseException:  # a forked process must end here, whatever it met, and never run its parent's code
        traceback.print_exc()
    finally:
        os._exit(status)


def one(part: str, chance: random.Random, seconds: float) -> tuple[int, str]:
    """Kill once; how many writes it had acknowledged, and what was wrong then, empty for nothing."""
    write, check = PARTS[part]
    with tempfile.TemporaryDirectory(prefix=f"dragoman-kill-{part}-") as name:
        folder = Path(name)
        victim = Victim.start(lambda say: write(folder, say))
        victim.listen(time.monotonic() + chance.uniform(0, OPERATIONS * seconds))
        victim.end(hard=True)
        said = victim.said
        kept = Path(shutil.copytree(folder, folder.with_name(folder.name + ".kept")))
        checker = Victim.start(lambda _: check(folder, said))
        wrong = "" if checker.end(hard=False) == 0 else f"see {kept}"
        if not wrong:
            shutil.rmtree(kept)
        return len(said), wrong


def pace(part: str) -> float:
    """Seconds that a few dozen writes take here, or one where a write is slow, the first one's start included."""
    with tempfile.TemporaryDirectory(prefix="dragoman-pace-") as name:
        began = time.monotonic()
        victim = Victim.start(lambda say: PARTS[part][0](Path(name), say))
        victim.listen(began + LONGEST, lines=1)
        victim.listen(max(time.monotonic(), began + 0.05))
        victim.end(hard=True)
        return max(0.05, time.monotonic() - began)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill each part's writer in turn, and say what was left."""
    parser = argparse.ArgumentParser(prog="bench.kill", description="kill -9 at random moments of what writes to disk.")
    parser.add_argument("--times", type=int, default=200, help="in all, the parts in turn")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--only", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    given = parser.parse_args(arguments)
    chance, bad = random.Random(given.seed), 0
    parts = given.only.split(",")
    for number, part in enumerate(parts):
        times = len(range(number, given.times, len(parts)))
        seconds, acknowledged, wrong = pace(part), 0, []
        for _ in range(times):
            done, why = one(part, chance, seconds)
            acknowledged += done
            wrong += [why] if why else []
        bad += len(wrong)
        print(f"{part}: killed {times} times, {acknowledged:,} writes acknowledged, {len(wrong)} times something lost")
        for why in wrong:
            print(f"  {why}", file=sys.stderr)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

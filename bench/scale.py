"""What one machine holds: writes its table into docs/scale.md.

    python -m bench.scale [--passages 10000,100000] [--questions 300]

Every size runs in a process of its own, so that its memory is its own. Passages and questions are
those of `bench.cost`. The index is of words alone; the figures of meaning follow from the size of a
vector, which docs/scale.md reckons with. Times are of this machine, with whatever else ran on it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.cost import corpus, questions, timed
from bench.marked import write_between
from dragoman.dragoman import Dragoman
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts
from dragoman.retrievers import build_index, open_index

DOCS = Path(__file__).parent.parent / "docs" / "scale.md"
HEAD = (
    "| passages | text, MB | index, MB | indexed in, s | resident, MB | raw p50, ms | raw p99, ms "
    "| default p50, ms | default p99, ms | default, questions/s a process |\n"
    "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def measured(passages: int, count: int) -> dict[str, float]:
    """One row, measured in this process."""
    source, asked = corpus(passages), questions(count)
    with tempfile.TemporaryDirectory() as folder:
        made = build_index([source], Path(folder) / "index", embedder=None)
        with open_index(made.path) as index:
            plain = Dragoman(index.retrievers)
            parts = Parts(retrievers=index.retrievers, vocabulary=index.vocabulary)
            default = load_profile("default").build(parts)
            for hall in (plain, default):
                for text in asked[:10]:  # what is loaded at the first question is not a question's time
                    hall.search(text)
            raw = timed(plain.search, asked)
            began = time.perf_counter()
            chain = timed(default.search, asked)
            rate = count / (time.perf_counter() - began)
            resident = _resident()
    sizes = {"text": source.stat().st_size / 1e6, "index": made.size / 1e6, "seconds": made.seconds}
    times = {"raw50": raw[0], "raw99": raw[1], "default50": chain[0], "default99": chain[1], "rate": rate}
    return {"passages": passages, **sizes, "resident": resident, **times}


def _resident() -> float:
    """Megabytes in memory now, files mapped into it among them; the most so far where that cannot be read."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text("ascii").splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def row(given: dict[str, float]) -> str:
    """A line of the table."""
    names = ("text", "index", "seconds", "resident", "raw50", "raw99", "default50", "default99", "rate")
    return f"| {int(given['passages']):,} | " + " | ".join(f"{given[name]:,.1f}" for name in names) + " |"


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description="What one machine holds.")
    parser.add_argument("--passages", default="10000,100000")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.one, given.questions)))
        return 0
    rows = [HEAD]
    for size in given.passages.split(","):
        command = [sys.executable, "-m", "bench.scale", "--one", size, "--questions", str(given.questions)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - this very file
        rows.append(row(json.loads(done.stdout)))
    busy = f"{os.cpu_count()} processors, {os.getloadavg()[0]:.1f} processes ready to run on average while measured."
    write_between(DOCS, "scale", "\n".join(rows) + "\n\n" + busy)
    print("\n".join([*rows, busy]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

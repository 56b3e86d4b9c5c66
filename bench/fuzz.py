"""A bounded run of a fuzzer over the readers: replies, lexicons, profiles, noise rules.

    python -m bench.fuzz [TARGET...] [--seconds N] [--seed N]

With atheris installed it is guided by coverage; without, inputs are mutated blindly. What breaks a
claim is kept in tests/hostile/found/TARGET/, where `make test` asks it again from then on.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.fuzz_targets import SEEDS, TARGETS, claim

HERE = Path(__file__).resolve().parent.parent
FOUND = HERE / "tests" / "hostile" / "found"
LARGEST = 4096  # bytes of an input
SLOWEST = 5.0  # seconds that one input may take
# Pieces that a blind mutation puts in: what these formats are made of.
PIECES = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"=>",
    b"|",
    b"#",
    b"\\",
    b"\n",
    b"<think>",
    b"```",
    b"\xed\xa0\x80",
)


def guided(target: str, seconds: int, seed: int) -> int:
    """A run of atheris in a process of its own, which ends with the first input that breaks a claim.

    Returns:
        The process's exit status: 0 when nothing was found.
    """
    kept = FOUND / target
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        for data in (*SEEDS[target], *(path.read_bytes() for path in sorted(kept.iterdir()))):
            (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        options = [f"-max_total_time={seconds}", f"-max_len={LARGEST}", f"-timeout={int(SLOWEST)}", f"-seed={seed}"]
        command = [sys.executable, "-m", "bench.fuzz_one", target, *options, f"-artifact_prefix={kept}/", folder]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)  # noqa: S603
        lines = done.stderr.splitlines()
        told = [line for line in lines if "Done" in line]
        if done.returncode:
            told = [line for line in lines if not re.match(r"#\d", line)][-30:]
        print("\n".join(told))
        return done.returncode


def mutations(target: str, chance: random.Random) -> Iterator[bytes]:
    """Inputs made of the seeds and of what was found before, without end."""
    known = [*SEEDS[target], *(path.read_bytes() for path in sorted((FOUND / target).glob("*")))]
    while True:
        data = bytearray(chance.choice(known)[:LARGEST])
        for _ in range(chance.randint(1, 8)):
            at, how = chance.randint(0, len(data)), chance.random()
            if how < 0.3:
                data[at:at] = chance.choice(PIECES)
            elif how < 0.5:
                data[at:at] = chance.randbytes(chance.randint(1, 4))
            elif how < 0.8:
                del data[at : at + chance.randint(1, 16)]
            else:
                other = chance.choice(known)
                data[at:at] = other[chance.randint(0, len(other)) :][:200]
        yield bytes(data[:LARGEST])


def blind(target: str, seconds: int, seed: int) -> int:
    """A run without coverage; 1 when a claim was broken, and the input is kept."""
    until, number = time.monotonic() + seconds, 0
    for data in mutations(target, random.Random(seed)):
        number += 1
        began = time.monotonic()
        if began > until:
            break
        try:
            TARGETS[target](data)
            claim(time.monotonic() - began < SLOWEST, f"took more than {SLOWEST:g} s")
        except Exception:  # whatever comes out of a reader here is what is looked for
            path = FOUND / target / f"found-{hashlib.sha256(data).hexdigest()[:16]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            traceback.print_exc()
            print(f"kept as {path.relative_to(HERE)}")
            return 1
    print(f"{number:,} inputs")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz each target for the time given."""
    parser = argparse.ArgumentParser(prog="bench.fuzz", description="A bounded run of a fuzzer over the readers.")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=4)
    given = parser.parse_args(arguments)
    run = guided if importlib.util.find_spec("atheris") else blind
    broken = []
    for target in given.targets or TARGETS:
        print(f"{target}: {given.seconds} s, {run.__name__}", flush=True)
        if run(target, given.seconds, given.seed):
            broken.append(target)
    if broken:
        print(f"claims broken: {', '.join(broken)}; the inputs are in tests/hostile/found", file=sys.stderr)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())

"""Follow-ups beside a person's stand-alone questions: as asked, with what `carry` carries, with every turn before it.

    python -m bench.conversation [DATA] [--out FILE]

Over the folders `canard` and `cast` of DATA (or DRAGOMAN_DATA; `../shared/data` by default), whose rows
are `history`, `raw` and a person's `rewrite`. The constants of `carry` were set on one half of the
conversations, which one is drawn by a digest of a conversation's id; the figures are of the other.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.marked import write_between
from dragoman.evaluate.compare import compare
from dragoman.evaluate.fidelity import Pair, kept_terms, read_pairs, token_f1
from dragoman.rewriters.carry import Carry
from dragoman.types import Question, Rewriting

HERE = Path(__file__).resolve().parent.parent
FOLDERS = ("canard", "cast")


def seen(pair: Pair) -> bool:
    """Whether its conversation is of the half that the constants were set on."""
    conversation = pair.id.rsplit("_", 2)[0] if pair.id.startswith("C_") else pair.id.rsplit("_", 1)[0]
    return hashlib.sha1(conversation.encode(), usedforsecurity=False).digest()[0] % 2 == 0


def carried(question: Question) -> str:
    """What `carry` makes of it."""
    return Carry()(Rewriting.of(question)).query


def whole(question: Question) -> str:
    """Every turn before it, and the question."""
    return " ".join([*(turn.text for turn in question.history or ()), question.text])


ARMS: Mapping[str, Callable[[Question], str]] = {
    "as asked": lambda question: question.text,
    "carry": carried,
    "every turn before it": whole,
}


def rows(name: str, pairs: Sequence[Pair]) -> list[str]:
    """The table's rows for one side of one collection."""
    raw = np.array([token_f1(pair.question.text, pair.rewrite) for pair in pairs])
    lines = []
    for arm, make in ARMS.items():
        began = time.perf_counter()
        said = [make(pair.question) for pair in pairs]
        each = (time.perf_counter() - began) / len(pairs)
        f1 = np.array([token_f1(text, pair.rewrite) for text, pair in zip(said, pairs, strict=True)])
        kept = np.mean([kept_terms(text, p.rewrite, whole(p.question)) for text, p in zip(said, pairs, strict=True)])
        alone = [text == p.question.text for text, p in zip(said, pairs, strict=True) if _same(p)]
        against = compare(raw, f1)
        told = f"{against.delta:+.3f} [{against.low:+.3f}, {against.high:+.3f}]" if arm != "as asked" else ""
        lines.append(
            f"| {name} | {len(pairs)} | {arm} | {f1.mean():.3f} | {told} | {kept:.3f} "
            f"| {np.mean(alone):.3f} | {1e6 * each:.0f} |"
        )
    return lines


def _same(pair: Pair) -> bool:
    return pair.rewrite.strip() == pair.question.text.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is there; print and perhaps write the table."""
    parser = argparse.ArgumentParser(prog="bench.conversation", description="Follow-ups made stand-alone.")
    default = os.environ.get("DRAGOMAN_DATA", str(HERE.parent / "shared" / "data"))
    parser.add_argument("data", nargs="?", type=Path, default=Path(default))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    lines = [
        "| collection | questions | | token F1 | difference to as asked, 95 % | telling words kept | left as a person "
        "left it | µs each |",
        "|---|---:|---|---:|---|---:|---:|---:|",
    ]
    for folder in FOLDERS:
        file = given.data / folder / "rewrites.jsonl"
        if not file.is_file():
            print(f"{folder}: skipped, there is no {file}")
            continue
        pairs = read_pairs(file)
        lines += rows(folder, [pair for pair in pairs if not seen(pair)])
        lines += rows(f"{folder}, the half seen", [pair for pair in pairs if seen(pair)])
    report = "\n".join(lines)
    print(report)
    if given.out:
        write_between(given.out, "conversation", report)
    return 0


if __name__ == "__main__":
    sys.exit(main())

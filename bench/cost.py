"""What the chain without a model costs, at size.

    python -m bench.cost [--passages N] [--entries N] [--remembered N] [--pairs N] [--questions N]

Passages are made by shuffling the sentences of the shipped example, so that words are as frequent as
words are; their vectors are drawn at random, since nearness of nonsense costs what nearness of sense
does. The question's own embedding is the real model's and is counted. The index is kept in `.bench/`.
Times are medians of this machine; compare them within one run only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.learned import OfEmbedder
from dragoman import portal
from dragoman.demo import example
from dragoman.dragoman import Dragoman
from dragoman.errors import IndexStateError
from dragoman.learn import Pair, learn
from dragoman.profile import Profile, load_profile
from dragoman.profile_file import StepUse
from dragoman.profile_steps import Parts
from dragoman.retrievers import build_index, open_index
from dragoman.retrievers.embedders import Embedder, load_embedder
from dragoman.rewriters.memory import Memory
from dragoman.rewriters.memory_store import MemoryStore
from dragoman.types import Question

KEPT = Path(__file__).resolve().parent.parent / ".bench"
SEED = 7
TITLE = 60  # characters of a sentence that make a title
SENTENCE = re.compile(r"\. |\n")


class Composed:
    """The default embedder for a question; for the batches of a build, the mean of the sentences' own vectors."""

    def __init__(self) -> None:
        self._real: Embedder = load_embedder("default")
        self.name = "callable:bench"
        self.fingerprint = ""

    @cached_property
    def _known(self) -> dict[str, NDArray[np.float32]]:
        known = sentences()
        vectors = dict(zip(known, self._real(known), strict=True))
        return vectors | {text[:TITLE]: vector for text, vector in vectors.items()}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n_texts, 384), float32, rows of norm 1."""
        if len(texts) < 8:
            return self._real(texts)
        rows = np.stack([self._composed(text) for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def _composed(self, text: str) -> NDArray[np.float32]:
        parts = [part.strip() for part in SENTENCE.split(text)]
        found = [self._known[part] for part in parts if part in self._known]
        return np.asarray(np.mean(found, axis=0) if found else self._real([text])[0], np.float32)


def sentences() -> list[str]:
    """Every sentence of the example."""
    rows = (example() / "corpus.jsonl").read_text("utf-8").splitlines()
    return [part.strip() for row in rows for part in json.loads(row)["text"].split(". ") if part.strip()]


def questions(count: int) -> list[str]:
    """Questions of the example, made different by a word of it."""
    rows = [json.loads(row)["text"] for row in (example() / "queries.jsonl").read_text("utf-8").splitlines()]
    words = [word for sentence in sentences() for word in sentence.split()]
    draw = random.Random(SEED)
    return [f"{rows[number % len(rows)]} {draw.choice(words)}" for number in range(count)]


def corpus(passages: int) -> Path:
    """A file of so many passages."""
    path = KEPT / f"corpus-{passages}.jsonl"
    if not path.exists():
        KEPT.mkdir(exist_ok=True)
        draw, known = random.Random(SEED), sentences()
        with path.open("w", encoding="utf-8") as file:
            for number in range(passages):
                text = ". ".join(draw.choices(known, k=5))
                file.write(json.dumps({"_id": f"d{number}", "title": draw.choice(known)[:TITLE], "text": text}) + "\n")
    return path


def lexicon(entries: int) -> Path:
    """A lexicon of so many entries, some of which the questions meet."""
    path = KEPT / f"lexicon-{entries}.txt"
    if not path.exists():
        own = (example() / "lexicon.txt").read_text("utf-8")
        path.write_text(own + "\n".join(f"term{n} said{n}, word{n}" for n in range(entries)) + "\n", "utf-8")
    return path


def profile(entries: int, remembered: int, embedder: Composed) -> Profile:
    """The default steps with that lexicon and a memory of so many questions."""
    store = KEPT / f"memory-{remembered}.sqlite"
    base = load_profile("default")
    if not store.exists():
        memory = Memory(MemoryStore(store, base.name), OfEmbedder(embedder))
        asked = questions(remembered)
        memory.remember((f"{text} {n}", (f"{text[:40]} search {n}",)) for n, text in enumerate(asked))
        memory.close()
    steps = [step for step in base.steps if step != StepUse("memory")]
    at = next(n for n, step in enumerate(steps) if isinstance(step, StepUse) and step.use == "lexicon")
    steps.insert(at + 1, StepUse("memory"))
    return replace(base, lexicons=(lexicon(entries),), memory=store, steps=tuple(steps))


def timed(work: Callable[[str], object], asked: Sequence[str]) -> tuple[float, float]:
    """Milliseconds a question at p50 and p99."""
    took = []
    for text in asked:
        began = time.perf_counter()
        work(text)
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took), float(np.percentile(took, 99))


def imported() -> tuple[float, float]:
    """Milliseconds of a bare interpreter, and of one that imports the package; in turns, medians of ten."""

    def run(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603  our own interpreter
        return (time.perf_counter() - began) * 1000

    pairs = [(run("pass"), run("import dragoman")) for _ in range(11)][1:]
    bare, package = zip(*pairs, strict=True)
    return statistics.median(bare), statistics.median(package)


def lines(given: argparse.Namespace) -> Iterator[str]:
    """Every figure, as it is measured."""
    bare, package = imported()
    yield f"import dragoman: {package - bare:.0f} ms more than a bare interpreter ({bare:.0f} ms), medians of ten"
    embedder = Composed()
    asked = questions(given.questions)
    yield "the question's embedding: {:.1f} ms at p50, {:.1f} at p99".format(*timed(lambda t: embedder([t]), asked))
    place = KEPT / f"index-{given.passages}"
    try:
        open_index(place, embedder=embedder).close()
    except IndexStateError:
        began = time.perf_counter()
        build_index([corpus(given.passages)], place, embedder=embedder)
        took = time.perf_counter() - began
        yield f"indexed {given.passages:,} passages in {took:.0f} s, vectors composed and not computed"
    made = profile(given.entries, given.remembered, embedder)
    with open_index(place, embedder=embedder) as index:
        yield from _chains(made, Parts(retrievers=index.retrievers, vocabulary=index.vocabulary, models=False), asked)
    yield _learning(given.pairs)
    yield f"peak memory of it all: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def _chains(made: Profile, parts: Parts, asked: Sequence[str]) -> Iterator[str]:
    quick = replace(parts, only=("rules", "lexicon"))
    hall = made.build(quick)
    yield "rules and lexicon: {:.2f} ms at p50, {:.2f} at p99".format(*timed(hall.rewrite, asked))
    hall = made.build(parts)
    _ask(hall, asked[0])
    yield "the whole chain and the search: {:.1f} ms at p50, {:.1f} at p99".format(
        *timed(lambda text: _ask(hall, text), asked)
    )
    spent: dict[str, list[float]] = {}
    for text in asked[:100]:
        for step in hall.rewrite(f"{text} again").steps:
            spent.setdefault(step.name, []).append(step.seconds * 1000)
    yield "  of it, at p50: " + ", ".join(f"{name} {statistics.median(took):.2f} ms" for name, took in spent.items())


def _ask(hall: Dragoman, text: str) -> object:
    return portal.run(hall.asearch(Question(text)))


def _learning(pairs: int) -> str:
    draw, known = random.Random(SEED), sentences()
    asked = questions(pairs)
    made = (Pair(f"{text} {draw.choice(known)[:30]}", (draw.choice(known)[:60],)) for text in asked)
    place = KEPT / "learned.txt"
    for old in KEPT.glob("learned.txt*"):
        old.unlink()
    began = time.perf_counter()
    learned = learn(made, place)
    return f"learning from {learned.pairs:,} pairs: {time.perf_counter() - began:.0f} s"


def main() -> int:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="bench.cost", description="What the chain without a model costs, at size.")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=50_000)
    parser.add_argument("--remembered", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    for line in lines(parser.parse_args()):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

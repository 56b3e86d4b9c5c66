"""What being able to listen costs where nobody does: a chain of rules and a lexicon, with and without events.

    python -m bench.telemetry [--rounds N]

Three chains over the same questions, in turns within one run: the chain as it is with no listener, the
same chain with every line about events taken out, and the chain with a listener that does nothing. Counts
this thread's processor time, so that a busy machine disturbs less, and takes each chain's best round. The
bare chain runs twice in every turn, as if it were two: how far these are apart is what cannot be measured.
"""

from __future__ import annotations

import argparse
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.errors import RewriteError
from dragoman.profile import load_profile
from dragoman.protocols import Rewriter
from dragoman.rewriters.chain import Chain, Run, Together, Unfinished, _outcome, _record, _within_budget, drive
from dragoman.telemetry import Event, Events
from dragoman.types import Outcome, Rewriting

QUESTIONS = (
    "Hi there, whats the fastest i can go on a residential street with no sign? Thanks a lot!",
    "what happens if i get pulled over without my license",
    "can i get in trouble for texting at a red light",
    "Hello, I hope you are well. My daughter just started to drive and I wondered: do kids need booster seats?",
    "speed limit in a school zone",
)
REPEATS = 4  # of each question in a round; short, so that some rounds are left in peace
PROFILE = "road-law"


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds a question: the bare chain, the same once more, with nobody listening, with somebody."""

    bare: float
    again: float
    silent: float
    heard: float


def without_events(steps: Sequence[Rewriter]) -> Callable[[Rewriting], object]:
    """`Chain` as it would be had nobody ever listened: every line but those about events."""

    def turn(step: Rewriter, rewriting: Rewriting) -> Run:
        if isinstance(step, Chain | Together):
            raise TypeError(f"{step.name} holds steps; this measures a plain chain")
        if (rewriting.off_topic or rewriting.settled) and (getattr(step, "gated", True) or rewriting.off_topic):
            return _record(rewriting, rewriting, step.name, Outcome.SKIPPED, 0.0, "settled")
        began = time.perf_counter()
        try:
            given = step(rewriting)
            if inspect.isawaitable(given):
                after: Rewriting = yield Unfinished(_within_budget(given, None), rewriting)
            else:
                after = given
        except RewriteError as error:
            took = time.perf_counter() - began
            return _record(rewriting, rewriting, step.name, Outcome.FAILED, took, str(error))
        took = time.perf_counter() - began
        return _record(rewriting, after, step.name, _outcome(rewriting, after), took)

    def run(rewriting: Rewriting) -> Run:
        for step in steps:
            rewriting = yield from turn(step, rewriting)
        return rewriting

    return lambda rewriting: drive(run(rewriting))


def measure(rounds: int) -> Figures:
    """The three chains in turns; which goes first changes from round to round."""
    hall = load_profile(PROFILE).build()
    steps = [step for step in hall.chain.steps if step.name in ("rules", "lexicon")]
    bare = without_events(steps)
    chains: list[Callable[[Rewriting], object]] = [bare, bare, Chain(steps), Chain(steps, events=Events((_nothing,)))]
    asked = [Rewriting.of(question) for question in QUESTIONS]
    best = [float("inf")] * len(chains)
    for number in range(rounds):
        for place in range(len(chains)):
            which = (number + place) % len(chains)
            best[which] = min(best[which], _round(chains[which], asked))
    return Figures(*best)


def _round(chain: Callable[[Rewriting], object], asked: Sequence[Rewriting]) -> float:
    began = time.thread_time()
    for _ in range(REPEATS):
        for rewriting in asked:
            chain(rewriting)
    return (time.thread_time() - began) / (REPEATS * len(asked))


def _nothing(_: Event) -> None:
    """A listener."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.telemetry", description="What listening costs.")
    parser.add_argument("--rounds", type=int, default=300)
    found = measure(parser.parse_args(arguments).rounds)
    for what, seconds in (
        ("rules and lexicon, no code about events", found.bare),
        ("the same once more", found.again),
        ("the chain, nobody listening", found.silent),
        ("the chain, a listener that does nothing", found.heard),
    ):
        print(f"{what:<42}{seconds * 1e6:8.1f} µs a question   x {seconds / found.bare:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The learning curve of a memory: what it brings when it holds fewer of its questions.

The same arm, with a store of the first n remembered questions in the order they came in, and a nearness
learned from these alone: what would have been measured had one looked then.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.errors import ProfileError
from dragoman.evaluate.arms import ArmError, Bench, Made, Spec, make
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.evaluation import DEPTH
from dragoman.evaluate.measures import MAIN, per_question
from dragoman.evaluate.run import Progress, run_arm
from dragoman.profile import Profile
from dragoman.rewriters.memory import Memory
from dragoman.rewriters.memory_store import MemoryStore, Remembered, Vectors

SMALLEST = 50


@dataclass(frozen=True, slots=True)
class Point:
    """An arm's mean with so many questions remembered."""

    remembered: int
    mean: float


def growing(specs: Sequence[Spec], made: Sequence[Made]) -> list[Spec]:
    """The arms whose memory can be made smaller.

    Raises:
        ArmError: there is none.
    """
    names = [each.arm.name for each in made if _memories(each)]
    if not names:
        raise ArmError(
            "no arm recalls anything, so there is no learning curve; name an arm with the step memory, and a "
            "profile with memory.path"
        )
    return [spec for spec in specs if spec.name in names]


def _memories(made: Made) -> list[Memory]:
    return [] if made.hall is None else [step for step in made.hall.steps if isinstance(step, Memory)]


async def growth(
    spec: Spec, bench: Bench, collection: Collection, progress: Progress | None = None
) -> tuple[Point, ...]:
    """The arm with none remembered, with 50, 100, 200 and so on, and with all.

    Raises:
        ProfileError: the profile names no memory, or it holds nothing.
    """
    rows = remembered(bench.profile)
    points: list[Point] = []
    ids = [asked.id for asked in collection.judged]
    for count in counts(len(rows)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.sqlite"
            await asyncio.to_thread(_fill, path, bench.profile.name, rows[:count])
            made = make(spec, replace(bench, profile=replace(bench.profile, memory=path)), DEPTH)
            run = await run_arm(made.arm, collection.questions, progress)
            for memory in _memories(made):
                memory.close()
        points.append(Point(count, float(per_question(collection.qrels, run.run, ids)[MAIN].mean())))
    return tuple(points)


def counts(most: int) -> Iterator[int]:
    """0, 50, 100, 200, 400 … and `most`."""
    yield 0
    count = SMALLEST
    while count < most:
        yield count
        count *= 2
    yield most


def remembered(profile: Profile) -> list[Remembered]:
    """What the profile's memory holds, in the order it came in.

    Raises:
        ProfileError: the profile names no memory, or it holds nothing of this profile.
    """
    if profile.memory is None:
        raise ProfileError("the profile names no memory (memory.path), so there is no learning curve", profile.path)
    rows: list[Remembered] = []
    if profile.memory.exists():  # else opening it would begin one
        store = MemoryStore(profile.memory, profile.name)
        try:
            rows = store.rows()
        finally:
            store.close()
    if not rows:
        raise ProfileError(
            f"the memory {profile.memory} holds no question of this profile, so there is no learning curve; "
            "remember some first (dragoman memory --add FILE), or leave out --learning-curve",
            profile.path,
        )
    return rows


def _fill(path: Path, profile: str, rows: Sequence[Remembered]) -> None:
    store = MemoryStore(path, profile)
    try:
        store.put(rows)
        if rows:
            Memory(store, _Known(rows[0].model)).remember(())  # learns its nearness
    finally:
        store.close()


class _Known:
    """The vectors are in the store; nothing is embedded."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, text: str, /) -> Vectors:
        raise LookupError(f"{text!r} should be in the store with its vector")

"""The learning curve: what a memory brings when it holds fewer of its questions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from toy_corpus import PASSAGES, QUESTIONS, Words, toy

from dragoman.errors import ProfileError
from dragoman.evaluate import ArmError, make, read_specs
from dragoman.evaluate.arms import Bench
from dragoman.evaluate.growth import counts, growing, growth
from dragoman.evaluate.printed import growth as as_text
from dragoman.evaluate.printed import html_growth
from dragoman.evaluate.recorded import Ids
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts
from dragoman.rewriters.memory import Memory
from dragoman.rewriters.memory_store import MemoryStore
from dragoman.text import terms

ASKED = QUESTIONS | {"q3": "texting with my phone"}  # no word of which any passage holds
WORDS = sorted({word for text in [*ASKED.values(), *(text for text, _ in PASSAGES.values())] for word in terms(text)})


def vector(text: str) -> NDArray[np.float32]:
    """One dimension a word."""
    counted = np.array([terms(text).count(word) for word in WORDS] + [1e-3], np.float32)
    return np.asarray(counted / np.linalg.norm(counted), np.float32)


@dataclass(frozen=True)
class Near(Words):
    """The toy engine with vectors, as the memory wants them."""

    model: str = "toy"

    def vector(self, text: str) -> NDArray[np.float32]:
        return vector(text)


class Vector:
    name = "toy"

    def __call__(self, text: str) -> NDArray[np.float32]:
        return vector(text)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A memory in which the one past question that helps comes last but one."""
    path = tmp_path / "memory.sqlite"
    profile = replace(load_profile("default"), memory=path)
    memory = Memory(MemoryStore(path, profile.name), Vector())
    memory.remember((f"do i need number {n}", ("licence to be carried",)) for n in range(58))
    memory.remember([("texting with my phone at dusk", ("electronic message handheld telephone",))])
    memory.remember([("signal", ("signal before turning",))])
    memory.close()
    return Bench(profile, Parts(), Ids(toy(ASKED)), engine=lambda: (Near(),))


def test_the_curve_rises_when_what_helps_is_among_the_remembered(bench: Bench) -> None:
    (spec,) = [spec for spec in read_specs(["memory"]) if spec.steps]
    points = asyncio.run(growth(spec, bench, toy(ASKED)))
    assert [point.remembered for point in points] == [0, 50, 60]
    assert points[0].mean == points[1].mean < points[2].mean
    assert as_text("memory", points).splitlines()[1].split() == ["remembered", "0", "50", "60"]
    drawn = html_growth(points, 0.5)
    assert drawn.count("<circle") == len(points)
    assert ">raw</text>" in drawn


def test_the_store_itself_is_left_as_it_was(bench: Bench) -> None:
    (spec,) = [spec for spec in read_specs(["memory"]) if spec.steps]
    assert bench.profile.memory is not None
    store = MemoryStore(bench.profile.memory, bench.profile.name)
    before = (store.rows(), store.kept("nearness"))
    asyncio.run(growth(spec, bench, toy(ASKED)))
    assert [row.question for row in store.rows()] == [row.question for row in before[0]]
    assert store.kept("nearness") == before[1]
    store.close()


def test_points_double_until_all_are_remembered() -> None:
    assert list(counts(430)) == [0, 50, 100, 200, 400, 430]
    assert list(counts(50)) == [0, 50]
    assert list(counts(7)) == [0, 7]


def test_without_a_memory_there_is_no_curve(bench: Bench, tmp_path: Path) -> None:
    specs = read_specs(["rules", "memory"])
    without = replace(bench, profile=replace(bench.profile, memory=None))
    with pytest.raises(ArmError, match="learning curve"):
        growing(specs, [make(spec, without, 10) for spec in specs])
    with pytest.raises(ProfileError, match="names no memory"):
        asyncio.run(growth(specs[-1], without, toy(ASKED)))
    empty = replace(bench, profile=replace(bench.profile, memory=tmp_path / "empty.sqlite"))
    with pytest.raises(ProfileError, match="holds no question"):
        asyncio.run(growth(specs[-1], empty, toy(ASKED)))


def test_only_arms_that_recall_are_measured_again(bench: Bench) -> None:
    specs = read_specs(["rules", "memory"])
    assert [spec.name for spec in growing(specs, [make(spec, bench, 10) for spec in specs])] == ["memory"]

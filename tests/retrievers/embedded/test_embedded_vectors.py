from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.retrievers.embedded import vectors
from dragoman.retrievers.embedded.vectors import VectorTable, VectorWriter
from dragoman.retrievers.embedded.windows import LONGEST, MOST, short_title, windows

DIMENSIONS = 16


def unit(rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Vectors in clusters, as texts are, not spread evenly."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(max(rows // 20, 1), DIMENSIONS))
    made = centres[random.integers(len(centres), size=rows)] + 0.5 * random.normal(size=(rows, DIMENSIONS))
    normal: NDArray[np.float32] = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return normal


def table(place: Path, owners: list[int], made: NDArray[np.float32], replaced: tuple[int, ...] = ()) -> VectorTable:
    place.mkdir(exist_ok=True)
    writer = VectorWriter(place, "v")
    writer.add(owners, made)
    writer.close()
    return VectorTable(place, "v", DIMENSIONS, owners[-1] + 1, replaced)


def by_hand(
    made: NDArray[np.float32], owners: list[int], vector: NDArray[np.float32], depth: int, among: set[int]
) -> list[int]:
    best: dict[int, float] = {}
    for owner, row in zip(owners, made.astype(np.float16).astype(np.float32), strict=True):
        if owner in among:
            best[owner] = max(best.get(owner, -1.0), float(row @ vector))
    return sorted((n for n, score in best.items() if score > 0), key=lambda n: -best[n])[:depth]


def found(numbers: NDArray[np.uint32], scores: NDArray[np.float32]) -> list[int]:
    return [int(numbers[i]) for i in np.argsort(-scores, kind="stable")]


@given(
    windows_each=st.lists(st.integers(1, 4), min_size=1, max_size=40),
    depth=st.integers(1, 50),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_exact_search_is_the_best_window_of_each_living_allowed_passage(
    tmp_path_factory: pytest.TempPathFactory, windows_each: list[int], depth: int, seed: int, data: st.DataObject
) -> None:
    owners = [number for number, count in enumerate(windows_each) for _ in range(count)]
    numbers = range(len(windows_each))
    replaced = data.draw(st.sets(st.sampled_from(numbers)))
    allowed = data.draw(st.none() | st.sets(st.sampled_from(numbers)))
    made, (vector,) = unit(len(owners), seed), unit(1, seed + 1)
    searched = table(tmp_path_factory.mktemp("t"), owners, made, tuple(replaced))
    chosen = None if allowed is None else np.array(sorted(allowed), np.uint32)
    scores, got = searched.nearest(vector, depth, chosen)
    among = (set(numbers) if allowed is None else allowed) - replaced
    assert found(got, scores) == by_hand(made, owners, vector, depth, among)


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[VectorTable, NDArray[np.float32], list[int]]:
    pytest.importorskip("usearch")
    monkeypatch.setattr(vectors, "EXACT_UP_TO", 500)
    owners = [row // 2 for row in range(4000)]
    made = unit(4000)
    return table(tmp_path, owners, made, replaced=tuple(range(0, 2000, 7))), made, owners


def test_the_graph_finds_nearly_all_that_exact_search_finds(
    graph: tuple[VectorTable, NDArray[np.float32], list[int]],
) -> None:
    searched, made, owners = graph
    living = set(range(2000)) - set(range(0, 2000, 7))
    recall = []
    for vector in unit(30, seed=5):
        scores, numbers = searched.nearest(vector, 50, None)
        true = by_hand(made, owners, vector, 50, living)
        assert set(found(numbers, scores)) <= living
        recall.append(len(set(true) & set(found(numbers, scores))) / len(true))
    assert np.mean(recall) > 0.95


@pytest.mark.parametrize("share", [0.05, 0.6])
def test_filters_on_the_graph_still_fill_the_depth(
    graph: tuple[VectorTable, NDArray[np.float32], list[int]], share: float
) -> None:
    searched, made, owners = graph
    allowed = np.sort(np.random.default_rng(1).choice(2000, int(2000 * share), replace=False)).astype(np.uint32)
    living = set(allowed.tolist()) - set(range(0, 2000, 7))
    for vector in unit(10, seed=6):
        scores, numbers = searched.nearest(vector, 20, allowed)
        true = by_hand(made, owners, vector, 20, living)
        assert set(found(numbers, scores)) <= living
        assert len(numbers) == len(true) == 20
        assert len(set(true) & set(found(numbers, scores))) >= 18


def test_rows_added_later_are_found_beside_the_earlier_ones(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    made = unit(30)
    table(first, list(range(20)), made[:20])
    writer = VectorWriter(second, "v", first)
    writer.add(list(range(20, 30)), made[20:])
    writer.close()
    scores, numbers = VectorTable(second, "v", DIMENSIONS, 30, ()).nearest(made[25], 30, None)
    assert found(numbers, scores) == by_hand(made, list(range(30)), made[25], 30, set(range(30)))


def test_passages_as_near_as_the_last_one_are_all_given(tmp_path: Path) -> None:
    made = np.repeat(unit(3), 4, axis=0)
    scores, numbers = table(tmp_path, list(range(12)), made).nearest(made[0], 2, None)
    assert sorted(numbers.tolist()) == [0, 1, 2, 3]
    assert len(set(scores.tolist())) == 1


def test_a_short_document_is_one_window_under_its_title() -> None:
    assert windows("Stop signs", "A driver stops.") == ["Stop signs A driver stops."]
    assert windows("", "text") == ["text"]
    assert windows("Title", "") == ["Title"]


def test_a_long_document_is_cut_into_equal_windows_each_under_its_title() -> None:
    text = " ".join(f"w{n}" for n in range(LONGEST * 2 + 1))
    cut = windows("Title", text)
    assert [len(window.split()) for window in cut] == [55, 55, 54]
    assert all(window.startswith("Title ") for window in cut)
    assert " ".join(window.removeprefix("Title ") for window in cut) == text


def test_a_document_has_a_bounded_number_of_windows() -> None:
    assert len(windows("", "word " * 100_000)) == MOST


def test_what_follows_a_section_sign_is_not_the_title() -> None:
    assert short_title("Definitions§ 46.2-100.1. Certified mail") == "Definitions"
    assert short_title("§ 12 Lamps") == "§ 12 Lamps"


@pytest.mark.parametrize("depth", [10**18, 10**400])
def test_a_depth_beyond_any_corpus_gives_all_that_are_near(
    graph: tuple[VectorTable, NDArray[np.float32], list[int]], tmp_path: Path, depth: int
) -> None:
    searched, made, _ = graph
    few = table(tmp_path / "few", [0, 1], made[:2])
    for allowed in (None, np.arange(1_500, dtype=np.uint32)):
        near, most = searched.nearest(made[0], depth, allowed)[1], searched.nearest(made[0], 2_000, allowed)[1]
        assert set(near.tolist()) == set(most.tolist())
    assert len(few.nearest(made[0], depth, None)[1]) == len(few.nearest(made[0], 2, None)[1])

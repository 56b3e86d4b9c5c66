"""Vectors on disk and the search among them: exact while they are few, a graph (HNSW) beyond.

A passage has one vector, or one for each of its windows; it scores as its nearest. Rows lie in the order
of the passages' numbers. Two files a table: `NAME.f16`, the rows (n, dimensions) as float16, and
`NAME.owners.npy`, the number of each row's passage; beyond `EXACT_UP_TO` rows a third, `NAME.usearch`
(Malkov and Yashunin 2020).
"""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import MissingExtraError
from dragoman.retrievers.embedded.layout import mapped

Numbers: TypeAlias = NDArray[np.uint32]
Scores: TypeAlias = NDArray[np.float32]

# Measured on one core, 384 dimensions: 20,000 rows take some 2 to 3 ms, 30 MB and miss nothing.
EXACT_UP_TO = 20_000
# With these settings the graph over 31,419 embedded windows of passages finds .99 of the true first ten and .967 of
# the first hundred in .6 ms of one core; 256 finds .990 and .976 in .8. Half the bits of a float are enough to walk
# it, and cost a quarter less than float16: what it finds is scored again by the rows.
_CONNECTIVITY, _EXPANSION_ADD, _EXPANSION_SEARCH = 16, 128, 192
_COPIED_AT_ONCE = 8_192  # rows turned into float32 at a time while building
_DIGITS = 6  # the rest is noise in single precision, by which equal passages would not tie
_MOST_TIES = 1_000
_SUBSETS_KEPT = 4  # of at most EXACT_UP_TO rows, 30 MB each


class VectorWriter:
    """Appends rows to a new generation's table, beginning with an earlier one's."""

    def __init__(self, generation: Path, name: str, earlier: Path | None = None) -> None:
        self._rows = generation / f"{name}.f16"
        self._owners_file = generation / f"{name}.owners.npy"
        self._graph = generation / f"{name}.usearch"
        self._earlier_graph = earlier / self._graph.name if earlier is not None else None
        self._owners = array("I")
        self._dimensions = 0
        if earlier is not None:
            shutil.copyfile(earlier / self._rows.name, self._rows)
            self._owners.frombytes(np.load(earlier / self._owners_file.name).astype(np.uint32).tobytes())
        self._file = self._rows.open("ab")

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
        """Write rows, each belonging to the passage of the same place in `numbers` (ascending)."""
        self._dimensions = vectors.shape[1]
        self._file.write(vectors.astype(np.float16).tobytes())
        self._owners.extend(numbers)

    def close(self) -> None:
        """Finish the files, the graph too where there are enough rows for one."""
        self._file.close()
        np.save(self._owners_file, np.frombuffer(self._owners, np.uint32))
        if len(self._owners) > EXACT_UP_TO:
            self._build_graph()

    def _build_graph(self) -> None:
        dimensions = self._dimensions or self._rows.stat().st_size // 2 // len(self._owners)
        rows = np.memmap(self._rows, np.float16, "r", shape=(len(self._owners), dimensions))
        graph = _graph(dimensions)
        if self._earlier_graph is not None and self._earlier_graph.exists():
            graph.load(str(self._earlier_graph))  # of whatever numbers it was made
        for start in range(len(graph), len(rows), _COPIED_AT_ONCE):
            part = np.asarray(rows[start : start + _COPIED_AT_ONCE])
            graph.add(np.arange(start, start + len(part), dtype=np.uint64), part)
        graph.save(str(self._graph))

    def abandon(self) -> None:
        """Let go of the file; the generation will not count."""
        self._file.close()


def _graph(dimensions: int) -> Any:
    with suppress(ImportError):
        # Once usearch 2.26 is loaded, importing onnxruntime ends the process; the other way round is fine.
        import onnxruntime  # noqa: F401
    try:
        from usearch.index import Index
    except ImportError as exc:
        raise MissingExtraError(f"an index of more than {EXACT_UP_TO:,} vectors", "meaning") from exc
    return Index(
        ndim=dimensions,
        metric="ip",
        dtype="bf16",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
    )


class VectorTable:
    """One generation's rows, open for searching. Safe for any number of threads.

    It can be searched as long as it is kept, after its generation's files were removed too.

    Args:
        passages: how many numbers there are.
        replaced: numbers that are never found.
    """

    def __init__(self, generation: Path, name: str, dimensions: int, passages: int, replaced: Sequence[int]) -> None:
        self._owners: Numbers = np.load(generation / f"{name}.owners.npy")
        self._rows = np.memmap(generation / f"{name}.f16", np.float16, "r", shape=(len(self._owners), dimensions))
        self._alive = np.ones(passages, bool)
        self._alive[list(replaced)] = False
        self._one_each = len(self._owners) == passages
        self._subset = lru_cache(_SUBSETS_KEPT)(self._read_subset)
        self._walked = len(self._owners) > EXACT_UP_TO
        if self._walked:  # mapped here, for the file may be gone when the first question is asked
            self._file = mapped(generation / f"{name}.usearch")

    @cached_property
    def _graph(self) -> Any:
        graph = _graph(self._rows.shape[1])
        graph.view(self._file)
        return graph

    @cached_property
    def _all(self) -> NDArray[np.float32]:
        return self._rows.astype(np.float32)

    def __len__(self) -> int:
        return len(self._owners)

    def nearest(self, vector: NDArray[np.float32], depth: int, allowed: Numbers | None) -> tuple[Scores, Numbers]:
        """Cosines and numbers of the `depth` nearest passages among `allowed` (ascending; None: all).

        In no particular order. Passages as near as the last one are all given.
        """
        if allowed is not None and not len(allowed):
            return np.zeros(0, np.float32), np.zeros(0, np.uint32)
        if not self._walked:
            scores = self._best_of(self._all @ vector, self._owners)
            return _top(*self._living(*scores, allowed), depth)
        if allowed is not None:
            rows = self._rows_of(allowed)
            if len(rows) <= EXACT_UP_TO:
                vectors, owners = self._subset(allowed.tobytes())
                return _top(*self._living(*self._best_of(vectors @ vector, owners), None), depth)
        return self._by_graph(vector, depth, allowed)

    def mean_rows(self, numbers: Numbers) -> NDArray[np.float32]:
        """One vector of norm 1 for each of these passages: the mean direction of its rows."""
        starts, ends = (np.searchsorted(self._owners, numbers, side) for side in ("left", "right"))
        means = [self._rows[a:b].astype(np.float32).mean(0) for a, b in zip(starts, ends, strict=True)]
        rows = np.array(means, np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)

    def _rows_of(self, numbers: Numbers) -> NDArray[np.intp]:
        if self._one_each:
            return numbers.astype(np.intp)
        wanted = np.zeros(len(self._alive), bool)
        wanted[numbers] = True
        return np.flatnonzero(wanted[self._owners])

    def _read_subset(self, numbers: bytes) -> tuple[NDArray[np.float32], Numbers]:
        rows = self._rows_of(np.frombuffer(numbers, np.uint32))
        return self._rows[rows].astype(np.float32), self._owners[rows]

    def _best_of(self, scores: Scores, owners: Numbers) -> tuple[Scores, Numbers]:
        """Each passage's best row; `owners` ascending."""
        if self._one_each or not len(owners):
            return scores, owners
        starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
        return np.maximum.reduceat(scores, starts), owners[starts]

    def _living(self, scores: Scores, numbers: Numbers, allowed: Numbers | None) -> tuple[Scores, Numbers]:
        keep = self._alive[numbers]
        if allowed is not None:
            wanted = np.zeros(len(self._alive), bool)
            wanted[allowed] = True
            keep &= wanted[numbers]
        return (scores, numbers) if keep.all() else (scores[keep], numbers[keep])

    def _by_graph(self, vector: NDArray[np.float32], depth: int, allowed: Numbers | None) -> tuple[Scores, Numbers]:
        """Fetch more and more of the nearest rows until `depth` passages among them will do."""
        share = 1.0 if allowed is None else len(allowed) / len(self._alive)
        count = int(min(depth, len(self._alive)) * 1.5 / share) + 16
        while True:
            found = self._graph.search(vector.astype(np.float16), min(count, len(self._owners)))
            rows = np.sort(np.asarray(found.keys, np.intp))
            exact = self._rows[rows].astype(np.float32) @ vector
            scores, numbers = self._living(*self._best_of(exact, self._owners[rows]), allowed)
            if len(numbers) >= depth or count >= len(self._owners):
                return _top(scores, numbers, depth)
            count *= 4


def _top(scores: Scores, numbers: Numbers, depth: int) -> tuple[Scores, Numbers]:
    scores = scores.round(_DIGITS)
    near = scores > 0
    scores, numbers = scores[near], numbers[near]
    if len(scores) <= depth:
        return scores, numbers
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    # Equal passages at the cut are settled by their ids, which are not known here; a corpus of
    # thousands of equal ones is cut where it lies.
    best = np.flatnonzero(scores >= least)
    most = depth + _MOST_TIES
    if len(best) > most:
        best = best[np.argsort(-scores[best], kind="stable")[:most]]
    return scores[best], numbers[best]

"""The lexicon that `dragoman learn` wrote, reviewed block by block."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.errors import LexiconError
from dragoman.learn import Block, Review, Status, read_review, write_review
from dragoman.rewriters.entries import keys

_EXAMPLE = "e.g."


class LearnedFile:
    """The file, read anew for every view and written in one rename at every decision.

    What was decided is in force when the service is started again.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._writing = threading.Lock()

    def all(self) -> list[dict[str, Any]]:
        """Every block that learning wrote, those that wait for a person first.

        Raises:
            LexiconError: the file cannot be read.
        """
        blocks = [block for block in read_review(self.file).blocks if block.lines and block.status is not Status.OWN]
        return [_block_data(block) for block in sorted(blocks, key=lambda block: block.status is not Status.PENDING)]

    def holds(self, left: str) -> bool:
        """Whether a block looks for `left`.

        Raises:
            LexiconError: the file cannot be read.
        """
        return any(block.lines and keys(block.left) == keys(left) for block in read_review(self.file).blocks)

    def decide(self, left: str, status: Status, lines: Sequence[str] | None = None) -> dict[str, Any]:
        """Accept, reject or put back the block that looks for `left`; with other lines where they are given.

        Raises:
            LexiconError: there is no such block, or a line cannot be used.
        """
        with self._writing:
            review = read_review(self.file)
            if lines is not None:
                review = _said_otherwise(review, left, tuple(lines))
                left = next((block.left for block in review.blocks if block.lines == tuple(lines)), left)
            review = review.decide(left, status)
            write_review(review, self.file)
        return _block_data(next(block for block in review.blocks if block.lines and keys(block.left) == keys(left)))


def _said_otherwise(review: Review, left: str, lines: tuple[str, ...]) -> Review:
    found = [block for block in review.blocks if block.lines and keys(block.left) == keys(left)]
    if not found:
        raise LexiconError(f"no entry looks for {left!r}", review.path)
    changed = replace(found[0], lines=lines)
    if not changed.entries:
        raise LexiconError("no entry is left of it; reject it instead", review.path)
    return replace(review, blocks=tuple(changed if block is found[0] else block for block in review.blocks))


def _block_data(block: Block) -> dict[str, Any]:
    """A block as the page shows it: its evidence apart from its examples."""
    return {
        "left": block.left,
        "lines": list(block.lines),
        "status": block.status.value,
        "evidence": [line for line in block.evidence if not line.startswith(_EXAMPLE)],
        "examples": [line.removeprefix(_EXAMPLE).strip() for line in block.evidence if line.startswith(_EXAMPLE)],
        "remarks": list(block.remarks),
    }

"""The passages themselves, on disk: JSON lines, found by number through an array of their ends."""

from __future__ import annotations

import json
import shutil
from array import array
from codecs import utf_8_decode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedded.layout import PASSAGE_ENDS, PASSAGES, mapped

# Passages are some kilobytes each, so this stays under about 30 MB.
_KEPT_IN_MEMORY = 8_192
_IDS_KEPT_IN_MEMORY = 131_072  # some 10 MB
_JSON = json.JSONDecoder()
_ID_WITHIN = 256  # bytes of a line, within which nearly every id ends


class Passage(NamedTuple):
    """What a hit carries."""

    doc_id: str
    title: str
    text: str
    metadata: Mapping[str, str]


class PassageWriter:
    """Appends passages; a passage's number is how many stand before it."""

    def __init__(self, generation: Path, earlier: Path | None = None) -> None:
        self._generation = generation
        self._ends = array("Q")
        if earlier is not None:
            shutil.copyfile(earlier / PASSAGES, generation / PASSAGES)
            self._ends.frombytes(np.load(earlier / PASSAGE_ENDS).astype(np.uint64).tobytes())
        self._file = (generation / PASSAGES).open("ab")
        self._end = self._ends[-1] if self._ends else 0

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, document: Document) -> int:
        """Write one passage and return its number."""
        row = [document.doc_id, document.title, document.text, dict(document.metadata)]
        line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
        self._file.write(line)
        self._end += len(line)
        self._ends.append(self._end)
        return len(self._ends) - 1

    def close(self) -> None:
        """Finish both files."""
        self._file.close()
        np.save(self._generation / PASSAGE_ENDS, np.frombuffer(self._ends, np.uint64))

    def abandon(self) -> None:
        """Let go of the file; the generation will not count."""
        self._file.close()


class Passages:
    """Reads passages by number. Safe for any number of threads."""

    def __init__(self, generation: Path) -> None:
        self._ends = np.load(generation / PASSAGE_ENDS, mmap_mode="r").view(np.ndarray)  # plain: much faster to index
        self._lines = mapped(generation / PASSAGES)
        self._closed = False
        self.read = lru_cache(maxsize=_KEPT_IN_MEMORY)(self._read)
        self.doc_id = lru_cache(maxsize=_IDS_KEPT_IN_MEMORY)(self._read_id)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> Passage:
        self.check_open()
        return self.read(number)

    def check_open(self) -> None:
        """Raises RetrievalError where the index was closed."""
        if self._closed:
            raise RetrievalError("the index was closed; open it again")

    def _line(self, number: int) -> tuple[int, int]:
        """Where its line begins and ends."""
        return self._ends.item(number - 1) if number else 0, self._ends.item(number)

    def _read(self, number: int) -> Passage:
        start, end = self._line(number)
        try:
            doc_id, title, text, metadata = json.loads(str(self._lines[start:end], "utf-8"))
        except ValueError as exc:
            raise RetrievalError(f"passage {number} cannot be read ({exc}); build the index again") from exc
        return Passage(doc_id, title, text, metadata)

    def _read_id(self, number: int) -> str:
        start, end = self._line(number)
        try:
            # strict, but for a character that is cut in two at the end
            begun, _ = utf_8_decode(self._lines[start : min(end, start + _ID_WITHIN)], "strict", False)
            return str(_JSON.raw_decode(begun, len("["))[0])
        except ValueError:  # a very long id, or a damaged line
            return self.read(number).doc_id

    def close(self) -> None:
        """No further passage is given out; the file is let go of with the last hit that reads it."""
        self._closed = True

"""An index directory: what lies where, who may write, and the one rename that makes a build count.

    index/
      manifest.json       names the generation that counts, and how it was made
      generation-7/       words/ passages.jsonl passages.ends.npy vocabulary.jsonl vectors.npy ...
      lock                held while a builder writes

A builder fills a new generation beside the one that counts, flushes it to the disk and renames a new
manifest over the old. Killed before that rename, it leaves a generation that nothing names, which the
next builder clears away; a reader never sees it. Files of a generation never change once named.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from dragoman.errors import IndexStateError

T = TypeVar("T")
FORMAT = 1
MANIFEST = "manifest.json"
LOCK = "lock"
WORDS = "words"
PASSAGES = "passages.jsonl"
PASSAGE_ENDS = "passages.ends.npy"
VOCABULARY = "vocabulary.jsonl"
_GENERATION = "generation-"
# Reading 8 MB takes some 5 ms; a file above it is held to its length when opened, and to its
# checksum by `EmbeddedIndex.verify`.
_CHECKED_WHEN_OPENED = 8 * 1024 * 1024


def mapped(path: Path) -> mmap.mmap:
    """A file's bytes; they can be read as long as this is kept, after the file was removed too.

    Raises:
        OSError, ValueError: it is not there, or empty.
    """
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@dataclass(frozen=True, slots=True)
class Model:
    """Which embedder made an index's vectors.

    Attributes:
        name: as `load_embedder` reads it, or a callable's own name.
        fingerprint: sha256 of its weights where they are a file here; else empty.
        dimensions: of one vector.
        probe: the vector of a fixed sentence, rounded; another model gives another.
    """

    name: str
    fingerprint: str
    dimensions: int
    probe: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation holds.

    Attributes:
        numbers: passages written, replaced ones among them; a passage's number is its place.
        replaced: numbers of passages that a later one replaced.
        files: path inside the generation -> (bytes, CRC-32).
    """

    generation: str
    language: str
    documents: int
    numbers: int
    model: Model | None = None
    replaced: tuple[int, ...] = ()
    files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    format: int = FORMAT


def read_manifest(index: Path) -> Manifest:
    """The manifest of the index at `index`.

    Raises:
        IndexStateError: there is none, it is damaged, or it was written by another version.
    """
    path = index / MANIFEST
    try:
        row = json.loads(path.read_bytes())
    except FileNotFoundError:
        if not index.exists():
            raise IndexStateError("no such index; build it with `dragoman index SOURCE --out DIR`", index) from None
        what = "holds no finished index; build it with `dragoman index SOURCE --out DIR`"
        raise IndexStateError(what, index) from None
    except NotADirectoryError as exc:
        what = "is a file, not the folder of an index; build one with `dragoman index SOURCE --out DIR`"
        raise IndexStateError(what, index) from exc
    except (OSError, ValueError, RecursionError) as exc:
        raise unusable(f"{MANIFEST} cannot be read ({exc})", index, exc) from exc
    return _manifest(row, index)


def unusable(what: str, index: Path, exc: Exception) -> IndexStateError:
    """The error to raise where reading an index failed: what may not be read is not damaged."""
    if isinstance(exc, PermissionError):
        return IndexStateError(f"{exc.filename or what} may not be read by this user; give it the right to", index)
    return IndexStateError(f"damaged: {what}; build the index again", index)


def _manifest(row: Any, index: Path) -> Manifest:
    found = row.get("format") if isinstance(row, dict) else None
    if found != FORMAT:
        age = "an older" if isinstance(found, int) and found < FORMAT else "another"
        raise IndexStateError(
            f"made by {age} version of dragoman (format {found!r}, this one reads {FORMAT}); build the index again",
            index,
        )
    try:
        return _checked(row)
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise unusable(f"{MANIFEST} makes no sense ({exc!r})", index, exc) from exc


def _checked(row: dict[str, Any]) -> Manifest:
    files = {name: (_is(int, size), _is(int, crc)) for name, (size, crc) in _is(dict, row["files"]).items()}
    replaced = tuple(_is(int, number) for number in _is(list, row["replaced"]))
    numbers, documents, generation = _is(int, row["numbers"]), _is(int, row["documents"]), _is(str, row["generation"])
    if not re.fullmatch(rf"{_GENERATION}\d+", generation, re.ASCII):
        raise ValueError("its generation is not named as one")
    if documents != numbers - len(replaced) or not all(0 <= number < numbers for number in replaced):
        raise ValueError("its counts of documents do not agree")
    model = None if row["model"] is None else _model(_is(dict, row["model"]))
    return Manifest(generation, _is(str, row["language"]), documents, numbers, model, replaced, files)


def _model(row: dict[str, Any]) -> Model:
    probe = tuple(float(x) for x in _is(list, row["probe"]))
    if not 0 < len(probe) == _is(int, row["dimensions"]):
        raise ValueError("its probe has other dimensions than its vectors")
    return Model(_is(str, row["name"]), _is(str, row["fingerprint"]), len(probe), probe)


def _is(kind: type[T], value: Any) -> T:
    if type(value) is not kind:  # True is no number here
        raise TypeError(f"found {type(value).__name__}, expected {kind.__name__}")
    return value


def check_files(index: Path, manifest: Manifest, *, wholly: bool = False) -> None:
    """Hold every file of the generation to its length, small ones (or all, `wholly`) to their checksum.

    Raises:
        IndexStateError: one is missing or not as it was written.
    """
    for name, (size, crc) in manifest.files.items():
        path = index / manifest.generation / name
        try:
            found = path.stat().st_size
            sound = found == size and ((size > _CHECKED_WHEN_OPENED and not wholly) or _crc(path) == crc)
        except (OSError, ValueError) as exc:
            raise unusable(f"{name} is missing ({exc})", index, exc) from exc
        if not sound:
            what = f"has {found:,} bytes, expected {size:,}" if found != size else "is not as it was written"
            raise IndexStateError(f"damaged: {name} {what}; build the index again", index)


def _crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            crc = zlib.crc32(block, crc)
    return crc


def inventory(generation: Path) -> dict[str, tuple[int, int]]:
    """Every file of a finished generation with its length and checksum, locks left out."""
    files = sorted(path for path in generation.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(generation).as_posix(): (path.stat().st_size, _crc(path)) for path in files}


@contextmanager
def writing(index: Path) -> Iterator[Path]:
    """A new, empty generation in `index`, which no other builder touches meanwhile.

    What an earlier builder left unfinished is cleared away first. On leaving, the generation is
    removed again unless `publish` made it count.

    Raises:
        IndexStateError: another builder writes there, or the directory holds something else.
    """
    _claim(index)
    with (index / LOCK).open("a+b") as lock:
        _hold(lock.fileno(), index)
        counting = _counting(index)
        _clear(index, counting)
        number = 1 + max((_number(path) for path in index.glob(_GENERATION + "*")), default=0)
        generation = index / f"{_GENERATION}{number}"
        generation.mkdir()
        try:
            yield generation
        finally:
            _clear(index, _counting(index))


def _claim(index: Path) -> None:
    try:
        index.mkdir(parents=True, exist_ok=True)
        strangers = [p.name for p in index.iterdir() if not (p.name in _OWN or p.name.startswith(_GENERATION))]
    except OSError as exc:
        raise IndexStateError(f"no index can be written here: {exc}; choose another folder", index) from exc
    if strangers and not (index / MANIFEST).exists():
        raise IndexStateError(f"not an index: it holds {strangers[0]!r}; choose an empty or new folder", index)


_OWN = frozenset({MANIFEST, MANIFEST + ".part", LOCK})


def _hold(lock: int, index: Path) -> None:
    """Lock the file for as long as it is open; the system lets go of it even when we are killed."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        import msvcrt

        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as exc:
            raise IndexStateError("another builder is writing here; wait until it has finished", index) from exc
    except OSError as exc:
        raise IndexStateError("another builder is writing here; wait until it has finished", index) from exc


def _counting(index: Path) -> str:
    """The generation that counts; empty when there is none, or when only a new build can help."""
    try:
        return read_manifest(index).generation
    except IndexStateError:
        return ""


def _number(generation: Path) -> int:
    ending = generation.name.removeprefix(_GENERATION)
    return int(ending) if ending.isdecimal() else 0


def _clear(index: Path, counting: str) -> None:
    for path in index.glob(_GENERATION + "*"):
        if path.name != counting:
            shutil.rmtree(path, ignore_errors=True)
    with suppress(FileNotFoundError):
        (index / (MANIFEST + ".part")).unlink()


def publish(index: Path, manifest: Manifest) -> None:
    """Flush the generation to the disk and make it the one that counts, by one rename."""
    generation = index / manifest.generation
    for path in [*generation.rglob("*"), generation, index]:
        _flush(path)
    part = index / (MANIFEST + ".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(index / MANIFEST)
    _flush(index)


def _flush(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no directory
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

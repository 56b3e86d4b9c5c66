"""A SQLite file that a rewriter keeps: told from other files, and begun anew where it has gone bad.

Whatever else is at the path is neither moved nor written to.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dragoman.errors import RewriteError
from dragoman.telemetry import log

Prepare: TypeAlias = Callable[[sqlite3.Connection], None]

_MAGIC = b"SQLite format 3\x00"  # how every SQLite file begins
_WAIT = 1.0  # seconds for another process's write; a question does not wait longer


@dataclass(frozen=True, slots=True)
class Kind:
    """What is kept: its name in messages, and the table and columns by which a file of it is known."""

    what: str
    table: str
    columns: tuple[str, ...]


def opened(path: Path, kind: Kind, prepare: Prepare, begin: bool = True) -> sqlite3.Connection:
    """The file; a damaged one is set aside as `NAME.damaged-<time>` and a new one begun.

    Args:
        prepare: makes the tables and what else is needed; called once the file is known to be of this kind.
        begin: False: the file is there, or that is an error; nothing is made and nothing set aside.

    Raises:
        RewriteError: there is something else at the path; without `begin`, also nothing or a damaged file.
        OSError, sqlite3.Error: it cannot be opened now, as where it is locked or may not be read or written.
    """
    if path.exists() and not path.is_file():
        raise RewriteError(f"{path} is no {kind.what}: it is a folder or a device; name a file")
    if begin:
        path.parent.mkdir(parents=True, exist_ok=True)
    elif not path.exists() or not path.stat().st_size:
        raise RewriteError(f"{path}: there is no {kind.what} yet; it is begun with the first accepted rewrite")
    try:
        return _connected(path, kind, prepare, begin)
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:  # its kinds say: locked, not to be read, read-only, full
            raise
        # Looked at only now: closing a file takes the locks off this process's other connections to it.
        if not _is_sqlite(path):
            raise RewriteError(f"{path} is no {kind.what}: it is no SQLite file; name another") from error
        if not begin:
            raise RewriteError(f"the {kind.what} {path} is damaged ({error}); its next use begins a new one") from error
    _set_aside(path, kind.what)
    return _connected(path, kind, prepare, begin)


def _connected(path: Path, kind: Kind, prepare: Prepare, begin: bool) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
    try:
        _see_kind(db, path, kind, begin)
        prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def _see_kind(db: sqlite3.Connection, path: Path, kind: Kind, begin: bool) -> None:
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    columns = {name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (kind.table,))}
    if (tables or not begin) and not columns.issuperset(kind.columns):
        raise RewriteError(f"{path} is no {kind.what}: it is a SQLite file of another kind; name another")


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _set_aside(path: Path, what: str) -> None:
    aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
    log.warning("the %s %s is damaged and set aside as %s", what, path, aside.name)
    for suffix in ("", "-wal", "-shm"):  # the log may hold rows that the file does not
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))

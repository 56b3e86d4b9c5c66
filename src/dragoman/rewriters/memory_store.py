"""What was accepted for past questions, on disk: questions, their searches, vectors, when, for which profile.

One SQLite file, safe for many processes. The store holds people's questions, so nothing opens one
unless it is named; what goes in is masked by who puts it in, and can be taken out again by age and
by question.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import RewriteError
from dragoman.rewriters.sqlite_file import Kind, opened
from dragoman.text import fold

Vectors: TypeAlias = NDArray[np.float32]

FORMAT = 1
KIND = Kind("memory", "remembered", ("profile", "folded", "question", "searches", "vectors"))
_SCHEMA = """
CREATE TABLE IF NOT EXISTS remembered (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    profile TEXT NOT NULL, folded TEXT NOT NULL, question TEXT NOT NULL, searches TEXT NOT NULL,
    model TEXT NOT NULL, vectors BLOB NOT NULL, at REAL NOT NULL,
    UNIQUE (profile, folded)
);
CREATE INDEX IF NOT EXISTS remembered_at ON remembered (at);
CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS taken_out (generation INTEGER NOT NULL);
INSERT INTO taken_out SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM taken_out);
CREATE TRIGGER IF NOT EXISTS out AFTER DELETE ON remembered BEGIN UPDATE taken_out SET generation = generation + 1; END;
"""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A past question and the searches that were accepted for it.

    Attributes:
        question: as it is kept, masked.
        searches: best first; at least one.
        vectors: of the question, then of each search; shape (1 + n_searches, dimensions), norm 1.
        model: the embedder that made the vectors, by name.
        at: when, in seconds since 1970.
        number: the row's; 0 while it has none.
    """

    question: str
    searches: tuple[str, ...]
    vectors: Vectors
    model: str
    at: float
    number: int = 0

    def __post_init__(self) -> None:
        if not self.question.strip() or not self.searches:
            raise ValueError("what is remembered is a question and at least one search")
        if self.vectors.shape[:1] != (1 + len(self.searches),) or self.vectors.ndim != 2:
            raise ValueError(f"{1 + len(self.searches)} vectors belong to it, not shape {self.vectors.shape}")


class MemoryStore:
    """The remembered questions of one file.

    A damaged file is set aside as `NAME.damaged-<time>` and a new one begun; any other file is left alone.

    Args:
        path: the file; its folder is made where it is missing.
        profile: whose questions these are; those of other profiles in the same file are not seen.
        begin: False: the file is there, or that is an error; nothing is made and nothing set aside.

    Raises:
        RewriteError: what is at the path is no memory; or the file cannot be opened, here and in every method.
    """

    def __init__(self, path: Path | str, profile: str = "", begin: bool = True) -> None:
        self.path, self.profile = Path(path), profile
        self._lock = threading.Lock()
        self._own = 0
        try:
            self._db = opened(self.path, KIND, self._prepare, begin)
        except (OSError, sqlite3.Error) as exc:
            raise RewriteError(f"the memory {self.path} cannot be opened: {exc}") from exc

    def _prepare(self, db: sqlite3.Connection) -> None:
        self._check_version(int(db.execute("PRAGMA user_version").fetchone()[0]))
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        # What is taken out is overwritten: nobody's question stays behind in a free page.
        db.execute("PRAGMA secure_delete = ON")
        db.executescript(_SCHEMA)
        db.execute(f"PRAGMA user_version = {FORMAT}")

    def _check_version(self, version: int) -> None:
        if version > FORMAT:
            raise RewriteError(f"the memory {self.path} is of a later version ({version}); update dragoman")

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._db
        except sqlite3.Error as exc:
            raise RewriteError(f"the memory {self.path} cannot be used: {exc}") from exc

    def put(self, entries: Iterable[Remembered]) -> int:
        """Remember; a question that is known already gets the new searches. How many were new or changed."""
        changed = 0
        with self._using() as db, _transaction(db):
            for entry in entries:
                key = (self.profile, fold(entry.question).strip())
                searches = json.dumps(entry.searches, ensure_ascii=False)
                known = db.execute(
                    "SELECT searches, model FROM remembered WHERE profile = ? AND folded = ?", key
                ).fetchone()
                if known == (searches, entry.model):
                    db.execute("UPDATE remembered SET at = ? WHERE profile = ? AND folded = ?", (entry.at, *key))
                    continue
                db.execute("DELETE FROM remembered WHERE profile = ? AND folded = ?", key)
                db.execute(
                    "INSERT INTO remembered (profile, folded, question, searches, model, vectors, at)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*key, entry.question, searches, entry.model, entry.vectors.astype("<f2").tobytes(), entry.at),
                )
                changed += 1
            self._own += changed
        return changed

    def state(self) -> tuple[int, int, int]:
        """Something that differs after every change: another process's writes, this one's, rows taken out."""
        with self._using() as db:
            version = int(db.execute("PRAGMA data_version").fetchone()[0])
            return version, self._own, int(db.execute("SELECT generation FROM taken_out").fetchone()[0])

    def rows(self, after: int = 0) -> list[Remembered]:
        """What is remembered, in the order it came in; only rows numbered above `after`."""
        with self._using() as db:
            found = db.execute(
                "SELECT id, question, searches, model, vectors, at FROM remembered"
                " WHERE profile = ? AND id > ? ORDER BY id",
                (self.profile, after),
            ).fetchall()
        return [_row(*row) for row in found]

    def forget(self, *, question: str | None = None, before: float | None = None) -> int:
        """Take out one question, or all that were last accepted before a time; both narrow. How many went.

        Args:
            question: as it is kept (masked, and as the steps before left it); case and typographic marks aside.
            before: seconds since 1970.

        Raises:
            ValueError: neither is given; `clear` takes out everything.
        """
        if question is None and before is None:
            raise ValueError("say which question, or before when; `clear` forgets everything")
        where, given = ["profile = ?"], [self.profile]
        values: list[str | float] = [*given]
        if question is not None:
            where.append("folded = ?")
            values.append(fold(question).strip())
        if before is not None:
            where.append("at < ?")
            values.append(before)
        with self._using() as db:
            # The conditions are this method's own words; what was given is bound.
            gone = db.execute(f"DELETE FROM remembered WHERE {' AND '.join(where)}", values).rowcount  # noqa: S608
            self._own += 1
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def clear(self) -> int:
        """Forget everything of this profile, what was learned from it too; how many questions that were."""
        with self._using() as db:
            gone = db.execute("DELETE FROM remembered WHERE profile = ?", (self.profile,)).rowcount
            db.execute("DELETE FROM kept WHERE name = ?", (self._name("nearness"),))
            self._own += 1
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def keep(self, name: str, value: Sequence[float]) -> None:
        """Keep a few numbers beside the questions, under a name."""
        with self._using() as db:
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (self._name(name), json.dumps(list(value))))

    def kept(self, name: str) -> tuple[float, ...]:
        """What was kept under that name; empty where nothing was."""
        with self._using() as db:
            row = db.execute("SELECT value FROM kept WHERE name = ?", (self._name(name),)).fetchone()
        return tuple(float(value) for value in json.loads(row[0])) if row else ()

    def _name(self, name: str) -> str:
        return f"{self.profile}\x1f{name}"

    def __len__(self) -> int:
        """How many questions of this profile are remembered."""
        with self._using() as db:
            row = db.execute("SELECT count(*) FROM remembered WHERE profile = ?", (self.profile,)).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _row(number: int, question: str, searches: str, model: str, vectors: bytes, at: float) -> Remembered:
    texts = tuple(str(text) for text in json.loads(searches))
    table = np.frombuffer(vectors, "<f2").astype(np.float32).reshape(1 + len(texts), -1)
    return Remembered(question, texts, table, model, at, number)

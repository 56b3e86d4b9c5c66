"""Accepted rewrites kept on disk, so that the same question asked again needs no model.

One SQLite file, safe for many processes. A key is a digest of everything the rewrite depends on:
the question and its history, what earlier steps made of it, and the step's own fingerprint (model,
prompt, rules, schema, limits, guards, masking). Failures are never stored, because a step that fails
raises and there is nothing to store. A cache that cannot be read or written costs its own use and
nothing else.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sqlite3
import threading
import time
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from dragoman.protocols import Rewriter
from dragoman.rewriters.sqlite_file import Kind, opened
from dragoman.telemetry import log
from dragoman.types import Rewriting, Search

FORMAT = 2
MAX_ENTRIES = 100_000
KIND = Kind("cache", "rewrites", ("key", "value", "used"))
EVICT = 0.1  # share dropped at once when full, so that a full cache does not evict at every write
_SCHEMA = """
CREATE TABLE IF NOT EXISTS rewrites (
    key BLOB PRIMARY KEY, value TEXT NOT NULL, used REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rewrites_used ON rewrites (used);
"""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache file holds, and how often this process found something in it."""

    entries: int
    size_bytes: int
    hits: int
    misses: int


class RewriteCache:
    """A bounded key-value file; the least recently written or refreshed go first.

    A damaged file is set aside as `NAME.damaged-<time>` and a new one begun; any other file is left alone.

    Args:
        path: the file; its folder is made where it is missing.
        max_entries: more than this and the oldest tenth is dropped.
        begin: False: the file is there, or that is an error; nothing is made and nothing set aside.

    Raises:
        RewriteError: what is at the path is no cache; without `begin`, also nothing or a damaged one.
        OSError, sqlite3.Error: it cannot be opened now, as where it is locked or may not be read or written.
    """

    def __init__(self, path: Path | str, max_entries: int = MAX_ENTRIES, begin: bool = True) -> None:
        if max_entries < 1:
            raise ValueError(f"a cache holds at least 1 entry, not {max_entries}")
        self.path = Path(path)
        self.max_entries = max_entries
        self.hits = self.misses = 0
        self._lock = threading.Lock()
        self._writes = 0
        self._db = opened(self.path, KIND, self._prepare, begin)

    @classmethod
    def usable(cls, path: Path | str) -> Self | None:
        """The cache; None where it cannot be opened now, which is logged.

        Raises:
            RewriteError: what is at the path is no cache.
        """
        try:
            return cls(path)
        except (OSError, sqlite3.Error) as error:
            log.warning("the cache %s cannot be opened, so no rewrite is kept: %s", path, error)
            return None

    def _prepare(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(_SCHEMA)
        if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("quick_check failed")

    def get(self, key: bytes) -> Any | None:
        """What was stored under `key`; None when nothing was."""
        try:
            with self._lock:
                row = self._db.execute("SELECT value FROM rewrites WHERE key = ?", (key,)).fetchone()
            value = None if row is None else json.loads(row[0])
        except (sqlite3.Error, ValueError) as error:
            log.warning("the rewrite cache cannot be read: %s", type(error).__name__)
            value = None
        if value is None:
            self.misses += 1
        else:
            self.hits += 1
        return value

    def put(self, key: bytes, value: Any) -> None:
        """Store `value`, which JSON must be able to carry."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        try:
            with self._lock:
                self._db.execute("INSERT OR REPLACE INTO rewrites VALUES (?, ?, ?)", (key, text, time.time()))
                self._writes += 1
                if self._writes % max(1, int(self.max_entries * EVICT)) == 1:
                    self._evict()
        except sqlite3.Error as error:
            log.warning("the rewrite cache cannot be written: %s", type(error).__name__)

    def _evict(self) -> None:
        surplus = self._count() - self.max_entries
        if surplus > 0:
            drop = surplus + int(self.max_entries * EVICT)
            self._db.execute(
                "DELETE FROM rewrites WHERE key IN (SELECT key FROM rewrites ORDER BY used LIMIT ?)", (drop,)
            )

    def _count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM rewrites").fetchone()[0])

    def stats(self) -> CacheStats:
        """Entries and bytes of the file; hits and misses of this process."""
        with self._lock:
            return CacheStats(self._count(), self.path.stat().st_size, self.hits, self.misses)

    def clear(self) -> int:
        """Forget everything; how many entries that were."""
        with self._lock:
            count = self._count()
            self._db.execute("DELETE FROM rewrites")
            self._db.execute("VACUUM")
            return count

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()


class Cached:
    """A rewriter whose accepted results are kept.

    Args:
        step: the rewriter; what it adds to a rewriting must depend on nothing but the rewriting
            and on what `fingerprint` names.
        cache: where results are kept.
        fingerprint: model, prompt, rules, guards: whatever changes the step's answers.
    """

    def __init__(self, step: Rewriter, cache: RewriteCache, fingerprint: str) -> None:
        self.step = step
        self.cache = cache
        self.fingerprint = fingerprint
        self.gated = getattr(step, "gated", True)

    @property
    def name(self) -> str:
        """The step's own name: the record and the weights know it by that."""
        return self.step.name

    def __call__(self, rewriting: Rewriting) -> Rewriting | Awaitable[Rewriting]:
        """What was kept, at once; else the step's answer, which is then kept."""
        key = self._key(rewriting)
        kept = self.cache.get(key)
        if kept is not None:
            try:
                return _restored(rewriting, kept).note("from the cache")
            except (KeyError, TypeError, ValueError):
                log.warning("an entry of the rewrite cache cannot be used and is replaced")
        given = self.step(rewriting)
        if inspect.isawaitable(given):
            return self._store_later(key, rewriting, given)
        return self._store(key, rewriting, given)

    async def _store_later(self, key: bytes, before: Rewriting, given: Awaitable[Rewriting]) -> Rewriting:
        return self._store(key, before, await given)

    def _store(self, key: bytes, before: Rewriting, after: Rewriting) -> Rewriting:
        self.cache.put(key, _kept(before, after))
        return after

    def _key(self, rewriting: Rewriting) -> bytes:
        question = rewriting.question
        parts = [
            str(FORMAT),
            self.name,
            self.fingerprint,
            question.text,
            rewriting.query,
            repr(rewriting.terms),
            repr([(s.text, s.origin) for s in rewriting.searches]),
            repr(None if question.history is None else [(m.role, m.text) for m in question.history]),
        ]
        return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()

    async def aclose(self) -> None:
        """Close the step and the cache."""
        close = getattr(self.step, "aclose", None)
        if close is not None:
            await close()
        self.cache.close()


def _kept(before: Rewriting, after: Rewriting) -> dict[str, Any]:
    known = set(before.searches)
    return {
        "rewritten": after.rewritten,
        "cleaned": after.cleaned,
        "expanded": after.expanded,
        "terms": after.terms,
        "off_topic": after.off_topic,
        "settled": after.settled,
        "searches": [asdict(search) for search in after.searches if search not in known],
    }


def _restored(before: Rewriting, kept: dict[str, Any]) -> Rewriting:
    searches = [
        Search(
            **{**s, "terms": tuple((t, w) for t, w in s["terms"]), "on": tuple(s["on"]), "vector": tuple(s["vector"])}
        )
        for s in kept["searches"]
    ]
    changed = replace(
        before,
        rewritten=kept["rewritten"],
        cleaned=kept.get("cleaned"),
        expanded=kept["expanded"],
        terms=tuple((term, weight) for term, weight in kept["terms"]),
        off_topic=bool(kept["off_topic"]),
        settled=str(kept["settled"]),
    )
    return changed.add(searches)

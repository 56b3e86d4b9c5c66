# ruff: noqa: S608 - names of tables and columns come from the configuration and are quoted; all else is bound
"""SQLite's full-text search (FTS5) as a retriever of words. It has no meaning ranking.

A table of passages and an FTS5 table over it, with the same rowids:

    CREATE TABLE passages (doc_id TEXT PRIMARY KEY, title TEXT, text TEXT, metadata TEXT);   -- JSON object
    CREATE VIRTUAL TABLE passages_words USING fts5(title, text, content=passages, tokenize='porter unicode61');

`index` lays both out. Every word is sent as a quoted string, so no search is ever query syntax.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from dragoman.deadline import remaining
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import Fields, Weighted, as_texts, asked_words, ranked
from dragoman.types import Hit, Metadata, Ranking, Search
from dragoman.vocabulary import Phrase, PhraseKind, Vocabulary, VocabularyBuilder

_STEPS = 20_000  # of SQLite's machine between two looks at the clock: about a millisecond
TITLE_WEIGHT = 2.0


class SQLite:
    """BM25 by FTS5 over a file, as a retriever that runs where it is called.

    FTS5 cannot weigh one word more than another, but its BM25 is a sum over the words: a search with
    weighted terms asks for each by itself and adds up, weighted.

    Args:
        path: the database file; it is opened for reading only.
        table: the passages' table, whose FTS5 table is `{table}_words`.
        fields: the names of its columns.
        title: how much more a word in the title counts than one in the text.
    """

    inline = True

    def __init__(
        self,
        path: Path | str,
        table: str = "passages",
        *,
        name: str = "sqlite.words",
        language: str = "en",
        fields: Fields | None = None,
        title: float = TITLE_WEIGHT,
    ) -> None:
        self.name, self.path, self.table, self.language = name, Path(path), table, language
        self.fields, self._title = fields or Fields(), title
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    @property
    def retrievers(self) -> tuple[SQLite]:
        """Itself, as the other engines give theirs."""
        return (self,)

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        """At most `depth` hits; it stops when the question's time is over.

        Raises:
            RetrievalError: the file or its tables cannot be read, or the time is over.
        """
        started = time.perf_counter()
        asked = asked_words(search, self.language)
        hits = self._find(asked, bool(search.terms), depth, filters) if asked and depth > 0 else []
        return Ranking(search, self.name, ranked(hits), time.perf_counter() - started)

    def _find(self, asked: Weighted, weighted: bool, depth: int, filters: Metadata) -> list[Hit]:
        found, values = self._matches(asked, weighted)
        f = self.fields
        fits = f"EXISTS (SELECT 1 FROM json_each(p.{_name(f.metadata)}) AS m WHERE m.key = ? AND m.value = ?)"
        where = "".join(f" AND {fits}" for _ in filters)
        columns = ", ".join(f"p.{_name(column)}" for column in (f.id, f.title, f.text, f.metadata))
        sql = (
            f"SELECT {columns}, found.score FROM ({found}) AS found "
            f"JOIN {_name(self.table)} AS p ON p.rowid = found.number WHERE found.score > 0{where} "
            f"ORDER BY found.score DESC, p.{_name(f.id)} DESC LIMIT ?"
        )
        values += [value for pair in filters.items() for value in pair]
        rows = self._read(sql, [*values, depth])
        return [Hit(str(i), score, title or "", text or "", _metadata(meta)) for i, title, text, meta, score in rows]

    def _matches(self, asked: Weighted, weighted: bool) -> tuple[str, list[object]]:
        """The query that gives `number` and `score` of every document with a word asked for."""
        words = _name(f"{self.table}_words")
        one = f"SELECT rowid AS number, ? * -bm25({words}, ?, 1.0) AS score FROM {words} WHERE {words} MATCH ?"
        if not weighted:
            return one, [1.0, self._title, " OR ".join(_quoted(word) for word, _ in asked)]
        values: list[object] = []
        for word, weight in asked:
            values += [weight, self._title, _quoted(word)]
        each = " UNION ALL ".join([one] * len(asked))
        return f"SELECT number, sum(score) AS score FROM ({each}) GROUP BY number", values

    def _read(self, sql: str, values: list[object]) -> list[tuple]:  # type: ignore[type-arg]
        left = remaining()
        until = None if left is None else time.monotonic() + left
        with self._lock:
            try:
                connection = self._connection()
                connection.set_progress_handler(
                    None if until is None else lambda: int(time.monotonic() > until), _STEPS
                )
                return connection.execute(sql, values).fetchall()
            except sqlite3.Error as exc:
                raise RetrievalError(
                    f"{self.name}: {self.path} cannot be searched: {exc}; expected a database with the tables "
                    f"{self.table!r} and '{self.table}_words' (FTS5)"
                ) from exc

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            uri = self.path.absolute().as_uri() + "?mode=ro"
            self._opened = sqlite3.connect(uri, uri=True, check_same_thread=False)
        return self._opened

    def close(self) -> None:
        """Close the file; the next search opens it again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def index(self, documents: Iterable[Document]) -> int:
        """Lay the tables out anew with these passages; says how many. One transaction: all or nothing."""
        self.close()
        f, table, words = self.fields, _name(self.table), _name(f"{self.table}_words")
        columns = [_name(column) for column in (f.id, f.title, f.text, f.metadata)]
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("BEGIN")
            for name in (words, table):
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            connection.execute(f"CREATE TABLE {table} ({columns[0]} TEXT PRIMARY KEY, {', '.join(columns[1:])})")
            connection.execute(
                f"CREATE VIRTUAL TABLE {words} USING fts5({columns[1]}, {columns[2]}, "
                f"content={table}, tokenize='porter unicode61')"
            )
            rows = ((d.doc_id, d.title, d.text, json.dumps(dict(d.metadata))) for d in documents)
            count = connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows).rowcount
            connection.execute(f"INSERT INTO {words}({words}) VALUES ('rebuild')")
        return max(count, 0)

    def vocabulary(self) -> Vocabulary:
        """The corpus's words with their document frequencies, and its headings.

        From FTS5's own counts (fts5vocab) where its tokenizer keeps words whole. One that stems
        (`porter`) knows no words any more: then the passages themselves are read once.

        Raises:
            RetrievalError: the file or its tables cannot be read.
        """
        f, table = self.fields, _name(self.table)
        (made,) = self._read("SELECT sql FROM sqlite_master WHERE name = ?", [f"{self.table}_words"]) or [("porter",)]
        if "porter" in made[0].casefold():
            builder = VocabularyBuilder(self.language)
            columns = f"coalesce({_name(f.title)}, ''), coalesce({_name(f.text)}, '')"
            for title, text in self._read(f"SELECT {columns} FROM {table}", []):
                builder.add(title, text)
            return builder.finish()
        words = dict(self._vocab())
        titles = self._read(
            f"SELECT {_name(f.title)}, count(*) FROM {table} WHERE {_name(f.title)} > '' GROUP BY 1", []
        )
        ((documents,),) = self._read(f"SELECT count(*) FROM {table}", [])
        phrases = [Phrase(title, PhraseKind.HEADING, count) for title, count in titles if title.strip()]
        return Vocabulary(documents, words, None, phrases, self.language)

    def _vocab(self) -> list[tuple[str, int]]:
        """FTS5's counts. The view is temporary: nothing is written into a file opened for reading."""
        name = _name(f"{self.table}_words")
        create = f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.dragoman_vocab USING fts5vocab(main, {name}, row)"
        self._read(create, [])
        return self._read("SELECT term, doc FROM temp.dragoman_vocab", [])


def _name(identifier: str) -> str:
    """An SQL name, quoted."""
    return '"' + identifier.replace('"', '""') + '"'


def _quoted(word: str) -> str:
    """An FTS5 string: a word, or several in a row, never syntax."""
    return '"' + word.replace('"', '""') + '"'


def _metadata(text: str | None) -> dict[str, str]:
    try:
        return as_texts(json.loads(text)) if text else {}
    except (ValueError, AttributeError) as exc:
        raise RetrievalError(f"metadata is {text!r:.80}, expected a JSON object; correct that row") from exc

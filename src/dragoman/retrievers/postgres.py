# ruff: noqa: S608 - names of tables and columns come from the configuration and are quoted; all else is bound
"""PostgreSQL: full text (tsvector) and meaning (pgvector) as two retrievers.

    CREATE TABLE passages (doc_id text PRIMARY KEY, title text, text text, metadata jsonb,
        words tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A') ||
                                            to_tsvector('english', text)) STORED,
        vector vector(384));

`index` lays it out, with a GIN index on `words` and on `metadata`. Any table with such columns will do.

Words. A tsquery can say where a word may stand (A to D) but not that one word counts more than
another, and ts_rank knows nothing of how rare a word is. So each word is ranked by itself and the ranks
are summed, times the word's weight, times its rarity, ln(1 + 1/f): f is the share of rows that hold it,
from PostgreSQL's own statistics of the column (pg_stats, kept by ANALYZE).
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from dragoman import portal
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import (
    Embed,
    Fields,
    QuestionVector,
    as_texts,
    asked_words,
    batches,
    body,
    need,
    reaching,
    vectors_of,
)
from dragoman.retrievers.postgres_sql import SHARES, bare, layout, quoted
from dragoman.retrievers.ways import TwoWays
from dragoman.text import LANGUAGES, terms
from dragoman.types import Hit, Metadata, Search
from dragoman.vocabulary import Phrase, PhraseKind, Vocabulary

if TYPE_CHECKING:
    import psycopg

CONNECTIONS = 16  # at most; PostgreSQL's own limit is 100 for everybody together
_WEIGHTS = "{0.5, 0.5, 0.5, 1}"  # of D, C, B and A: a word in the title counts twice; as it comes, ten times
_NORMALISE = 1  # ts_rank divides by 1 + ln(length): long passages hold more words by chance
_RARITIES_KEPT = 50_000
_BATCH = 256


class Postgres(TwoWays):
    """A table in a PostgreSQL database.

    Args:
        url: as libpq takes it; several hosts may be named, the first that answers is used.
        embed: makes the vectors of the `vector` column; without it there is no meaning ranking.
        language: whose stop words and text search configuration hold.
    """

    def __init__(
        self,
        url: str,
        table: str = "passages",
        *,
        embed: Embed | None = None,
        name: str = "postgres",
        language: str = "en",
        fields: Fields | None = None,
    ) -> None:
        need("PostgreSQL", "postgres", "psycopg")
        self.url, self.table, self.name, self.language = url, table, name, language
        self.fields = fields or Fields()
        self.config = LANGUAGES.get(language, "simple")
        self._question = None if embed is None else QuestionVector(embed)
        self._idle: list[psycopg.AsyncConnection[Any]] = []
        self._places = asyncio.Semaphore(CONNECTIONS)
        self._rarities: dict[str, float] = {}

    async def _words(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        asked = asked_words(search, self.language)
        if not asked:
            return []
        rare = await self._rare([word for word, _ in asked])
        words = quoted(self.fields.words)
        # As sub-selects they are computed once, not once a row, in a prepared statement too.
        one = f"(SELECT plainto_tsquery('{self.config}', %s))"
        ranks = " + ".join(f"%s::float8 * ts_rank('{_WEIGHTS}', {words}, {one}, {_NORMALISE})" for _ in asked)
        either = " || ".join(f"plainto_tsquery('{self.config}', %s)" for _ in asked)
        values: list[Any] = [value for word, weight in asked for value in (weight * rare[word], word)]
        values += [word for word, _ in asked]
        return await self._found(f"{words} @@ (SELECT {either})", ranks, values, depth, filters)

    async def _meaning(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        vector = await vectors_of(self._question, "meaning")(search.text)
        if vector is None:
            return []
        column, given = quoted(self.fields.vector), json.dumps(vector)
        select = self._select(f"1 - ({column} <=> %s::vector)", f"{column} IS NOT NULL", filters)
        # In the order of the operator itself, which an index on the column can give; ties by id on top.
        sql = f'{select} ORDER BY {column} <=> %s::vector, {self._id} COLLATE "C" DESC LIMIT %s'
        return await self._hits(sql, [given, *self._filter(filters), given, depth])

    async def _found(self, where: str, score: str, values: list[Any], depth: int, filters: Metadata) -> list[Hit]:
        select = self._select(score, where, filters)
        sql = f'SELECT * FROM ({select}) AS found WHERE score > 0 ORDER BY score DESC, id COLLATE "C" DESC LIMIT %s'
        return await self._hits(sql, [*values, *self._filter(filters), depth])

    def _select(self, score: str, where: str, filters: Metadata) -> str:
        f = self.fields
        fits = f" AND {quoted(f.metadata)} @> %s::jsonb" if filters else ""
        return (
            f"SELECT {self._id}::text AS id, {quoted(f.title)} AS title, {quoted(f.text)} AS text, "
            f"{quoted(f.metadata)} AS metadata, {score} AS score FROM {quoted(self.table)} WHERE {where}{fits}"
        )

    @property
    def _id(self) -> str:
        return quoted(self.fields.id)

    def _filter(self, filters: Metadata) -> list[str]:
        return [json.dumps(dict(filters))] if filters else []

    async def _hits(self, sql: str, values: Sequence[Any]) -> list[Hit]:
        rows = await self._rows(sql, values)
        return [Hit(i, float(score), title or "", text or "", as_texts(meta)) for i, title, text, meta, score in rows]

    async def _rare(self, words: Sequence[str]) -> dict[str, float]:
        """How telling each word is: ln(1 + 1/f); 1 for all until the table was analysed."""
        new = [word for word in words if word not in self._rarities]
        if new:
            if len(self._rarities) > _RARITIES_KEPT:
                self._rarities.clear()
                new = list(words)
            for word, share in await self._rows(SHARES, [bare(self.table), self.fields.words, self.config, new]):
                self._rarities[word] = 1.0 if share is None else math.log1p(1 / max(share, 1e-9))
        return {word: self._rarities.get(word, 1.0) for word in words}

    async def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with _reaching(self):
            import psycopg

            fresh = not self._idle
            try:
                return await self._execute(sql, values)
            except psycopg.OperationalError:
                # A connection kept from before may have died since; one made now says how things stand.
                if fresh:
                    raise
                await self._close()
                return await self._execute(sql, values)

    async def _execute(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        async with self._connection() as connection:
            cursor = await connection.execute(sql, values)
            return await cursor.fetchall()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """One that nobody else uses meanwhile. Unlike the client's own pool, a dead server is told at once."""
        async with self._places:
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                yield connection
            finally:
                if not connection.closed:
                    self._idle.append(connection)

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        import psycopg

        connection = await psycopg.AsyncConnection.connect(self.url, autocommit=True)
        # Without these an HNSW index gives 40 rows at most, and fewer where filters take some away.
        await connection.execute("SET hnsw.iterative_scan = strict_order")
        await connection.execute("SET hnsw.ef_search = 100")
        return connection

    async def _close(self) -> None:
        idle, self._idle = self._idle, []
        await asyncio.gather(*(connection.close() for connection in idle))

    async def aclose(self) -> None:
        """Close the connections; the next search opens others."""
        await portal.away(self._close())

    async def index(self, documents: Iterable[Document]) -> int:
        """Lay the table out anew with these passages; says how many. One transaction: all or nothing.

        Raises:
            RetrievalError: the server cannot be reached or refused; pgvector is missing.
        """
        return await portal.away(self._index(documents))

    async def _index(self, documents: Iterable[Document]) -> int:
        f, table = self.fields, quoted(self.table)
        names = (f.id, f.title, f.text, f.metadata, f.vector)
        columns = ", ".join(quoted(column) for column in (names if self._question else names[:-1]))
        dimensions = 0 if self._question is None else (await self._question.many(["how many"])).shape[1]
        count = 0
        with _reaching(self):
            async with self._connection() as connection, connection.transaction():
                await connection.execute("SET LOCAL client_min_messages = warning")
                await connection.execute(f"DROP TABLE IF EXISTS {table}")
                if self._question is not None:
                    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                await connection.execute(layout(self.table, f, self.config, dimensions))
                async with connection.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                    async for row in self._prepared(documents):
                        await copy.write_row(row)
                        count += 1
                await connection.execute(f"CREATE INDEX ON {table} USING gin ({quoted(f.words)})")
                await connection.execute(f"CREATE INDEX ON {table} USING gin ({quoted(f.metadata)} jsonb_path_ops)")
                await connection.execute(f"ANALYZE {table}")
        self._rarities.clear()
        return count

    async def _prepared(self, documents: Iterable[Document]) -> AsyncIterator[tuple[str | None, ...]]:
        for batch in batches(documents, _BATCH):
            rows = [(d.doc_id, d.title, d.text, json.dumps(dict(d.metadata))) for d in batch]
            if self._question is None:
                for row in rows:
                    yield row
                continue
            vectors = await self._question.many([body(document) for document in batch])
            for row, vector in zip(rows, vectors, strict=True):
                yield (*row, json.dumps(vector.tolist()) if vector.any() else None)

    async def vocabulary(self) -> Vocabulary:
        """The corpus's words with their document frequencies (ts_stat), and its headings.

        The server counts, in one pass over the table; the passages do not leave it.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(self._vocabulary())

    async def _vocabulary(self) -> Vocabulary:
        f, table = self.fields, quoted(self.table)
        title = f"coalesce({quoted(f.title)}, '')"
        counting = f"SELECT to_tsvector('simple', {title} || ' ' || coalesce({quoted(f.text)}, '')) FROM {table}"
        counted = await self._rows("SELECT word, ndoc FROM ts_stat(%s)", [counting])
        titles = await self._rows(f"SELECT {title}, count(*) FROM {table} WHERE {title} ~ '\\S' GROUP BY 1", [])
        ((documents,),) = await self._rows(f"SELECT count(*) FROM {table}", [])
        # What the server's parser keeps together (addresses, "x-ray") it also counts in pieces.
        words = {word: count for word, count in counted if terms(word) == [word]}
        phrases = [Phrase(text, PhraseKind.HEADING, count) for text, count in titles]
        return Vocabulary(documents, words, None, phrases, self.language)


def _reaching(engine: Postgres) -> AbstractContextManager[None]:
    import psycopg

    return reaching(engine.name, engine.url, (psycopg.Error, OSError))

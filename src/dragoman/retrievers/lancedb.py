"""LanceDB: words (its full-text index) and meaning, as two retrievers, from a folder or a bucket.

A table with the columns `doc_id`, `title`, `text`, `words` (title and text together, under a full-text
index), `vector`, and `metadata`, a list of texts, each a key and its value as a JSON list:
`["state", "North"]`. `index` lays it out. A table whose full-text index is on its text says so:
`Fields(words="text")`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from dragoman import portal
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import (
    Embed,
    Fields,
    QuestionVector,
    asked_words,
    batches,
    body,
    codes,
    need,
    reaching,
    rounded,
    settled,
    vectors_of,
    vocabulary_of,
)
from dragoman.retrievers.ways import TwoWays
from dragoman.text import LANGUAGES
from dragoman.types import Hit, Metadata, Search
from dragoman.vocabulary import Vocabulary

_BATCH = 2_048  # each becomes a fragment on disk
_FRESH = timedelta(seconds=5)  # how long another process's writes may go unseen


class LanceDB(TwoWays):
    """A table in LanceDB.

    Args:
        path: a folder, or an address as LanceDB takes it (`s3://…`).
        embed: makes the vectors of the `vector` column; without it there is no meaning ranking.
        language: whose stop words are left out of a search, and, when it is indexed, the index's stemmer.
    """

    def __init__(
        self,
        path: str,
        table: str = "passages",
        *,
        embed: Embed | None = None,
        name: str = "lancedb",
        language: str = "en",
        fields: Fields | None = None,
    ) -> None:
        need("LanceDB", "lancedb", "lancedb")
        self.path, self.table, self.name, self.language = path, table, name, language
        self.fields = fields or Fields()
        self._question = None if embed is None else QuestionVector(embed)
        self._database: Any = None  # the client's own types are partly missing
        self._opened: Any = None

    async def _words(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        asked = asked_words(search, self.language)
        if not asked:
            return []
        from lancedb.query import BooleanQuery, FullTextOperator, MatchQuery, Occur

        column = self.fields.words
        parts: list[Any] = []
        for word, weight in asked:
            # The index keeps a code in pieces: all of them must be there.
            every = FullTextOperator.AND if codes(word) else FullTextOperator.OR
            match: Any = MatchQuery  # its optional arguments are told as required
            parts.append((Occur.SHOULD, match(word, column, boost=weight, operator=every)))
        query = BooleanQuery(parts)

        async def fetch(limit: int) -> list[Hit]:
            asking = (await self._table()).query().nearest_to_text(query)
            return await self._hits(asking, limit, filters, "_score")

        return await settled(lambda limit: rounded(fetch(limit)), depth)

    async def _meaning(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        vector = await vectors_of(self._question, "meaning")(search.text)
        if vector is None:
            return []

        async def fetch(limit: int) -> list[Hit]:
            asking = (await self._table()).query().nearest_to(vector).column(self.fields.vector).distance_type("cosine")
            return await self._hits(asking, limit, filters, "_distance")

        return await settled(lambda limit: rounded(fetch(limit)), depth)

    async def _hits(self, asking: Any, limit: int, filters: Metadata, measure: str) -> list[Hit]:
        f = self.fields
        asking = asking.limit(limit).select([f.id, f.title, f.text, f.metadata, measure])
        if filters:
            asking = asking.where(" AND ".join(f"array_has({f.metadata}, {_mark(*pair)})" for pair in filters.items()))
        with _reaching(self):
            rows = await asking.to_list()
        hits = [
            Hit(
                str(row[f.id]),
                _score(row[measure], measure),
                row[f.title] or "",
                row[f.text] or "",
                _metadata(row[f.metadata]),
            )
            for row in rows
        ]
        return sorted(hits, key=lambda hit: -hit.score)

    async def _table(self) -> Any:
        if self._opened is None:
            with _reaching(self):
                self._opened = await (await self._connection()).open_table(self.table)
        return self._opened

    async def _connection(self) -> Any:
        if self._database is None:
            import lancedb

            self._database = await lancedb.connect_async(self.path, read_consistency_interval=_FRESH)
        return self._database

    async def _close(self) -> None:
        table, self._opened = self._opened, None
        database, self._database = self._database, None
        if table is not None:
            table.close()
        if database is not None:
            database.close()

    async def aclose(self) -> None:
        """Close the table; the next search opens it again."""
        await portal.away(self._close())

    async def index(self, documents: Iterable[Document]) -> int:
        """Lay the table out anew with these passages; says how many.

        Raises:
            RetrievalError: it cannot be written.
        """
        return await portal.away(self._index(documents))

    async def _index(self, documents: Iterable[Document]) -> int:
        with _reaching(self):
            from lancedb.index import FTS, LabelList

            f = self.fields
            schema = await self._schema()
            database = await self._connection()
            await database.drop_table(self.table, ignore_missing=True)
            table = await database.create_table(self.table, schema=schema)
            count = 0
            for batch in batches(documents, _BATCH):
                await table.add(await self._rows(batch, schema))
                count += len(batch)
            language = LANGUAGES.get(self.language, "english").capitalize()
            await table.create_index(f.words, config=FTS(language=language, stem=self.language in LANGUAGES))
            await table.create_index(f.metadata, config=LabelList())
            self._opened = table
        return count

    async def _schema(self) -> Any:
        pa, f = _arrow(), self.fields
        columns = {name: pa.string() for name in (f.id, f.title, f.text, f.words)}
        schema = pa.schema([*columns.items(), (f.metadata, pa.list_(pa.string()))])
        if self._question is None:
            return schema
        dimensions = (await self._question.many(["how many"])).shape[1]
        return schema.append(pa.field(f.vector, pa.list_(pa.float32(), dimensions)))

    async def _rows(self, batch: list[Document], schema: Any) -> Any:
        pa, f = _arrow(), self.fields
        columns: dict[str, list[Any]] = {
            f.id: [d.doc_id for d in batch],
            f.title: [d.title for d in batch],
            f.text: [d.text for d in batch],
            f.words: [body(d) for d in batch],
            f.metadata: [[json.dumps(pair, ensure_ascii=False) for pair in d.metadata.items()] for d in batch],
        }
        if self._question is not None:
            vectors = await self._question.many(columns[f.words])
            columns[f.vector] = [vector.tolist() if vector.any() else None for vector in vectors]
        return pa.table(columns, schema=schema)

    async def vocabulary(self) -> Vocabulary:
        """The corpus's words and phrases. LanceDB gives no counts, so every passage's text is read once.

        Raises:
            RetrievalError: it cannot be read.
        """
        return await portal.away(vocabulary_of(self._passages(), self.language))

    async def _passages(self) -> AsyncIterator[tuple[str, str]]:
        f = self.fields
        with _reaching(self):
            async for batch in await (await self._table()).query().select([f.title, f.text]).to_batches():
                for row in batch.to_pylist():
                    yield row[f.title] or "", row[f.text] or ""


def _arrow() -> Any:
    """LanceDB's own dependency, which has no types."""
    return importlib.import_module("pyarrow")


def _score(value: float, measure: str) -> float:
    return 1.0 - value if measure == "_distance" else value


def _mark(key: str, value: str) -> str:
    """A metadata entry as an SQL text."""
    return "'" + json.dumps((key, value), ensure_ascii=False).replace("'", "''") + "'"


def _metadata(marks: list[str] | None) -> dict[str, str]:
    return dict(map(json.loads, marks or ()))


def _reaching(engine: LanceDB) -> AbstractContextManager[None]:
    return reaching(engine.name, engine.path, (ValueError, RuntimeError, OSError))

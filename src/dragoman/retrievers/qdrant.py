"""Qdrant: words as sparse vectors (BM25, its rarity kept by Qdrant) and meaning, as two retrievers.

A collection whose points have a dense vector `vector` (cosine), a sparse one `words` with the `idf`
modifier, and a payload `{"doc_id", "title", "text", "metadata": {...}}`. `index` lays it out. The same
client serves a cluster (`http://host:6333`), a folder, and `:memory:`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from dragoman import portal
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import (
    Embed,
    EngineRetriever,
    Fields,
    QuestionVector,
    as_texts,
    asked_words,
    batches,
    body,
    need,
    reaching,
    rounded,
    settled,
    vectors_of,
    vocabulary_of,
)
from dragoman.retrievers.sparse import SAMPLED, average_length, of_document, of_search
from dragoman.retrievers.ways import TwoWays
from dragoman.types import Hit, Metadata, Search
from dragoman.vocabulary import Vocabulary

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client import models as m

MEMORY = ":memory:"
SECONDS = 60  # the client's own bound; a question's budget is shorter and cuts it
# Qdrant counts ranks from 0, so its 61 is the 60 of Cormack, Clarke and Buettcher (SIGIR 2009).
RRF_K = 61
_IDS = uuid.UUID("6b1f6c55-0a3e-4a1c-9a53-5d2c7d0f3c11")  # Qdrant's ids are numbers or UUIDs
_BATCH = 128


class Qdrant(TwoWays):
    """A collection in Qdrant.

    Args:
        url: `http://host:6333`, `:memory:`, or a folder.
        embed: makes the vectors named `vector`; without it there is no meaning ranking.
        language: whose stemmer and stop words the words ranking uses; as when it was indexed.

    A server that wants a key is given the one in the environment's QDRANT_API_KEY.
    """

    def __init__(
        self,
        url: str,
        collection: str = "passages",
        *,
        embed: Embed | None = None,
        name: str = "qdrant",
        language: str = "en",
        fields: Fields | None = None,
    ) -> None:
        need("Qdrant", "qdrant", "qdrant_client")
        self.url, self.collection, self.name, self.language = url, collection, name, language
        self.fields = fields or Fields()
        self._question = None if embed is None else QuestionVector(embed)
        self._opened: AsyncQdrantClient | None = None

    @cached_property
    def fused(self) -> EngineRetriever:
        """By both in one call, fused by Qdrant: `NAME.fused`, instead of the other two.

        As `fusion.rrf` over the two rankings, of `depth` hits each, fuses them, but for passages that tie in one
        of them: Qdrant puts those in an order of its own.

        Raises:
            ValueError: no embedder was given.
        """
        vectors_of(self._question, f"{self.name}.fused")
        return EngineRetriever(f"{self.name}.fused", self._fused, self._close)

    async def _words(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        return await self._found(self._sparse(search), self.fields.words, depth, filters)

    async def _meaning(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        vector = await vectors_of(self._question, "meaning")(search.text)
        return await self._found(vector, self.fields.vector, depth, filters)

    async def _found(
        self, query: m.SparseVector | list[float] | None, using: str, depth: int, filters: Metadata
    ) -> list[Hit]:
        if query is None or not _can_hold(filters):
            return []
        hits = partial(self._hits, filters, query=query, using=using or None)
        return await settled(lambda limit: rounded(hits(limit)), depth)

    async def _fused(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        if not _can_hold(filters):
            return []
        from qdrant_client import models as m

        given = (
            (self._sparse(search), self.fields.words),
            (await vectors_of(self._question, "fused")(search.text), self.fields.vector),
        )
        fits = self._filter(filters)
        parts = [
            m.Prefetch(query=query, using=using or None, filter=fits, limit=depth)
            for query, using in given
            if query is not None
        ]
        return await self._hits({}, depth, prefetch=parts, query=m.RrfQuery(rrf=m.Rrf(k=RRF_K))) if parts else []

    def _sparse(self, search: Search) -> m.SparseVector | None:
        from qdrant_client import models as m

        indices, values = of_search(asked_words(search, self.language), self.language)
        return m.SparseVector(indices=indices, values=values) if indices else None

    async def _hits(self, filters: Metadata, limit: int, **query: Any) -> list[Hit]:
        with _reaching(self):
            found = await self._client().query_points(
                self.collection, query_filter=self._filter(filters), limit=limit, with_payload=True, **query
            )
        return [self._hit(point.payload or {}, float(point.score)) for point in found.points]

    def _hit(self, payload: dict[str, Any], score: float) -> Hit:
        f = self.fields
        title, text = str(payload.get(f.title) or ""), str(payload.get(f.text) or "")
        return Hit(str(payload.get(f.id, "")), score, title, text, as_texts(payload.get(f.metadata)))

    def _filter(self, filters: Metadata) -> m.Filter | None:
        from qdrant_client import models as m

        if not filters:
            return None
        fits: list[m.Condition] = [
            m.FieldCondition(key=f'{self.fields.metadata}."{key}"', match=m.MatchValue(value=value))
            for key, value in filters.items()
        ]
        return m.Filter(must=fits)

    @property
    def _local(self) -> bool:
        return "://" not in self.url

    def _client(self) -> AsyncQdrantClient:
        if self._opened is None:
            from qdrant_client import AsyncQdrantClient

            if self.url == MEMORY:
                self._opened = AsyncQdrantClient(MEMORY)
            elif self._local:
                self._opened = AsyncQdrantClient(path=self.url)
            else:
                key = os.environ.get("QDRANT_API_KEY")
                self._opened = AsyncQdrantClient(url=self.url, api_key=key, timeout=SECONDS, check_compatibility=False)
        return self._opened

    async def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def aclose(self) -> None:
        """Close the client. What is only in memory is gone; else the next search opens another."""
        await portal.away(self._close())

    async def index(self, documents: Iterable[Document]) -> int:
        """Lay the collection out anew with these passages; says how many.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(self._index(documents))

    async def _index(self, documents: Iterable[Document]) -> int:
        following = iter(documents)
        first = list(islice(following, SAMPLED))
        average = average_length(first, self.language)
        count = 0
        with _reaching(self):
            await self._lay_out({key for document in first for key in document.metadata if _can_hold({key: ""})})
            for batch in batches(chain(first, following), _BATCH):
                await self._client().upsert(self.collection, await self._points(batch, average), wait=True)
                count += len(batch)
        return count

    async def _lay_out(self, keys: set[str]) -> None:
        from qdrant_client import models as m

        client, f = self._client(), self.fields
        await client.delete_collection(self.collection)
        vectors = {}
        if self._question is not None:
            dimensions = (await self._question.many(["how many"])).shape[1]
            vectors[f.vector] = m.VectorParams(size=dimensions, distance=m.Distance.COSINE)
        words = {f.words: m.SparseVectorParams(modifier=m.Modifier.IDF)}
        await client.create_collection(self.collection, vectors_config=vectors, sparse_vectors_config=words)
        for key in () if self._local else sorted(keys):  # the local mode has no such indexes
            await client.create_payload_index(self.collection, f'{f.metadata}."{key}"', m.PayloadSchemaType.KEYWORD)

    async def _points(self, batch: list[Document], average: float) -> list[m.PointStruct]:
        from qdrant_client import models as m

        f = self.fields
        dense = None if self._question is None else await self._question.many([body(d) for d in batch])
        points = []
        for row, document in enumerate(batch):
            indices, values = of_document(document, average, self.language)
            vector: dict[str, Any] = {f.words: m.SparseVector(indices=indices, values=values)} if indices else {}
            if dense is not None and dense[row].any():
                vector[f.vector] = dense[row].tolist()
            payload = {
                f.id: document.doc_id,
                f.title: document.title,
                f.text: document.text,
                f.metadata: dict(document.metadata),
            }
            points.append(m.PointStruct(id=str(uuid.uuid5(_IDS, document.doc_id)), vector=vector, payload=payload))
        return points

    async def vocabulary(self) -> Vocabulary:
        """The corpus's words and phrases. Qdrant counts no words, so every passage's text is read once.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(vocabulary_of(self._passages(), self.language))

    async def _passages(self) -> AsyncIterator[tuple[str, str]]:
        f, offset = self.fields, None
        while True:
            with _reaching(self):
                records, offset = await self._client().scroll(
                    self.collection, limit=_BATCH * 4, offset=offset, with_payload=[f.title, f.text]
                )
            for record in records:
                payload = record.payload or {}
                yield str(payload.get(f.title) or ""), str(payload.get(f.text) or "")
            if offset is None:
                return


def _can_hold(filters: Metadata) -> bool:
    """Whether a payload's path can name these keys; none with a quotation mark can be written."""
    return not any('"' in key or not key for key in filters)


def _reaching(engine: Qdrant) -> AbstractContextManager[None]:
    from qdrant_client.http.exceptions import ApiException

    # The local mode raises ValueError for what a server answers with 404.
    return reaching(engine.name, engine.url, (ApiException, OSError, ValueError))

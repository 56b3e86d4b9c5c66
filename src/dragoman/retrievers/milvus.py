"""Milvus: words (its own BM25) and meaning, as two retrievers. The same client serves a cluster and a file.

A collection with `doc_id` (its primary key), `title`, `text`, `metadata` (JSON), `stems` (a text with an
analyser, the words of title and text as this package stems them), `words` (sparse, made of `stems` by
Milvus's BM25 function) and `vector` (cosine). `index` lays it out. For a collection whose own analyser stems,
say `stem=False`: the words are then sent as they are.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import Any

from dragoman import portal
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import (
    Embed,
    EngineRetriever,
    Fields,
    QuestionVector,
    as_texts,
    batches,
    body,
    codes,
    need,
    reaching,
    repeated_words,
    rounded,
    settled,
    vectors_of,
    vocabulary_of,
)
from dragoman.retrievers.ways import TwoWays
from dragoman.text import stemmer, stems
from dragoman.types import Hit, Metadata, Search
from dragoman.vocabulary import Vocabulary

STEMS = "stems"
RRF_K = 60
_LONGEST_ID = 1_024
_LONGEST_TEXT = 65_535  # bytes; Milvus's own limit
_BATCH = 512
_PAGE = 1_000


class Milvus(TwoWays):
    """A collection in Milvus.

    Milvus takes a search by words as text alone. A word that weighs more is sent more often, up to ten
    times as often as the least, since its BM25 counts a word as often as it is asked for.

    Args:
        url: `http://host:19530`, or a file that ends in `.db`, opened by Milvus Lite.
        embed: makes the vectors of the field `vector`; without it there is no meaning ranking.
        stem: whether searches are stemmed here, as the layout above needs it.
    """

    def __init__(
        self,
        url: str,
        collection: str = "passages",
        *,
        embed: Embed | None = None,
        name: str = "milvus",
        language: str = "en",
        stem: bool = True,
    ) -> None:
        need("Milvus", "milvus", "pymilvus", *([] if "://" in url else ["milvus_lite"]))
        self.url, self.collection, self.name, self.language = url, collection, name, language
        self.fields = Fields()
        self._stem = stemmer(language) if stem else str
        self._question = None if embed is None else QuestionVector(embed)
        self._opened: Any = None

    @cached_property
    def fused(self) -> EngineRetriever:
        """By both in one call, fused by Milvus: `NAME.fused`, instead of the other two.

        As `fusion.rrf` over the two rankings, of `depth` hits each, fuses them, but for passages that tie in one
        of them: Milvus puts those in an order of its own.

        Raises:
            ValueError: no embedder was given.
        """
        vectors_of(self._question, f"{self.name}.fused")
        return EngineRetriever(f"{self.name}.fused", self._fused, self._close)

    async def _words(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        text = self._asked(search)
        return await self._found(text, self.fields.words, depth, filters) if text else []

    async def _meaning(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        vector = await vectors_of(self._question, "meaning")(search.text)
        return await self._found(vector, self.fields.vector, depth, filters) if vector else []

    def _asked(self, search: Search) -> str:
        stemmed = [
            (word if codes(word) else self._stem(word), weight)
            for word, weight in repeated_words(search, self.language)
        ]
        return " ".join(" ".join([word] * int(times)) for word, times in stemmed)

    async def _found(self, data: Any, field: str, depth: int, filters: Metadata) -> list[Hit]:
        async def fetch(limit: int) -> list[Hit]:
            asking = partial(self._client().search, anns_field=field, data=[data], filter=_expression(filters))
            return await self._hits(asking, limit)

        return await settled(lambda limit: rounded(fetch(limit)), depth)

    async def _fused(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        api = _api()
        given = (
            (self._asked(search), self.fields.words),
            (await vectors_of(self._question, "fused")(search.text), self.fields.vector),
        )
        requests = [
            api.AnnSearchRequest([data], field, {}, limit=depth, expr=_expression(filters))
            for data, field in given
            if data
        ]
        if not requests:
            return []
        return await self._hits(
            partial(self._client().hybrid_search, reqs=requests, ranker=api.RRFRanker(RRF_K)), depth
        )

    async def _hits(self, asking: Any, limit: int) -> list[Hit]:
        f = self.fields
        columns = [f.id, f.title, f.text, f.metadata]
        with _reaching(self):
            (found,) = await asking(collection_name=self.collection, limit=limit, output_fields=columns)
        hits = []
        for row in found:
            entity = row["entity"]
            # Milvus Lite gives BM25 scores with a minus sign, the server without.
            score = abs(float(row["distance"])) if row["distance"] < 0 else float(row["distance"])
            title, text = entity.get(f.title) or "", entity.get(f.text) or ""
            hits.append(Hit(str(entity[f.id]), score, title, text, as_texts(entity.get(f.metadata))))
        return sorted(hits, key=lambda hit: -hit.score)

    def _client(self) -> Any:
        if self._opened is None:
            with _reaching(self):
                self._opened = _api().AsyncMilvusClient(self.url)
        return self._opened

    async def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def aclose(self) -> None:
        """Close the client; the next search opens another."""
        await portal.away(self._close())

    async def index(self, documents: Iterable[Document]) -> int:
        """Lay the collection out anew with these passages; says how many.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(self._index(documents))

    async def _index(self, documents: Iterable[Document]) -> int:
        await self._close()
        # The asynchronous client cannot lay out a collection in Milvus Lite.
        return await asyncio.to_thread(self._fill, documents)

    def _fill(self, documents: Iterable[Document]) -> int:
        count = 0
        with _reaching(self):
            client = _api().MilvusClient(self.url)
            try:
                client.drop_collection(self.collection)
                client.create_collection(self.collection, schema=self._schema(), index_params=self._indexes())
                for batch in batches(documents, _BATCH):
                    client.insert(self.collection, self._rows(batch))
                    count += len(batch)
                client.flush(self.collection)
            finally:
                client.close()
        return count

    def _schema(self) -> Any:
        api, f = _api(), self.fields
        text, length = api.DataType.VARCHAR, {"max_length": _LONGEST_TEXT}
        schema = api.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field(f.id, text, max_length=_LONGEST_ID, is_primary=True)
        for name in (f.title, f.text):
            schema.add_field(name, text, **length)
        schema.add_field(STEMS, text, enable_analyzer=True, analyzer_params={"tokenizer": "standard"}, **length)
        schema.add_field(f.metadata, api.DataType.JSON)
        schema.add_field(f.words, api.DataType.SPARSE_FLOAT_VECTOR)
        if self._question is not None:
            dimensions = self._question.embedder(["how many"]).shape[1]
            schema.add_field(f.vector, api.DataType.FLOAT_VECTOR, dim=dimensions)
        names = {"input_field_names": [STEMS], "output_field_names": [f.words]}
        schema.add_function(api.Function(name="bm25", function_type=api.FunctionType.BM25, **names))
        return schema

    def _indexes(self) -> Any:
        indexes = _api().MilvusClient.prepare_index_params()
        bm25 = {"bm25_k1": 1.2, "bm25_b": 0.75}
        indexes.add_index(self.fields.words, index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=bm25)
        if self._question is not None:
            indexes.add_index(self.fields.vector, index_type="AUTOINDEX", metric_type="COSINE")
        return indexes

    def _rows(self, batch: list[Document]) -> list[dict[str, Any]]:
        f = self.fields
        rows = [
            {
                f.id: d.doc_id,
                f.title: _cut(d.title),
                f.text: _cut(d.text),
                STEMS: _cut(" ".join(stems(body(d), self.language))),
                f.metadata: dict(d.metadata),
            }
            for d in batch
        ]
        if self._question is not None:
            for row, vector in zip(rows, self._question.embedder([body(d) for d in batch]), strict=True):
                row[f.vector] = vector.tolist()
        return rows

    async def vocabulary(self) -> Vocabulary:
        """The corpus's words and phrases. Milvus gives no counts, so every passage's text is read once.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(vocabulary_of(self._passages(), self.language))

    async def _passages(self) -> AsyncIterator[tuple[str, str]]:
        f, last = self.fields, ""
        while True:
            # In the order of the ids, page by page: an offset may not pass 16,384.
            with _reaching(self):
                rows = await self._client().query(
                    self.collection,
                    filter=f"{f.id} > {json.dumps(last, ensure_ascii=False)}",
                    output_fields=[f.id, f.title, f.text],
                    limit=_PAGE,
                )
            for row in rows:
                yield row[f.title] or "", row[f.text] or ""
            if len(rows) < _PAGE:
                return
            last = max(row[f.id] for row in rows)


def _expression(filters: Metadata) -> str:
    """A filter in Milvus's language; keys and values as JSON texts, which it reads as it writes them."""
    texts = (
        (json.dumps(key, ensure_ascii=False), json.dumps(value, ensure_ascii=False)) for key, value in filters.items()
    )
    return " and ".join(f"metadata[{key}] == {value}" for key, value in texts)


def _cut(text: str) -> str:
    """As much as Milvus can keep of a text, in whole characters."""
    return text if len(text) * 4 <= _LONGEST_TEXT else text.encode()[:_LONGEST_TEXT].decode(errors="ignore")


def _api() -> Any:
    """The client's package, which has no types."""
    return importlib.import_module("pymilvus")


def _reaching(engine: Milvus) -> AbstractContextManager[None]:
    return reaching(engine.name, engine.url, (_api().MilvusException, OSError, ValueError))

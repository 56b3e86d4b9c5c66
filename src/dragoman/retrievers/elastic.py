"""Elasticsearch and OpenSearch: words (BM25) and meaning (k nearest neighbours), as two retrievers.

An index whose documents have `doc_id` (keyword), `title` and `text` (text), `metadata` (flattened, or
keywords under it) and `vector`. `index` lays it out. The two engines differ in a few rows of data (`Kind`)
and speak the same search language; each is spoken to by its own official client.

Words are sent in `multi_match`, which analyses them and parses nothing, so no search is query syntax. A
search without weights is sent whole, so that synonyms of several words (`dragoman.retrievers.synonyms`)
can match; one with weighted terms as a clause a word, boosted. A shard that does not answer is an error,
never a shorter ranking; word statistics are gathered over all shards first, so that like passages score
alike wherever they lie.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from dragoman import portal
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.elastic_kinds import KINDS, MOST_HITS, Json, layout
from dragoman.retrievers.engine import (
    MOST_WORDS,
    Embed,
    Fields,
    QuestionVector,
    as_texts,
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
from dragoman.text import words
from dragoman.types import Hit, Metadata, Search
from dragoman.vocabulary import Vocabulary

SECONDS = 60  # the client's own bound; a question's budget is shorter and cuts it
TITLE_WEIGHT = 2.0
_PAGE = 1_000
_BATCH = 256


class Elastic(TwoWays):
    """An index in Elasticsearch or OpenSearch.

    Args:
        kind: `elasticsearch` or `opensearch`.
        url: `http://host:9200`; several, with commas between, are the nodes of one cluster: when one is
            down the next is asked.
        embed: makes the vectors of the field `vector`; without it there is no meaning ranking.
        name: of its retrievers; the kind where not given.

    A server that wants a key is given the one in the environment's ELASTICSEARCH_API_KEY or OPENSEARCH_API_KEY.
    """

    def __init__(
        self,
        kind: str,
        url: str,
        index: str = "passages",
        *,
        embed: Embed | None = None,
        name: str = "",
        fields: Fields | None = None,
    ) -> None:
        if kind not in KINDS:
            raise ValueError(f"no engine is named {kind!r}; expected one of {', '.join(KINDS)}")
        need(kind, kind, KINDS[kind].package, "aiohttp")  # both clients' asynchronous side stands on it
        self.kind, self.url, self.target, self.name = KINDS[kind], url, index, name or kind
        self.fields = fields or Fields()
        self._extra = kind
        self._question = None if embed is None else QuestionVector(embed)
        self._opened: Any = None

    async def _words(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        clauses = self._weighted(search) if search.terms else self._whole(search)
        if not clauses:
            return []
        query: Json = {"bool": {"should": clauses, "minimum_should_match": 1}}
        if filters:
            query["bool"]["filter"] = self._filters(filters)
        return await self._hits(query, min(depth, MOST_HITS))

    def _whole(self, search: Search) -> list[Json]:
        asked = list(dict.fromkeys(words(search.text)))[:MOST_WORDS]
        return [self._match(" ".join(asked))] if asked else []

    def _weighted(self, search: Search) -> list[Json]:
        return [
            self._match(word, boost=weight, **({"operator": "and"} if codes(word) else {}))
            for word, weight in asked_words(search)
        ]

    def _match(self, text: str, **more: Any) -> Json:
        fields = [f"{self.fields.title}^{TITLE_WEIGHT:g}", self.fields.text]
        return {"multi_match": {"query": text, "fields": fields, "type": "most_fields", **more}}

    async def _meaning(self, search: Search, depth: int, filters: Metadata) -> list[Hit]:
        vector = await vectors_of(self._question, "meaning")(search.text)
        if vector is None:
            return []
        fits = self._filters(filters)

        async def fetch(limit: int) -> list[Hit]:
            query = self.kind.nearest(self.fields.vector, vector, limit, fits)
            # Both engines score a cosine c as (1 + c) / 2.
            return [replace(hit, score=2 * hit.score - 1) for hit in await self._hits(query, limit)]

        return await settled(lambda limit: rounded(fetch(limit)), depth, MOST_HITS)

    def _filters(self, filters: Metadata) -> list[Json]:
        return [{"term": {f"{self.fields.metadata}.{key}": {"value": value}}} for key, value in filters.items()]

    async def _hits(self, query: Json, limit: int) -> list[Hit]:
        f = self.fields
        found = await self._search(
            {
                "query": query,
                "size": limit,
                "sort": [{"_score": "desc"}, {f.id: "desc"}],
                "track_total_hits": False,
                "_source": [f.id, f.title, f.text, f.metadata],
            },
            # One copy of each shard, so that the same question sees the same deleted documents counted.
            preference="dragoman",
            search_type="dfs_query_then_fetch",
        )
        return [self._hit(row["_source"], float(row["_score"])) for row in found["hits"]["hits"]]

    def _hit(self, source: Json, score: float) -> Hit:
        f = self.fields
        return Hit(
            str(source[f.id]),
            score,
            source.get(f.title) or "",
            source.get(f.text) or "",
            as_texts(source.get(f.metadata)),
        )

    async def _search(self, asked: Json, **options: str) -> Any:
        with self.reaching():
            return await self.client().search(
                index=self.target, body=asked, allow_partial_search_results=False, **options
            )

    def client(self) -> Any:
        """The official client, opened when it is first needed. It never retries what a node has answered."""
        if self._opened is None:
            module = self._module()
            hosts = [host.strip() for host in self.url.split(",")]
            options: Json = {"max_retries": len(hosts) - 1, "retry_on_timeout": False, "retry_on_status": ()}
            seconds = "request_timeout" if self._extra == "elasticsearch" else "timeout"
            key = os.environ.get(self.kind.key)
            if key:
                options["headers"] = {"authorization": f"ApiKey {key}"}
            self._opened = getattr(module, self.kind.client)(hosts, **{seconds: SECONDS}, **options)
        return self._opened

    def _module(self) -> Any:
        return importlib.import_module(self.kind.package)

    def reaching(self) -> AbstractContextManager[None]:
        """Makes the client's errors `RetrievalError`."""
        module = self._module()
        errors = (
            (module.ApiError, module.TransportError)
            if self._extra == "elasticsearch"
            else (module.OpenSearchException,)
        )
        return reaching(self.name, f"{self.url}/{self.target}", (*errors, OSError, KeyError))

    def not_found(self) -> type[Exception]:
        """What the client raises for something that is not there."""
        found: type[Exception] = self._module().NotFoundError
        return found

    async def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        if self._extra == "opensearch":  # its own close leaves out the nodes that it holds for dead
            for connection in getattr(opened.transport.connection_pool, "orig_connections", ()):
                await connection.close()
        await opened.close()

    async def aclose(self) -> None:
        """Close the client; the next search opens another."""
        await portal.away(self._close())

    async def index(self, documents: Iterable[Document], language: str = "en", synonyms: str = "") -> int:
        """Lay the index out anew with these passages; says how many.

        Args:
            language: whose analyser the engine uses.
            synonyms: apply a lexicon, exported by `synonyms.export`, to every search. Elasticsearch: the id of its
                synonyms set, which must exist. OpenSearch: any name; the index keeps its own.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(self._index(documents, language, synonyms))

    async def _index(self, documents: Iterable[Document], language: str, synonyms: str) -> int:
        dimensions = 0 if self._question is None else (await self._question.many(["how many"])).shape[1]
        made = layout(self.kind, self.fields, dimensions, language, synonyms)
        count = 0
        with self.reaching():
            client = self.client()
            await client.indices.delete(index=self.target, ignore_unavailable=True)
            await client.indices.create(index=self.target, body=made)
            for batch in batches(documents, _BATCH):
                answer = await client.bulk(body=await self._rows(batch), index=self.target)
                if answer["errors"]:
                    refused = next(row["index"] for row in answer["items"] if "error" in row["index"])
                    raise RetrievalError(
                        f"{self.name}: document {refused['_id']!r} was refused: {json.dumps(refused['error'])}"
                    )
                count += len(batch)
            await client.indices.refresh(index=self.target)
        return count

    async def _rows(self, batch: list[Document]) -> list[Json]:
        f = self.fields
        vectors = None if self._question is None else await self._question.many([body(d) for d in batch])
        rows: list[Json] = []
        for number, d in enumerate(batch):
            source: Json = {f.id: d.doc_id, f.title: d.title, f.text: d.text, f.metadata: dict(d.metadata)}
            if vectors is not None and vectors[number].any():  # a vector of 0 has no cosine
                source[f.vector] = vectors[number].tolist()
            rows += [{"index": {"_id": d.doc_id}}, source]
        return rows

    async def vocabulary(self, language: str = "en") -> Vocabulary:
        """The corpus's words and phrases, from every passage's text, read once.

        Neither engine lists an index's words with their counts: term vectors give them for the words of one
        document, as analysed, in one shard.

        Raises:
            RetrievalError: the server cannot be reached or refused.
        """
        return await portal.away(vocabulary_of(self._passages(), language))

    async def _passages(self) -> AsyncIterator[tuple[str, str]]:
        f = self.fields
        asked: Json = {"size": _PAGE, "sort": [{f.id: "asc"}], "track_total_hits": False, "_source": [f.title, f.text]}
        while True:
            rows = (await self._search({**asked, "query": {"match_all": {}}}))["hits"]["hits"]
            for row in rows:
                yield row["_source"].get(f.title) or "", row["_source"].get(f.text) or ""
            if len(rows) < _PAGE:
                return
            asked["search_after"] = rows[-1]["sort"]

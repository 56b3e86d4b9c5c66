"""What tells Elasticsearch and OpenSearch apart: a row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dragoman.retrievers.engine import Fields
from dragoman.retrievers.synonyms import ANALYSER, NOTHING, analysis
from dragoman.text import LANGUAGES

Json: TypeAlias = dict[str, Any]

MOST_HITS = 10_000  # index.max_result_window, and the most neighbours either engine gives
_CANDIDATES = 100  # looked at in each shard, at least


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells the two engines apart.

    Attributes:
        package: the client's module, and the extra that brings it; `client` its asynchronous class.
        key: the environment variable that holds an API key, sent in the Authorization header.
        vector: (dimensions) -> the mapping of a vector field.
        nearest: (field, vector, k, filters) -> the query for the k nearest.
        metadata: the type of a field whose keys are filtered by without being mapped one by one.
        settings: of an index that has vectors.
        synonyms: (set id) -> where an index's synonyms come from.
        synonyms_api: whether it keeps synonyms sets of their own, beside the indices.
    """

    package: str
    client: str
    key: str
    vector: Callable[[int], Json]
    nearest: Callable[[str, list[float], int, list[Json]], Json]
    metadata: str
    settings: Mapping[str, Any]
    synonyms: Callable[[str], Json]
    synonyms_api: bool


def _elastic_nearest(field: str, vector: list[float], k: int, filters: list[Json]) -> Json:
    asked: Json = {
        "field": field,
        "query_vector": vector,
        "k": k,
        "num_candidates": min(max(k, _CANDIDATES), MOST_HITS),
    }
    return {"knn": {**asked, "filter": filters} if filters else asked}


def _open_nearest(field: str, vector: list[float], k: int, filters: list[Json]) -> Json:
    asked: Json = {"vector": vector, "k": k}
    return {"knn": {field: {**asked, "filter": {"bool": {"filter": filters}}} if filters else asked}}


KINDS: Mapping[str, Kind] = {
    "elasticsearch": Kind(
        "elasticsearch",
        "AsyncElasticsearch",
        "ELASTICSEARCH_API_KEY",
        lambda n: {"type": "dense_vector", "dims": n, "index": True, "similarity": "cosine"},
        _elastic_nearest,
        "flattened",
        {},
        lambda name: {"synonyms_set": name, "updateable": True},
        True,
    ),
    "opensearch": Kind(
        "opensearchpy",
        "AsyncOpenSearch",
        "OPENSEARCH_API_KEY",
        lambda n: {
            "type": "knn_vector",
            "dimension": n,
            "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
        },
        _open_nearest,
        "flat_object",
        {"index.knn": True},
        lambda _: {"synonyms": [NOTHING]},
        False,
    ),
}


def layout(kind: Kind, fields: Fields, dimensions: int, language: str, synonyms: str) -> Json:
    """Mappings and settings of an index of passages.

    Args:
        dimensions: of the vectors; 0 for no such field.
        language: whose analyser the engine uses.
        synonyms: the id of a synonyms set that every search goes through; empty for none.
    """
    analyser = LANGUAGES.get(language, "standard")
    text: Json = {"type": "text", "analyzer": analyser}
    settings: Json = {}
    if synonyms:
        text["search_analyzer"] = ANALYSER
        settings["analysis"] = analysis(analyser, kind.synonyms(synonyms))
    properties: Json = {
        fields.id: {"type": "keyword"},
        fields.title: text,
        fields.text: text,
        fields.metadata: {"type": kind.metadata},
    }
    if dimensions:
        properties[fields.vector] = kind.vector(dimensions)
        settings |= kind.settings
    return {"mappings": {"dynamic": False, "properties": properties}, **({"settings": settings} if settings else {})}

"""Engines by address: one row a kind; a kind's module is imported when its row is first used.

| address | engine |
|---|---|
| `sqlite:FILE#table` | SQLite FTS5 |
| `postgresql://user@host/database#table` | PostgreSQL |
| `elasticsearch://host:9200#index` | Elasticsearch; `elasticsearch+https://` with TLS |
| `opensearch://host:9200#index` | OpenSearch; `opensearch+https://` with TLS |
| `qdrant://host:6333#collection` | Qdrant; `qdrant+https://` with TLS, `qdrant:FOLDER` without a server |
| `milvus://host:19530#collection` | Milvus; `milvus+https://` with TLS, `milvus:FILE.db` without a server |
| `lancedb:FOLDER#table` | LanceDB; `lancedb:s3://bucket/folder` too |

Without `#…` the table, index or collection is named `passages`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dragoman.errors import AddressError
from dragoman.protocols import Retriever
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engine import Embed, masked
from dragoman.vocabulary import Vocabulary

TABLE = "passages"


class Engine(Protocol):
    """A corpus where it lives. What waits for another process is a coroutine."""

    @property
    def name(self) -> str:
        """How its retrievers' names begin, or the one retriever's name."""
        ...

    @property
    def retrievers(self) -> tuple[Retriever, ...]:
        """One by words, and one by meaning where there is an embedder and the engine has it."""
        ...

    def index(self, documents: Iterable[Document], /) -> int | Awaitable[int]:
        """Lay the table out anew with these passages; says how many."""
        ...

    def vocabulary(self) -> Vocabulary | Awaitable[Vocabulary]:
        """The corpus's words with their document frequencies, and its phrases."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A row: where the adapter is, which extra brings its client, and how an address is read.

    Attributes:
        adapter: `module:class`, under `dragoman.retrievers`.
        extra: None where nothing more need be installed.
        first: what the adapter takes before the address.
        meaning: whether it can find by meaning.
        address: (the address without its table, whether with TLS) -> what the client is given.
    """

    adapter: str
    extra: str | None
    address: Callable[[str, bool], str]
    first: tuple[str, ...] = ()
    meaning: bool = True


def _itself(address: str, _: bool) -> str:
    return address


def _path(address: str, _: bool) -> str:
    return address.partition(":")[2]


def _server(address: str, tls: bool) -> str:
    rest = _path(address, tls)
    return f"{'https' if tls else 'http'}:{rest}" if rest.startswith("//") else rest


def _nodes(address: str, tls: bool) -> str:
    """`kind://a:9200,b:9200` names two nodes."""
    scheme = "https" if tls else "http"
    return ",".join(f"{scheme}://{host}" for host in _path(address, tls).removeprefix("//").split(","))


KINDS: Mapping[str, Kind] = {
    "sqlite": Kind("sqlite:SQLite", None, _path, meaning=False),
    "postgresql": Kind("postgres:Postgres", "postgres", _itself),
    "elasticsearch": Kind("elastic:Elastic", "elasticsearch", _nodes, ("elasticsearch",)),
    "opensearch": Kind("elastic:Elastic", "opensearch", _nodes, ("opensearch",)),
    "qdrant": Kind("qdrant:Qdrant", "qdrant", _server),
    "milvus": Kind("milvus:Milvus", "milvus", _server),
    "lancedb": Kind("lancedb:LanceDB", "lancedb", _path),
}


async def vocabulary_of(engine: Engine) -> Vocabulary:
    """The engine's vocabulary, whether it is counted at once or waited for.

    Raises:
        RetrievalError: the engine cannot be reached.
    """
    counted = engine.vocabulary()
    return await counted if inspect.isawaitable(counted) else counted


def is_address(text: str) -> bool:
    """Whether `text` is an engine's address rather than a path."""
    kind, colon, place = text.partition(":")
    return bool(colon and place) and kind.partition("+")[0] in KINDS


def open_engine(address: str, *, embed: Embed | None = None, name: str = "", **more: Any) -> Engine:
    """The engine at an address of the table above. Nothing is connected before the first search.

    Args:
        embed: makes the vectors for the ranking by meaning.
        name: of its retrievers; the engine's own where not given.
        more: whatever else the engine's adapter takes.

    Raises:
        AddressError: no such kind of engine, or no place behind it; by meaning where the engine has none.
        MissingExtraError: the engine's client is not installed.
    """
    whole, _, table = address.partition("#")
    scheme, colon, place = whole.partition(":")
    kind, plus, tls = scheme.partition("+")
    row = KINDS.get(kind)
    if row is None or not colon or not place.strip("/") or (plus and tls != "https"):
        known = ", ".join(f"{kind}:" for kind in KINDS)
        raise AddressError(
            f"no engine at {masked(address)!r}; expected one of {known} and a place, as 'sqlite:corpus.db'"
        )
    if embed is not None:
        if not row.meaning:
            raise AddressError(f"{kind} finds by words alone; give no embedder, or choose another engine")
        more["embed"] = embed
    if name:
        more["name"] = name
    module, _, adapter = row.adapter.partition(":")
    make = getattr(importlib.import_module(f"dragoman.retrievers.{module}"), adapter)
    engine: Engine = make(*row.first, row.address(whole, bool(tls)), table or TABLE, **more)
    return engine

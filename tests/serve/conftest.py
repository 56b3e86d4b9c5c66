"""A small service: an index of words over a few sections, the road-law profile, recorded replies."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from small_service import DOCUMENTS, QUESTIONS, REPLIES, opened

from dragoman.retrievers import build_index
from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings, Table

Serving: TypeAlias = Callable[..., AbstractContextManager[str]]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`index`, `replies.jsonl` and `questions.jsonl`."""
    folder = tmp_path_factory.mktemp("serve")
    _write(folder / "corpus.jsonl", [{"_id": i, "title": t, "text": x} for i, t, x in DOCUMENTS])
    _write(folder / "replies.jsonl", REPLIES)
    _write(folder / "questions.jsonl", QUESTIONS)
    build_index([folder / "corpus.jsonl"], folder / "index", embedder=None)
    return folder


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows))


@pytest.fixture
def settings(folder: Path, tmp_path: Path) -> Settings:
    """Two profiles over one index, with files for everything that a service keeps."""
    index, model = str(folder / "index"), f"replay:{folder / 'replies.jsonl'}"
    return Settings(
        (Table("road-law", index, model), Table("default", index)),
        feedback=str(tmp_path / "clicks.jsonl"),
        proposals=str(tmp_path / "proposals.jsonl"),
        questions=str(folder / "questions.jsonl"),
    )


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the small service."""
    async with opened(make_app(settings)) as client:
        yield client


@contextmanager
def _served(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", access_log=False, ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        if not thread.is_alive() or time.monotonic() > until:
            raise RuntimeError("the service did not start")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="session")
def serving() -> Serving:
    """Serve an application on a real socket; gives its address."""
    return _served

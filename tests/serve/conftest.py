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
from the_page import ARGUMENTS, CHROMIUM, DESK, LEARNED, REPORT, Open, Page

from dragoman.retrievers import build_index
from dragoman.serve.app import make_app
from dragoman.serve.settings import Limits, Settings, Table

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
        limits=Limits(behind=0.0),  # in a test's own process others hold the loop up
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


# --- the page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, headless."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: 'dragoman[dev]'")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def service(folder: Path, kept: Path) -> Settings:
    (kept / "learned.txt").write_text(LEARNED)
    (kept / "effect.html").write_text(REPORT)
    index, model = str(folder / "index"), f"replay:{folder / 'replies.jsonl'}"
    return Settings(
        (Table("road-law", index, model), Table("default", index)),
        feedback=str(kept / "clicks.jsonl"),
        proposals=str(kept / "proposals.jsonl"),
        learned=str(kept / "learned.txt"),
        report=str(kept / "effect.html"),
        questions=str(folder / "questions.jsonl"),
    )


@pytest.fixture(scope="module")
def address(service: Settings, serving: Any) -> Iterator[str]:
    with serving(make_app(service)) as address:
        yield address


@pytest.fixture
def show(browser: Any, address: str) -> Iterator[Open]:
    """Open the page at a place; at the end nothing may have gone wrong in it or come from elsewhere."""
    wrong: list[str] = []
    contexts: list[Any] = []

    def visit(
        place: str = "", *, viewport: dict[str, int] = DESK, scheme: str = "light", at: str = "", bad: str = ""
    ) -> Page:
        context = browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        home = at or address

        def said(message: Any) -> None:
            if message.type in ("error", "warning") and not (bad and bad in message.text):
                wrong.append(f"{message.type}: {message.text}")

        page.on("console", said)
        page.on("pageerror", lambda error: wrong.append(f"uncaught: {error}"))
        page.on("request", lambda request: None if request.url.startswith(home) else wrong.append(request.url))
        page.goto(f"{home}/#/{place}")
        page.wait_for_selector("main > *:not(.blank)")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []

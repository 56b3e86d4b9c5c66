"""The tools over the Model Context Protocol, asked by the SDK's own client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from dragoman.dragoman import Dragoman
from dragoman.errors import LLMUnavailable, RetrievalError
from dragoman.profile import open_dragoman
from dragoman.protocols import Retriever
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedded import build_index
from dragoman.retrievers.engines import open_engine
from dragoman.serve.mcp import make_server, run_mcp
from dragoman.serve.settings import KEYS, ServiceError
from dragoman.types import MAX_QUESTION, Hit, Metadata, Ranking, Rewriting, RuleHit, Search

TEXTS = {
    "s1": ("Speed", "maximum speed limits in residence districts", {"state": "Teal"}),
    "s2": ("Licence", "carrying and exhibiting the license", {"state": "Coral"}),
}


@dataclass
class Words:
    """Counts shared words."""

    name: str = "words"
    inline: bool = True

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        wanted = set(search.text.split())
        hits = tuple(
            Hit(doc_id, len(wanted & set(text.split())), title, text, metadata)
            for doc_id, (title, text, metadata) in TEXTS.items()
            if filters.items() <= metadata.items()
        )
        return Ranking(search, self.name, hits).top(depth)


@dataclass
class Down:
    """An engine that is down."""

    name: str = "down"

    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        raise RetrievalError("connection refused; is it running?")


@dataclass
class Plain:
    """Says it in the corpus's words; fails, or meets a defect, on demand."""

    name: str = "plain"
    error: Exception | None = None

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        if self.error:
            raise self.error
        turns = " ".join(message.text for message in rewriting.question.history or ())
        said = rewriting.rewrite(f"{turns} {rewriting.query}".replace("how fast", "maximum speed").strip())
        return said.note(RuleHit("lexicon.replace", "how fast", "maximum speed"))


def hall(*retrievers: Retriever, error: Exception | None = None) -> Dragoman:
    return Dragoman(retrievers, [Plain(error=error)])


async def called(asked: Dragoman, tool: str, **arguments: Any) -> Any:
    async with Client(make_server(asked)) as client:
        return await client.call_tool(tool, arguments)


def said(result: Any) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


async def test_the_tools_are_named_typed_and_only_read() -> None:
    async with Client(make_server(hall(Words()), "The road law.")) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert client.instructions is not None
        assert client.instructions.endswith("The road law.")
    assert sorted(tools) == ["explain", "rewrite", "search"]
    for tool in tools.values():
        assert tool.input_schema["required"] == ["question"]
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
    assert {"question", "depth", "filters", "history"} == set(tools["search"].input_schema["properties"])
    assert {"hits", "query", "failures"} <= set((tools["search"].output_schema or {})["properties"])


async def test_without_retrievers_there_is_no_search_and_explain_tells_of_the_rewriting() -> None:
    async with Client(make_server(hall())) as client:
        assert sorted(tool.name for tool in (await client.list_tools()).tools) == ["explain", "rewrite"]
        told = await client.call_tool("explain", {"question": "how fast"})
    assert not told.is_error
    assert "plain  rewritten" in (told.structured_content or {})["tree"]


async def test_search_gives_passages_to_cite() -> None:
    found = (await called(hall(Words()), "search", question="how fast")).structured_content
    assert found["query"] == "maximum speed"
    assert [hit["doc_id"] for hit in found["hits"]] == ["s1"]
    assert found["hits"][0]["text"] == TEXTS["s1"][1]
    assert found["failures"] == []


async def test_filters_history_and_depth_reach_the_question() -> None:
    asked = hall(Words())
    filtered = await called(asked, "search", question="maximum license", filters={"state": "Coral"})
    assert [hit["doc_id"] for hit in filtered.structured_content["hits"]] == ["s2"]
    one = await called(asked, "search", question="maximum license", depth=1)
    assert len(one.structured_content["hits"]) == 1
    followed = await called(asked, "rewrite", question="and here?", history=[{"role": "user", "text": "how fast"}])
    assert followed.structured_content["query"] == "maximum speed and here?"


async def test_rewrite_gives_the_record_of_every_step() -> None:
    record = (await called(hall(), "rewrite", question="how fast")).structured_content
    assert record["query"] == "maximum speed"
    assert record["steps"][0]["rules"] == [
        {"rule": "lexicon.replace", "found": "how fast", "put": "maximum speed", "source": ""}
    ]


async def test_explain_says_why_each_hit_is_there() -> None:
    told = (await called(hall(Words()), "explain", question="how fast")).structured_content
    assert {share["origin"] for share in told["hits"][0]["because"]} <= {"question", "rewritten"}
    assert "rank 1 on words for: maximum speed" in told["tree"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"question": "  "}, "the question is empty; give at least one word"),
        ({"question": "x" * (MAX_QUESTION + 1)}, "characters, more than"),
        ({"question": "speed", "depth": 0}, "depth"),
        ({"question": "speed", "history": [{"role": "robot", "text": "hi"}]}, "history"),
        ({}, "question"),
    ],
)
async def test_what_cannot_be_asked_is_an_error_that_says_why(arguments: dict[str, Any], reason: str) -> None:
    result = await called(hall(Words()), "search", **arguments)
    assert result.is_error
    assert reason in said(result)


async def test_retrievers_that_are_all_down_are_an_error_that_names_them() -> None:
    result = await called(hall(Down()), "search", question="how fast")
    assert result.is_error
    assert "no retriever answered: down: connection refused; is it running?" in said(result)


async def test_one_retriever_down_is_named_among_the_failures_and_the_rest_answers() -> None:
    result = await called(hall(Words(), Down()), "search", question="how fast")
    assert not result.is_error
    assert result.structured_content["failures"][0]["retriever"] == "down"
    assert [hit["doc_id"] for hit in result.structured_content["hits"]] == ["s1"]


async def test_a_rewriter_that_fails_costs_its_step_alone() -> None:
    result = await called(hall(Words(), error=LLMUnavailable("gone")), "search", question="speed limits")
    assert not result.is_error
    assert [hit["doc_id"] for hit in result.structured_content["hits"]] == ["s1"]


async def test_a_defect_says_nothing_of_its_inside() -> None:
    result = await called(hall(Words(), error=ValueError("secret path")), "search", question="speed")
    assert result.is_error
    assert "secret path" not in said(result)


PROFILE = """
name = "mcp-test"
about = "Two rules of the road."
[[steps]]
use = "rules"
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text(
        "\n".join(f'{{"_id": "{i}", "title": "{title}", "text": "{text}"}}' for i, (title, text, _) in TEXTS.items())
    )
    (tmp_path / "profile.toml").write_text(PROFILE)
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index", embedder=None)
    return tmp_path


async def test_the_command_serves_on_standard_input_and_output(corpus: Path) -> None:
    command = ["-m", "dragoman.cli", "mcp", "--profile", str(corpus / "profile.toml"), "--index", str(corpus / "index")]
    # What Python itself needs to start as here; the client passes nothing else on.
    kept = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=kept)) as client:
        assert client.instructions is not None
        assert client.instructions.endswith("Two rules of the road.")
        found = await client.call_tool("search", {"question": "hi, what are the maximum speed limits please"})
        empty = await client.call_tool("search", {"question": ""})
    assert [hit["doc_id"] for hit in (found.structured_content or {})["hits"]] == ["s1"]
    assert empty.is_error


async def test_an_engine_is_served_by_its_address(corpus: Path) -> None:
    address = f"sqlite:{corpus / 'corpus.db'}#rules"
    engine = open_engine(address)
    engine.index([Document(doc_id, title, text) for doc_id, (title, text, _) in TEXTS.items()])
    async with await open_dragoman(corpus / "profile.toml", index=address) as asked:
        told = (await called(asked, "explain", question="the maximum speed limits please")).structured_content
    assert [hit["doc_id"] for hit in told["hits"]] == ["s1"]
    assert told["hits"][0]["because"][0]["retriever"] == "sqlite.words"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(KEYS, "a-key-of-twenty-chars")
    return "a-key-of-twenty-chars"


@asynccontextmanager
async def over_http(corpus: Path, capfd: pytest.CaptureFixture[str]) -> AsyncIterator[str]:
    """The server on a free port of this machine; gives its address."""
    running = asyncio.create_task(
        run_mcp(corpus / "profile.toml", index=corpus / "index", http="127.0.0.1:0"), name="serving"
    )
    printed = ""
    while not printed.startswith("http"):
        assert not running.done(), running.exception()
        await asyncio.sleep(0.01)
        printed += capfd.readouterr().out
    try:
        yield printed.strip()
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_it_serves_over_http(corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with over_http(corpus, capfd) as url, Client(url) as client:
        found = await client.call_tool("search", {"question": "maximum speed limits"})
    assert [hit["doc_id"] for hit in (found.structured_content or {})["hits"]] == ["s1"]


async def test_over_http_a_key_that_is_set_is_needed(corpus: Path, capfd: pytest.CaptureFixture[str], key: str) -> None:
    import httpx2

    async with over_http(corpus, capfd) as url:
        async with httpx2.AsyncClient() as plain:
            refused = await plain.post(url, json={}, headers={"Authorization": "Bearer another-key-of-mine"})
        with_key = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"})
        async with with_key, Client(streamable_http_client(url, http_client=with_key)) as client:
            found = await client.call_tool("rewrite", {"question": "maximum speed limits"})
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert not found.is_error


@pytest.mark.parametrize(
    ("http", "reason"), [("0.0.0.0:8001", KEYS), ("8001", "is not HOST:PORT"), ("localhost:99999", "is not HOST:PORT")]
)
async def test_an_address_that_is_none_or_is_open_to_all_is_refused(
    http: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEYS, raising=False)
    with pytest.raises(ServiceError, match=reason):
        await run_mcp("default", http=http)

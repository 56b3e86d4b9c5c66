"""What the small service of these tests holds, and how it is asked without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI

FAST = "whats the fastest i can go on a residential street"
DOCUMENTS = [
    ("s1", "Maximum speed limits", "The maximum speed limit in a residence district is 25 miles per hour."),
    ("s2", "License to be carried", "The operator shall carry the license and exhibit it on demand."),
    ("s3", "School bus stops", "Every driver shall stop for a school bus that shows a red light."),
    ("s4", "Electronic messages", "No operator shall read an electronic message on a handheld telephone."),
    ("s5", "Following fire apparatus", "No vehicle shall follow fire apparatus closer than 500 feet."),
    ("s6", "Street names", "Each residential street bears the name that the council gave it."),
]
REPLIES = [
    {"question": FAST, "about_corpus": True, "searches": ["maximum speed limit residence district"]},
    {"question": "what is the capital of France", "about_corpus": False, "searches": []},
    {"question": "contradiction about the street", "about_corpus": False, "searches": ["speed"]},
]
QUESTIONS = [
    {"_id": "q1", "text": FAST, "metadata": {"kind": "chatty"}},
    {
        "_id": "q2",
        "text": "and if it shows no light?",
        "metadata": {"kind": "follow_up", "history": [{"role": "user", "text": "do i stop for a school bus"}]},
    },
    {"_id": "q3", "text": "what is the capital of France", "metadata": {"kind": "off_topic"}},
]


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that has started, without a socket."""
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000), raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as c,
    ):
        yield c


async def asked(client: httpx.AsyncClient, path: str, /, **body: Any) -> Any:
    """The answer's data; it must be one."""
    answer = await client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refused(client: httpx.AsyncClient, path: str, expected: int, /, **body: Any) -> Any:
    """The problem's data; it must be one, of this status."""
    answer = await client.post(f"/v1/{path}", json=body)
    assert answer.status_code == expected, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == expected
    assert problem["title"]
    return problem

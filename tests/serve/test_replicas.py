"""Rewriting keeps nothing in a process that another would need: replicas share a file and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
from small_service import FAST
from test_serve_run import process, ready

from dragoman.testing import ScriptedServer

REPLY = {"about_corpus": True, "searches": ["maximum speed limit residence district"]}
PROFILE = 'name = "replica"\n[cache]\npath = "cache.sqlite"\n[[steps]]\nuse = "rephrase"\n'


def test_what_one_process_had_rewritten_no_other_asks_the_model_for(folder: Path, tmp_path: Path) -> None:
    profile = tmp_path / "replica.toml"
    profile.write_text(PROFILE)
    with ScriptedServer(json.dumps(REPLY)) as model:
        options = ("--profile", str(profile), "--model", f"openai:any@{model.openai}")
        with process(folder, *options) as (_, first), process(folder, *options, "--workers", "2") as (_, others):
            for address in (first, others):
                ready(address)
            addresses = [first, *[others] * 12]  # new connections, whichever worker takes them
            told = [httpx.post(f"{at}/v1/search", json={"question": FAST}, timeout=20).json() for at in addresses]
        assert all(
            [hit["doc_id"] for hit in each["hits"]] == [hit["doc_id"] for hit in told[0]["hits"]] for each in told
        )
        assert all("rephrase" in {search["origin"] for search in each["searches"]} for each in told)
        assert len(model.requests) == 1

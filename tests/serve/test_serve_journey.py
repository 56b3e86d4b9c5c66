"""What the page is told beyond a search's record."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from small_service import DOCUMENTS, FAST, asked, opened

from dragoman.retrievers import build_index
from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings, Table


async def test_rankings_add_up_to_the_fused_hits(client: httpx.AsyncClient) -> None:
    record = await asked(client, "explain", question=FAST)
    places = {(ranking["search"], ranking["retriever"]): ranking for ranking in record["rankings"]}
    for hit in record["hits"]:
        for part in hit["because"]:
            at = next(
                i
                for i, s in enumerate(record["searches"])
                if (s["text"], s["origin"]) == (part["search"], part["origin"])
            )
            ranked = places[at, part["retriever"]]["hits"][part["rank"] - 1]
            assert ranked["doc_id"] == hit["doc_id"]


async def test_raw_is_what_the_question_alone_finds_and_every_hit_knows_its_place_there(
    client: httpx.AsyncClient,
) -> None:
    record = await asked(client, "explain", question=FAST)
    raw = await asked(client, "search", question=FAST, steps=[])
    assert [hit["doc_id"] for hit in record["raw"]] == [hit["doc_id"] for hit in raw["hits"]]
    place = {hit["doc_id"]: hit["rank"] for hit in raw["hits"]}
    assert [hit["raw_rank"] for hit in record["hits"]] == [place.get(hit["doc_id"]) for hit in record["hits"]]


async def test_words_carry_their_document_frequency_and_spell_the_search(client: httpx.AsyncClient) -> None:
    record = await asked(client, "explain", question="the speed of a zorble, on a street")
    first = record["searches"][0]
    assert "".join(text for text, _ in first["words"]) == first["text"]
    held = dict(first["words"])
    assert held["the"] is None
    assert held["zorble"] == 0
    assert held["speed"] == 1
    assert record["documents"] == len(DOCUMENTS)


async def test_marks_tell_words_of_the_question_from_words_that_were_brought(client: httpx.AsyncClient) -> None:
    record = await asked(client, "explain", question=FAST)
    best = record["hits"][0]
    kinds = {piece: kind for kind, piece in best["text_marks"]}
    assert "".join(piece for _, piece in best["text_marks"]) == best["text"]
    assert kinds["district"] == "brought"
    street = next(hit for hit in record["hits"] if hit["doc_id"] == "s6")
    assert {piece: kind for kind, piece in street["text_marks"]}["street"] == "asked"


async def test_sources_name_a_file_and_no_folder_of_the_machine(client: httpx.AsyncClient) -> None:
    record = await asked(client, "explain", question="texting while driving")
    sources = [rule["source"] for step in record["steps"] for rule in step["rules"]]
    assert any(source.startswith("lexicon.txt:") for source in sources)
    assert not any("/" in source.split(":")[0] for source in sources)


@pytest.mark.parametrize("question", ["hi there, can you please tell me the speed limit, thanks", FAST, "hey um stop?"])
async def test_every_ranking_has_its_search_where_two_searches_come_to_one_by_meaning(
    folder: Path, tmp_path: Path, question: str
) -> None:
    build_index([folder / "corpus.jsonl"], tmp_path / "index", embedder="default")
    async with opened(make_app(Settings((Table("default", str(tmp_path / "index")),)))) as client:
        record = await asked(client, "explain", question=question)
    assert {ranking["retriever"] for ranking in record["rankings"]} >= {"words", "meaning"}
    for ranking in record["rankings"]:
        assert 0 <= ranking["search"] < len(record["searches"])

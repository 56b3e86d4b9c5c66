from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from dragoman import portal
from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.embedders import Embedder
from dragoman.retrievers.postgres import Postgres
from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Search

psycopg = pytest.importorskip("psycopg", reason="needs PostgreSQL's client: pip install 'dragoman[postgres]'")


@pytest.fixture(scope="module")
def engine(postgres_url: str, toy: Embedder, documents: list[Document]) -> Iterator[Postgres]:
    engine = Postgres(postgres_url, embed=toy)
    assert portal.run(engine.index(documents)) == len(SAMPLE)
    yield engine
    portal.run(engine.aclose())


def test_words_keep_the_contract(engine: Postgres) -> None:
    check_retriever(engine.words)


def test_meaning_keeps_the_contract(engine: Postgres) -> None:
    check_retriever(engine.meaning, words=False)


async def test_words_and_meaning_are_named_after_the_engine(engine: Postgres) -> None:
    assert [r.name for r in engine.retrievers] == ["postgres.words", "postgres.meaning"]
    assert [r.name for r in Postgres(engine.url, name="law").retrievers] == ["law.words"]
    with pytest.raises(ValueError, match="embed="):
        _ = Postgres(engine.url).meaning


async def test_a_weighted_word_counts_as_often_as_it_weighs(engine: Postgres) -> None:
    async def scores(*asked: tuple[str, float]) -> dict[str, float]:
        return {h.doc_id: h.score for h in (await engine.words(Search("x", terms=asked), 20, {})).hits}

    even = await scores(("headlamps", 1.0), ("vehicle", 1.0))
    doubled = await scores(("headlamps", 2.0), ("vehicle", 1.0))
    assert doubled["c/1"] == pytest.approx(2 * even["c/1"])
    assert doubled["9"] == pytest.approx(even["9"])


async def test_a_rare_word_counts_more_than_a_common_one(engine: Postgres) -> None:
    rare = await engine._rare(["headlamps", "speed", "qwzxjv"])
    assert rare["qwzxjv"] >= rare["headlamps"] > rare["speed"] > 0


async def test_a_code_is_found_whole(postgres_url: str) -> None:
    engine = Postgres(postgres_url, "codes")
    await engine.index([Document("a", "§ 46.2-870", "Speed."), Document("b", "Numbers", "46 and 870 and 2.")])
    assert (await engine.words(Search("46.2-870"), 5, {})).doc_ids[0] == "a"
    await engine.aclose()


async def test_many_questions_at_once_share_few_connections(engine: Postgres) -> None:
    rankings = await asyncio.gather(*(engine.words(Search(f"speed limit {i}"), 5, {}) for i in range(150)))
    assert all(len(ranking) == 5 for ranking in rankings)
    assert 0 < len(engine._idle) <= 16


async def test_a_dead_server_is_an_error_that_names_it_without_its_password(nobody: int) -> None:
    engine = Postgres(f"postgresql://me:hunter2@127.0.0.1:{nobody}/law")
    with pytest.raises(RetrievalError, match=rf"postgres at .*me:\*\*\*@127.0.0.1:{nobody}.*failed") as caught:
        await engine.words(Search("speed"), 5, {})
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is not None


async def test_a_missing_table_is_an_error(postgres_url: str) -> None:
    engine = Postgres(postgres_url, "nowhere")
    with pytest.raises(RetrievalError, match="nowhere"):
        await engine.words(Search("speed"), 5, {})
    await engine.aclose()


async def test_a_server_that_says_nothing_is_left_when_the_time_is_over(hung: int) -> None:
    engine = Postgres(f"postgresql://me@127.0.0.1:{hung}/law")
    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await engine.words(Search("speed"), 5, {})
    assert time.perf_counter() - began < 2


async def test_a_query_that_was_cut_does_not_go_on_in_the_server(engine: Postgres, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE passages IN ACCESS EXCLUSIVE MODE")
        began = time.perf_counter()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await engine.words(Search("speed"), 5, {})
        assert time.perf_counter() - began < 2
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        for _ in range(100):
            if other.execute(waiting).fetchone() == (0,):
                break
            await asyncio.sleep(0.02)
        assert other.execute(waiting).fetchone() == (0,)
    assert len(await engine.words(Search("speed"), 5, {})) == 5


async def test_connections_that_died_meanwhile_are_made_anew(engine: Postgres, postgres_url: str) -> None:
    await engine.words(Search("speed"), 5, {})
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert len(await engine.words(Search("speed"), 5, {})) == 5


async def test_an_hnsw_index_gives_as_many_as_are_asked_for(postgres_url: str, toy: Embedder) -> None:
    engine = Postgres(postgres_url, "many", embed=toy)
    await engine.index(Document(str(i), "", f"w{i} rule", {"half": str(i % 2)}) for i in range(600))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("CREATE INDEX ON many USING hnsw (vector vector_cosine_ops)")
        other.execute("ALTER DATABASE postgres SET enable_seqscan = off")
    await engine.aclose()
    try:
        assert len(await engine.meaning(Search("rule"), 200, {})) == 200
        halved = await engine.meaning(Search("rule"), 100, {"half": "1"})
        assert len(halved) == 100
        assert {h.metadata["half"] for h in halved.hits} == {"1"}
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("ALTER DATABASE postgres RESET enable_seqscan")
        await engine.aclose()


async def test_the_server_counts_the_vocabulary(engine: Postgres) -> None:
    vocabulary = await engine.vocabulary()
    assert vocabulary.documents == len(SAMPLE)
    assert vocabulary.words["headlamps"] == 1
    assert vocabulary.words["speed"] == 9
    assert vocabulary.holds("licences")
    assert "Copies" in vocabulary.headings


async def test_an_index_that_fails_half_way_leaves_the_one_before(engine: Postgres) -> None:
    with pytest.raises(RetrievalError, match="duplicate key"):
        await engine.index([Document("twice", "", "a"), Document("twice", "", "b")])
    assert len(await engine.words(Search("maximum speed limit"), 20, {})) == 9

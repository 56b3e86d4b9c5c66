from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest

from dragoman.errors import RetrievalError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.elastic import Elastic
from dragoman.retrievers.synonyms import ANALYSER, difference, export, rules
from dragoman.rewriters.entries import Entry, Term, parse
from dragoman.types import Search

from .fake_elastic import Fake, serving

for _package in ("elasticsearch", "opensearchpy", "aiohttp"):
    pytest.importorskip(_package, reason="needs the clients: pip install 'dragoman[elasticsearch,opensearch]'")

LEXICON = """
# how people say it
whats the fastest => maximum speed
phone => phone, handheld telephone|0.6
tire, tyre
a\\, b => c\\=>d
"""
ENTRIES = tuple(parse(LEXICON))


@pytest.fixture(params=["elasticsearch", "opensearch"])
async def served(request: pytest.FixtureRequest, documents: list[Document]) -> AsyncIterator[tuple[Elastic, Fake]]:
    with serving(request.param) as (fake, url):
        engine = Elastic(request.param, url)
        if request.param == "opensearch":
            await engine.index(documents, synonyms="dragoman")
        yield engine, fake
        await engine.aclose()


def written(fake: Fake) -> list[str]:
    """The names of the calls that change something."""
    return [call for call, _, _ in fake.asked if call.startswith(("PUT", "POST")) and "_search" not in call]


def test_a_rule_is_said_as_the_engines_read_it_without_weights() -> None:
    assert list(rules(ENTRIES).values()) == [
        "whats the fastest => maximum speed",
        "phone => phone, handheld telephone",
        "tire, tyre",
        "a\\, b => c\\=>d",
    ]


def test_two_entries_for_one_left_side_are_an_error() -> None:
    with pytest.raises(ValueError, match="two entries for 'Phone'"):
        rules(parse("phone => telephone\nPhone => handset"))


def test_a_changed_right_side_is_a_change_and_reads_as_one() -> None:
    found = difference(rules(parse("a => b\nc => d\ne => f")), rules(parse("c => d\ne => g\nh => i")), weights=2)
    assert (found.added, found.changed, found.removed, found.same) == (
        ("h => i",),
        (("e => f", "e => g"),),
        ("a => b",),
        1,
    )
    assert str(found).splitlines() == [
        "+ h => i",
        "- e => f",
        "+ e => g",
        "- a => b",
        "1 added, 1 changed, 1 removed, 1 as before; 2 weights left out, which an engine's synonyms cannot hold "
        "(nothing written)",
    ]


async def test_a_dry_run_says_what_would_change_and_writes_nothing(served: tuple[Elastic, Fake]) -> None:
    engine, fake = served
    before = len(written(fake))
    found = await export(engine, ENTRIES, dry=True)
    assert len(found.added) == 4
    assert found.weights == 1
    assert not found.written
    assert len(written(fake)) == before


async def test_an_export_is_read_back_as_it_was_written(served: tuple[Elastic, Fake]) -> None:
    engine, fake = served
    assert (await export(engine, ENTRIES)).written
    before = len(written(fake))
    again = await export(engine, ENTRIES)
    assert not again
    assert again.same == 4
    assert not again.written
    assert len(written(fake)) == before
    fewer = await export(engine, ENTRIES[:2])
    assert fewer.removed == ("tire, tyre", "a\\, b => c\\=>d")
    assert (await export(engine, ())).removed
    assert not await export(engine, (), dry=True)


async def test_a_large_set_is_read_page_by_page() -> None:
    with serving("elasticsearch") as (_, url):
        engine = Elastic("elasticsearch", url)
        many = tuple(parse("\n".join(f"said{i} => meant{i}" for i in range(2_500))))
        await export(engine, many)
        assert (await export(engine, many)).same == 2_500
        await engine.aclose()


async def test_opensearchs_index_is_open_again_though_the_change_was_refused(documents: list[Document]) -> None:
    with serving("opensearch") as (fake, url):
        engine = Elastic("opensearch", url)
        await engine.index(documents, synonyms="dragoman")
        with pytest.raises(RetrievalError, match="Invalid synonym rule"):
            await export(engine, [Entry(("",), (Term("nothing"),))])
        assert not fake.indices["passages"].closed
        assert len(await engine.words(Search("speed"), 5, {})) == 5
        await engine.aclose()


async def test_an_index_without_the_filter_is_an_error_that_says_how(documents: list[Document]) -> None:
    with serving("opensearch") as (_, url):
        engine = Elastic("opensearch", url)
        await engine.index(documents)
        with pytest.raises(RetrievalError, match=r"no analysis filter.*synonyms="):
            await export(engine, ENTRIES)
        await engine.aclose()


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "nl"])
async def test_an_index_applies_an_exported_set_to_every_search(documents: list[Document], language: str) -> None:
    with serving("elasticsearch") as (fake, url):
        engine = Elastic("elasticsearch", url)
        with pytest.raises(RetrievalError, match=r"synonyms set \[dragoman\] not found"):
            await engine.index(documents, language, synonyms="dragoman")
        await export(engine, ENTRIES)
        await engine.index(documents, language, synonyms="dragoman")
        mapped = fake.indices["passages"].properties
        assert mapped["title"]["search_analyzer"] == mapped["text"]["search_analyzer"] == ANALYSER
        assert len(await engine.words(Search("maximum speed limit"), 20, {})) == 9
        await engine.aclose()


@pytest.mark.real_engine
@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch"])
async def test_a_real_server_takes_an_exported_lexicon(kind: str, documents: list[Document]) -> None:
    variable = f"DRAGOMAN_TEST_{kind.upper()}"
    if not os.environ.get(variable):
        pytest.skip(f"no server: name one in {variable}, as http://localhost:9200 (docker/compose.engines.yaml)")
    engine = Elastic(kind, os.environ[variable], "dragomansynonyms")
    entries = tuple(parse("cottage => residence district\nlorry, vehicle"))
    if kind == "elasticsearch":
        await export(engine, entries, "dragomantest")
        await engine.index(documents, synonyms="dragomantest")
    else:
        await engine.index(documents, synonyms="dragomantest")
        await export(engine, entries, "dragomantest")
    assert (await engine.words(Search("cottage"), 5, {})).doc_ids == ("A-1",)
    assert (await export(engine, entries, "dragomantest", dry=True)).same == 2
    await engine.aclose()

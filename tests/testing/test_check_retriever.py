from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from dragoman.testing import SAMPLE, check_retriever
from dragoman.types import Hit, Metadata, Ranking, Search

_WORD = re.compile(r"[^\W_]+")


class Overlap:
    """Counts shared words: the smallest retriever that keeps the contract."""

    name = "overlap"
    inline = True

    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        asked = dict(search.terms) or dict.fromkeys(_WORD.findall(search.text.lower()), 1.0)
        hits = []
        for doc_id, title, text, metadata in SAMPLE:
            held = set(_WORD.findall(f"{title} {text}".lower()))
            score = float(sum(weight for word, weight in asked.items() if word in held))
            if score > 0 and all(metadata.get(k) == v for k, v in filters.items()):
                hits.append(Hit(doc_id, score, title, text, metadata))
        return self.cut(Ranking(search, self.name, tuple(hits)), depth)

    def cut(self, ranking: Ranking, depth: int) -> Ranking:
        return ranking.top(max(0, depth))


class Waiting(Overlap):
    async def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:  # type: ignore[override]
        return Overlap.__call__(self, search, depth, filters)


def test_a_plain_and_an_asynchronous_retriever_pass() -> None:
    check_retriever(Overlap())
    check_retriever(Waiting())


async def test_the_contract_runs_inside_a_running_loop() -> None:
    check_retriever(Overlap())


def test_a_corpus_of_ones_own_brings_its_query_and_filters() -> None:
    check_retriever(Overlap(), query="copy of the rule", filters={"state": "South"}, sample=False)


class Greedy(Overlap):
    def cut(self, ranking: Ranking, depth: int) -> Ranking:
        return ranking


class InsertionTies(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        full = super().__call__(search, 100, filters)
        first = sorted(full.hits, key=lambda h: (-h.score, [p.doc_id for p in SAMPLE].index(h.doc_id)))
        return Ranking(search, self.name, tuple(first[: max(0, depth)]))


class NoFilter(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        return super().__call__(search, depth, {})


class FilterBehindTheCut(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        first = super().__call__(search, depth, {})
        kept = tuple(h for h in first.hits if all(h.metadata.get(k) == v for k, v in filters.items()))
        return Ranking(search, self.name, kept)


class Parses(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        if search.text.count('"') % 2:
            raise ValueError("unbalanced quote")
        return super().__call__(search, depth, filters)


class Negates(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        if search.text.startswith("-"):
            return Ranking(search, self.name)
        return super().__call__(search, depth, filters)


class Pads(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        found = super().__call__(search, depth, filters)
        pad = tuple(Hit(p.doc_id, 0.0, p.title, p.text, p.metadata) for p in SAMPLE)
        return Ranking(search, self.name, (found.hits + pad)[: max(0, depth)])


class Numbers(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        found = super().__call__(search, depth, filters)
        hits = tuple(Hit(7 if h.doc_id == "9" else h.doc_id, h.score, h.title) for h in found.hits)  # type: ignore[arg-type]
        ranking = object.__new__(Ranking)
        for key, value in {
            "search": search,
            "retriever": self.name,
            "hits": hits,
            "seconds": 0.0,
            "dropped": 0,
        }.items():
            object.__setattr__(ranking, key, value)
        return ranking


class Everything(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        found = super().__call__(search, depth, filters)
        if found.hits or filters:
            return found
        return Ranking(search, self.name, (Hit("A-1", 0.1, "Maximum speed limit"),)[: max(0, depth)])


class SomebodyElse(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        return Ranking(search, "else", super().__call__(search, depth, filters).hits)


class Nameless(Overlap):
    name = ""


class ListOfHits(Overlap):
    def __call__(self, search: Search, depth: int, filters: Metadata) -> Ranking:
        return list(super().__call__(search, depth, filters).hits)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (Greedy, "at most 0 were asked for"),
        (InsertionTies, "higher doc_id first"),
        (NoFilter, "does not fit the filters"),
        (FilterBehindTheCut, "does not fit|filter before the cut|lost"),
        (Parses, "raised ValueError: unbalanced quote"),
        (Negates, "never query syntax"),
        (Pads, "hits without a score above 0"),
        (Numbers, "a doc_id is a text, not 7"),
        (Everything, "no match is no hit"),
        (SomebodyElse, "not the retriever's own name"),
        (Nameless, "not empty"),
        (ListOfHits, "returned a list, not a Ranking"),
    ],
)
def test_a_retriever_that_breaks_the_contract_is_told_how(broken: Callable[[], Overlap], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_retriever(broken())


def test_a_retriever_by_meaning_may_find_the_nearest_to_anything() -> None:
    check_retriever(Everything(), words=False)

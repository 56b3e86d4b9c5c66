"""The contract of a retriever, to be run on anybody's own."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from dragoman.protocols import Retriever
from dragoman.testing.sample import SAMPLE
from dragoman.types import Hit, Metadata, Ranking, Search

T = TypeVar("T")
QUERY = "maximum speed limit"
UNKNOWN = "qwzxjv vjxzwq"
EVERYTHING = 100  # deeper than the sample

# Query syntax of the common engines around the words {a} and {b}: quotes, wildcards, operators,
# fields, ranges, boosts, fuzziness, regular expressions, markup, a scroll of brackets.
HOSTILE = (
    '"{a}',
    '{a}" "',
    '"{b} {a}"',
    "{a}*",
    "*{a}",
    "?{a}",
    "{a} AND",
    "OR {a}",
    "NOT {a}",
    "-{a}",
    "+{a} -{b}",
    "!{a}",
    "{a}~2",
    "{a}^10",
    "{a}^-1 {b}",
    "({a}",
    "{a}))",
    "title:{a}",
    "nosuchfield:{a}",
    "_id:{a}",
    "[{a} TO {b}]",
    "{{{a} TO {b}}}",
    "/{a}/",
    "/[{a}/",
    "{a} && {b} ||",
    "<b>{a}</b>",
    "{a}; DROP TABLE passages; --",
    "' OR 1=1 -- {a}",
    "{a}\\",
    "\\{a}",
    "{a} NEAR/3 {b}",
    "%{a}% _",
    "{a}\u202e {b}",
    "{a} \U0001f697 {b}",
    "IN [{a}]",
    "{a}:{b}:",
)
BARE = ("*", '"', '""', "()", "AND", "NOT", "~", "^", ":", "/", "\\", "?", "-", "§", "\U0001f697", "*:*", "[* TO *]")


def must(condition: object, message: str) -> None:
    """Raise AssertionError with `message` unless the condition holds; not switched off by `python -O`."""
    if not condition:
        raise AssertionError(message)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a thread and loop of its own, inside a running loop too."""
    box: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            box.append(asyncio.run(coroutine))
        except BaseException as exc:
            errors.append(exc)

    thread = threading.Thread(target=work, name="dragoman-contract")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return box[0]


def check_retriever(
    retriever: Retriever,
    *,
    query: str = QUERY,
    filters: Metadata | None = None,
    words: bool = True,
    sample: bool = True,
) -> None:
    """Check a retriever against the contract of `dragoman.protocols.Retriever`.

    Build it over `dragoman.testing.SAMPLE` (index every passage's title, text and metadata); it may
    be plain or asynchronous.

    Args:
        query: two words or more that several documents hold; only needed with `sample=False`.
        filters: metadata that some but not all of those documents have; as `query`.
        words: it finds by words, so words the corpus does not hold find nothing. False for one that
            finds by meaning, which has a nearest document to everything.
        sample: it was built over `SAMPLE`, so that which documents must come back is known. False
            for a corpus of your own; then `query` and `filters` are yours too.

    Raises:
        AssertionError: what was asked, what came back and what was expected.
    """
    run(_Check(retriever, query, {"state": "North"} if filters is None and sample else filters, words, sample).all())


class _Check:
    def __init__(self, retriever: Retriever, query: str, filters: Metadata | None, words: bool, sample: bool) -> None:
        self.retriever, self.query, self.filters, self.words, self.sample = retriever, query, filters, words, sample

    async def all(self) -> None:
        """Every part of the contract, the plainest first."""
        must(
            isinstance(self.retriever, Retriever), "a retriever has a `name` and is called with search, depth, filters"
        )
        must(self.retriever.name, "a retriever's `name` is a text, not empty")
        checks: tuple[Callable[[], Awaitable[None]], ...] = (
            self.finds,
            self.depths,
            self.repeats,
            self.filtered,
            self.weighted,
            self.hostile,
            self.unknown,
        )
        for check in checks:
            await check()

    async def ask(self, search: Search | str, depth: int = EVERYTHING, filters: Metadata | None = None) -> Ranking:
        """One call, with what holds of every answer checked."""
        search = search if isinstance(search, Search) else Search(search)
        asked = f"{self.retriever.name}({search.text[:80]!r}, depth={depth}, filters={dict(filters or {})})"
        try:
            answer = self.retriever(search, depth, filters or {})
            ranking = await answer if inspect.isawaitable(answer) else answer
        except Exception as exc:  # whatever it is, the contract says that nothing is raised here
            raise AssertionError(
                f"{asked} raised {type(exc).__name__}: {exc}; no search may fail by its words"
            ) from exc
        must(isinstance(ranking, Ranking), f"{asked} returned a {type(ranking).__name__}, not a Ranking")
        must(ranking.search == search, f"{asked}: the ranking's search is {ranking.search!r}, not the one asked")
        must(
            ranking.retriever == self.retriever.name,
            f"{asked}: the ranking's retriever is {ranking.retriever!r}, not the retriever's own name",
        )
        must(len(ranking) <= max(0, depth), f"{asked} gave {len(ranking)} hits; at most {max(0, depth)} were asked for")
        must(ranking.seconds >= 0, f"{asked}: seconds is {ranking.seconds}, below 0")
        must(ranking.dropped == 0, f"{asked} gave {ranking.dropped} hits without a score above 0 or given twice")
        for hit in ranking.hits:
            _check_hit(hit, filters or {}, asked)
        return ranking

    async def finds(self) -> None:
        ranking = await self.ask(self.query)
        must(
            len(ranking) > 1,
            f"{self.query!r} found {len(ranking)} documents; the contract needs one that finds several",
        )
        if self.sample:
            expected = {p.doc_id for p in SAMPLE if self.query in p.text} if self.words else {p.doc_id for p in SAMPLE}
            missing = expected - set(ranking.doc_ids) if self.words else set()
            must(not missing, f"{self.query!r} did not find {sorted(missing)}, which hold these very words")
            titles = {p.doc_id: p for p in SAMPLE}
            for hit in ranking.hits:
                must(
                    hit.doc_id in titles,
                    f"{self.query!r} found {hit.doc_id!r}, which is not in SAMPLE: ids come back as given",
                )
                must(
                    hit.title == titles[hit.doc_id].title,
                    f"hit {hit.doc_id!r} has the title {hit.title!r}, not its document's",
                )

    async def depths(self) -> None:
        full = await self.ask(self.query)
        for depth in (0, -1, -1000):
            must(
                len(await self.ask(self.query, depth)) == 0,
                f"depth={depth} asks for nothing and must give an empty ranking",
            )
        for depth in range(1, len(full) + 2):
            cut = await self.ask(self.query, depth)
            must(
                cut.doc_ids == full.doc_ids[:depth],
                f"depth={depth} gave {cut.doc_ids}, but the deeper ranking begins {full.doc_ids[:depth]}; "
                "equal scores stand with the higher doc_id first, also where they meet the depth",
            )

    async def repeats(self) -> None:
        first = await self.ask(self.query)
        again = await asyncio.gather(*(self.ask(self.query) for _ in range(8)))
        for other in again:
            must(
                [(h.doc_id, h.score) for h in other.hits] == [(h.doc_id, h.score) for h in first.hits],
                f"{self.query!r} asked twice gave two rankings: {first.doc_ids} and {other.doc_ids}",
            )

    async def filtered(self) -> None:
        if not self.filters:
            return
        everything, some = await self.ask(self.query), await self.ask(self.query, EVERYTHING, self.filters)
        fitting = [h.doc_id for h in everything.hits if _fits(h.metadata, self.filters)]
        must(some.hits, f"the filters {dict(self.filters)} left nothing of {self.query!r}")
        must(
            set(fitting) <= set(some.doc_ids),
            f"the filters {dict(self.filters)} lost {sorted(set(fitting) - set(some.doc_ids))}, which have them",
        )
        one = await self.ask(self.query, 1, self.filters)
        must(len(one) == 1, "with filters, depth counts the hits that fit: filter before the cut, not behind it")
        key = next(iter(self.filters))
        for none in ({key: "qwzxjv"}, {"qwzxjv": "x"}, {**self.filters, "qwzxjv": "x"}, {key: '" OR "'}, {key: "*"}):
            must(not (await self.ask(self.query, EVERYTHING, none)).hits, f"no document has {none}, so there is no hit")

    async def weighted(self) -> None:
        first, *rest = self.query.split()
        terms = ((first, 2.0), *((word, 0.25) for word in rest))
        boosted = await self.ask(Search(self.query, "contract", 0.5, terms))
        must(boosted.hits, f"a search with terms {terms} found nothing; one that cannot boost uses the text")
        await self.ask(Search(self.query, weight=1e-6))
        await self.ask(Search(self.query, on=(self.retriever.name,)))
        await self.ask(Search(self.query, terms=(('"', 1.0), ("title:", 2.0), ("*", 3.0), (first, 1e-3))))

    async def hostile(self) -> None:
        a, b = (self.query.split() * 2)[:2]
        plain = set((await self.ask(a)).doc_ids)
        for template in HOSTILE:
            text = template.format(a=a, b=b)
            found = set((await self.ask(text)).doc_ids)
            must(
                not self.words or plain <= found,
                f"{text!r} lost {sorted(plain - found)}, which {a!r} finds: a search is words, never query syntax",
            )
        for text in (
            *BARE,
            a + "\x00" + b,
            a + "\ud800",
            (a + " ") * 4000,
            a * 4000,
            "(" * 5000 + a,
            "\u0627\u0644" + a,
        ):
            await self.ask(text)

    async def unknown(self) -> None:
        if not self.words:
            return
        for text in (UNKNOWN, *(bare for bare in BARE if not any(map(str.isalnum, bare)))):
            found = await self.ask(text)
            must(not found.hits, f"{text!r} holds no word of the corpus and found {found.doc_ids}; no match is no hit")


def _fits(metadata: Mapping[str, str], filters: Metadata) -> bool:
    return all(metadata.get(key) == value for key, value in filters.items())


def _check_hit(hit: Hit, filters: Metadata, asked: str) -> None:
    must(isinstance(hit, Hit), f"{asked}: a hit is a Hit, not a {type(hit).__name__}")
    must(isinstance(hit.doc_id, str), f"{asked}: a doc_id is a text, not {hit.doc_id!r}")
    must(
        type(hit.score) is float and math.isfinite(hit.score) and hit.score > 0,
        f"{asked}: {hit.doc_id!r} scores {hit.score!r} ({type(hit.score).__name__}); expected a float above 0",
    )
    must(
        _fits(hit.metadata, filters),
        f"{asked}: {hit.doc_id!r} has {dict(hit.metadata)}, which does not fit the filters",
    )

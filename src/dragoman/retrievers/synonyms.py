"""The lexicon as an engine's own synonyms: Elasticsearch's synonyms sets, OpenSearch's analysis settings.

What is exported is said in the engine's search format (Solr's): `phone => phone, handheld telephone`. An
engine's synonyms know no weights, so those are left out, and counted. Nothing is written before the
difference to what the engine has is known; a dry run stops there.

A lexicon that an engine applies is not to be applied again by a rewriter: use one or the other.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol

from dragoman import portal
from dragoman.errors import RetrievalError

if TYPE_CHECKING:
    from dragoman.retrievers.elastic import Elastic

FILTER = "dragoman_synonyms"
ANALYSER = "dragoman_search"
NOTHING = "dragoman => dragoman"  # OpenSearch's filter wants one rule at least; this one changes no word
_PAGE = 1_000
_SPECIAL = re.compile(r"[\\,]|=>|^#")


class Put(Protocol):
    """A term that comes in, and its weight, None where it has none."""

    @property
    def text(self) -> str:
        """Its words."""
        ...

    @property
    def weight(self) -> float | None:
        """How much they count."""
        ...


class Line(Protocol):
    """An entry of a lexicon, as `dragoman.rewriters.entries` reads it."""

    @property
    def left(self) -> Sequence[str]:
        """What is looked for."""
        ...

    @property
    def right(self) -> Sequence[Put]:
        """What comes."""
        ...

    @property
    def explicit(self) -> bool:
        """A mapping from left to right; else all terms stand for each other."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """What an export changes, or would change.

    Attributes:
        added: rules the engine has not.
        changed: rules for the same left side, as the engine has them and as they become.
        removed: rules the lexicon has not.
        same: how many stay as they are.
        weights: how many terms have a weight that the engine cannot keep.
        written: False for a dry run, and where there is nothing to change.
    """

    added: tuple[str, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()
    same: int = 0
    weights: int = 0
    written: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __str__(self) -> str:
        """A line a rule, `+`, `-` or both for a change, and a summary."""
        lines = [f"+ {rule}" for rule in self.added]
        lines += [line for old, new in self.changed for line in (f"- {old}", f"+ {new}")]
        lines += [f"- {rule}" for rule in self.removed]
        counts = (
            f"{len(self.added)} added, {len(self.changed)} changed, {len(self.removed)} removed, {self.same} as before"
        )
        if self.weights:
            counts += f"; {self.weights} weights left out, which an engine's synonyms cannot hold"
        return "\n".join([*lines, counts + (" (written)" if self.written else " (nothing written)")])


def rules(entries: Iterable[Line]) -> dict[str, str]:
    """Rule id -> rule, in order. The id is made of the left side, so a changed right side is a change.

    Raises:
        ValueError: two entries with the same left side; a set would keep one of them.
    """
    found: dict[str, str] = {}
    for entry in entries:
        left = ", ".join(map(_escaped, entry.left))
        rule = f"{left} => {', '.join(_escaped(put.text) for put in entry.right)}" if entry.explicit else left
        key = blake2b(left.casefold().encode(), digest_size=8).hexdigest()
        if key in found:
            raise ValueError(f"two entries for {left!r}: {found[key]!r} and {rule!r}; make them one")
        found[key] = rule
    return found


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda m: "\\" + m[0], text)


def difference(before: Mapping[str, str], after: Mapping[str, str], weights: int = 0) -> Difference:
    """From one set of rules to another, both id -> rule."""
    return Difference(
        tuple(rule for key, rule in after.items() if key not in before),
        tuple((before[key], rule) for key, rule in after.items() if key in before and before[key] != rule),
        tuple(rule for key, rule in before.items() if key not in after),
        sum(before.get(key) == rule for key, rule in after.items()),
        weights,
    )


async def export(engine: Elastic, entries: Iterable[Line], name: str = "dragoman", *, dry: bool = False) -> Difference:
    """Make the engine's synonyms those of a lexicon; `dry`, only say what would change.

    Elasticsearch: the synonyms set `name`, replaced as a whole; searches use it at once. OpenSearch: the
    filter `dragoman_synonyms` of the engine's index, which is closed for that moment and opened again.

    Raises:
        RetrievalError: the engine cannot be reached, or refused; nothing was changed then.
        ValueError: two entries with the same left side.
    """
    kept = tuple(entries)
    after = rules(kept)
    weights = sum(put.weight is not None for entry in kept for put in entry.right)
    return await portal.away(_export(engine, name, after, weights, dry))


async def _export(engine: Elastic, name: str, after: dict[str, str], weights: int, dry: bool) -> Difference:
    read, write = (_set, _put_set) if engine.kind.synonyms_api else (_settings, _put_settings)
    found = difference(await read(engine, name), after, weights)
    if dry or not found:
        return found
    await write(engine, name, after)
    return Difference(found.added, found.changed, found.removed, found.same, found.weights, written=True)


async def _set(engine: Elastic, name: str) -> dict[str, str]:
    """The rules of a synonyms set; none where there is no such set."""
    found: dict[str, str] = {}
    with engine.reaching():
        while True:
            try:
                page = await engine.client().synonyms.get_synonym(id=name, from_=len(found), size=_PAGE)
            except engine.not_found():
                return found
            found.update((rule["id"], rule["synonyms"]) for rule in page["synonyms_set"])
            if len(page["synonyms_set"]) < _PAGE:
                return found


async def _put_set(engine: Elastic, name: str, after: Mapping[str, str]) -> None:
    with engine.reaching():
        given = [{"id": key, "synonyms": rule} for key, rule in after.items()]
        await engine.client().synonyms.put_synonym(id=name, synonyms_set=given)


async def _settings(engine: Elastic, _name: str) -> dict[str, str]:
    """The rules in the index's own settings, by the ids they would have."""
    with engine.reaching():
        answer = await engine.client().indices.get_settings(index=engine.target)
    (index,) = answer.values()
    analysis = index["settings"]["index"].get("analysis", {})
    if FILTER not in analysis.get("filter", {}):
        raise RetrievalError(
            f"{engine.name}: the index {engine.target!r} has no analysis filter {FILTER!r}, so nothing would use "
            'the lexicon; lay it out with index(..., synonyms="dragoman")'
        )
    held: list[str] = analysis["filter"][FILTER].get("synonyms", [])
    return {_id(rule): rule for rule in held if rule != NOTHING}


def _id(rule: str) -> str:
    left = re.split(r"(?<!\\)\s*=>\s*", rule)[0]
    return blake2b(left.casefold().encode(), digest_size=8).hexdigest()


async def _put_settings(engine: Elastic, _name: str, after: Mapping[str, str]) -> None:
    changed = {"analysis": {"filter": {FILTER: synonyms_filter({"synonyms": [*after.values()] or [NOTHING]})}}}
    with engine.reaching():
        async with _closed(engine):
            await engine.client().indices.put_settings(index=engine.target, body={"index": changed})


@asynccontextmanager
async def _closed(engine: Elastic) -> AsyncIterator[None]:
    """The index closed, as changing its analysis needs, and opened again whatever happens."""
    indices = engine.client().indices
    await indices.close(index=engine.target)
    try:
        yield
    finally:
        await indices.open(index=engine.target)


def synonyms_filter(source: Mapping[str, Any]) -> dict[str, Any]:
    """An analysis filter that takes its synonyms from `source`."""
    return {"type": "synonym_graph", **source}


# What the engines' own analysers are made of: filters of their own, those before the synonyms, those behind.
_CHAINS: Mapping[str, tuple[Mapping[str, Any], Sequence[str], Sequence[str]]] = {
    "english": (
        {
            "dragoman_possessive": {"type": "stemmer", "language": "possessive_english"},
            "dragoman_stop": {"type": "stop", "stopwords": "_english_"},
            "dragoman_stemmer": {"type": "stemmer", "language": "english"},
        },
        ("dragoman_possessive", "lowercase"),
        ("dragoman_stop", "dragoman_stemmer"),
    ),
    "german": (
        {
            "dragoman_stop": {"type": "stop", "stopwords": "_german_"},
            "dragoman_stemmer": {"type": "stemmer", "language": "light_german"},
        },
        ("lowercase",),
        ("dragoman_stop", "german_normalization", "dragoman_stemmer"),
    ),
    "french": (
        {
            "dragoman_elision": {"type": "elision", "articles_case": True, "articles": [*"lmtsjcdn", "qu"]},
            "dragoman_stop": {"type": "stop", "stopwords": "_french_"},
            "dragoman_stemmer": {"type": "stemmer", "language": "light_french"},
        },
        ("dragoman_elision", "lowercase"),
        ("dragoman_stop", "dragoman_stemmer"),
    ),
    "spanish": (
        {
            "dragoman_stop": {"type": "stop", "stopwords": "_spanish_"},
            "dragoman_stemmer": {"type": "stemmer", "language": "light_spanish"},
        },
        ("lowercase",),
        ("dragoman_stop", "dragoman_stemmer"),
    ),
    "standard": ({}, ("lowercase",), ()),
}


def analysis(analyser: str, source: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an analyser for searches: as the engine's own of this name, with synonyms before the stemming.

    There the rules read as people write them, and match before words are cut.
    """
    filters, before, behind = _CHAINS[analyser]
    chain = [*before, FILTER, *behind]
    return {
        "filter": {**filters, FILTER: synonyms_filter(source)},
        "analyzer": {ANALYSER: {"type": "custom", "tokenizer": "standard", "filter": chain}},
    }

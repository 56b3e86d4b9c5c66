"""Fusion weights set on the user's own questions, with the figure that questions they were not set on give.

Every question is searched once. Its rankings become a small table, a row for each source (who wrote
the search) on each retriever, a column a document; another set of weights is then one product of
numbers, so that thousands are tried in seconds and nothing is searched again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.batch import in_order
from dragoman.dragoman import Dragoman
from dragoman.errors import CollectionError
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.compare import LEVEL, Comparison, compare
from dragoman.evaluate.files import Asked
from dragoman.evaluate.measures import Values
from dragoman.evaluate.run import Progress
from dragoman.search import ByLength, Weights
from dragoman.types import Result, Search

FACTORS = (1.0, 0.75, 1.5, 0.5, 2.0, 0.25, 3.0, 0.0)  # of a default weight, the nearest to it first
FOLDS = 5
ROUNDS = 3  # over all weights; a further one moves nothing on any collection tried
LEAST = 5e-4  # nDCG@10 on the learning side that a move away from a default must bring
_CUTOFF = 10
_DISCOUNT = 1 / np.log2(np.arange(2, _CUTOFF + 2))
_OWN = ("question", "asked", "query")
_QUERY = ("rewritten", "expanded")  # origins of the search that the weight `query` is on
_ON = "on "  # before a retriever's name, so that it is no source's
Factors: TypeAlias = Mapping[str, float]  # knob -> factor on its default weight


@dataclass(frozen=True, slots=True)
class Table:
    """One question's rankings as numbers.

    Attributes:
        sources, retrievers: knob of each row, by who wrote its search and by where it was run.
        shares: `(rows, documents)`, what each row gives each document at the default weights;
            documents in falling order of doc_id, which settles equal scores as trec_eval does.
        gains: `(documents,)` grade of each document, 0 where not judged.
        ideal: the discounted gain of the best order there is.
    """

    sources: tuple[str, ...]
    retrievers: tuple[str, ...]
    shares: NDArray[np.float64] = field(repr=False)
    gains: NDArray[np.float64] = field(repr=False)
    ideal: float

    def ndcg(self, factors: Sequence[Factors]) -> Values:
        """nDCG@10 under each set of factors, `(len(factors),)`."""
        if not self.shares.size:
            return np.zeros(len(factors))
        weights = np.array(
            [[f.get(source, 1.0) * f.get(retriever, 1.0) for source, retriever in self._rows()] for f in factors]
        )
        scores = weights @ self.shares
        order = np.argsort(-scores, axis=1, kind="stable")[:, :_CUTOFF]
        found = np.take_along_axis(scores, order, axis=1) > 0  # a document that only a silenced source gave is no hit
        gained = np.where(found, self.gains[order], 0.0)
        values: Values = gained @ _DISCOUNT[: gained.shape[1]] / self.ideal
        return values

    def _rows(self) -> list[tuple[str, str]]:
        return list(zip(self.sources, self.retrievers, strict=True))


@dataclass(frozen=True, slots=True)
class Tuned:
    """What tuning came to.

    Attributes:
        factors: knob -> factor on its default weight, set on all questions; 1 where the default stands.
        held_out: the tuned weights against the defaults, each question under weights set without it.
        default: mean nDCG@10 of the default weights.
        fitted: of the tuned ones on the questions they were set on: an upper figure, never to be quoted alone.
        folds: the factors of each fold; where they differ much, the collection is too small to tune on.
        guards: collection name -> the tuned weights against the defaults on questions that took no part.
    """

    factors: Factors
    held_out: Comparison
    default: float
    fitted: float
    folds: tuple[Factors, ...]
    guards: Mapping[str, Comparison] = field(default_factory=dict)

    @property
    def pays(self) -> bool:
        """Whether questions that took no part gain for certain, as of an arm, and no guard set loses for certain."""
        gains = self.held_out.low > 0 and self.held_out.p < LEVEL
        return gains and all(guard.high >= 0 for guard in self.guards.values())


async def tables(hall: Dragoman, collection: Collection, progress: Progress | None = None) -> list[Table]:
    """Every judged question searched once on `hall`.

    Raises:
        CollectionError: no question has a relevant judgment.
    """
    asked = collection.judged
    if not asked:
        raise CollectionError("no question has a document judged relevant; weights need judgments", collection.path)

    async def search(each: Asked) -> Result:
        return await hall.asearch(each.question, hall.settings.pool)

    found: list[Table] = []
    async for each, result in in_order(search, asked, 1):
        grades = collection.qrels[each.id]
        found.append(_table(hall, result if isinstance(result, Result) else None, grades))
        if progress:
            progress("tune", len(found), len(asked))
    return found


def _table(hall: Dragoman, result: Result | None, grades: Mapping[str, int]) -> Table:
    rankings, plan = (result.rankings, result.searches) if result is not None else ((), ())
    documents = sorted({hit.doc_id for ranking in rankings for hit in ranking.hits}, reverse=True)
    place = {doc_id: i for i, doc_id in enumerate(documents)}
    rows = {(each.search.origin, each.retriever): _sources(each.search, plan) for each in rankings}
    kinds = sorted({(source, _ON + retriever) for (_, retriever), sources in rows.items() for source in sources})
    shares = np.zeros((len(kinds), len(documents)))
    # fused together, for a ranking's shares may go by the longest one's length; they stay linear in the weights
    for hit in hall.settings.fuse(rankings, hall.settings.weights.weigh) if rankings else ():
        for part in hit.because:
            for source, portion in rows[part.origin, part.retriever].items():
                shares[kinds.index((source, _ON + part.retriever)), place[hit.doc_id]] += part.share * portion
    best = np.sort(np.array([*grades.values(), *[0] * _CUTOFF], dtype=np.float64))[::-1][:_CUTOFF]
    gains = np.array([float(grades.get(doc_id, 0)) for doc_id in documents])
    return Table(
        tuple(source for source, _ in kinds), tuple(on for _, on in kinds), shares, gains, float(best @ _DISCOUNT)
    )


def _sources(search: Search, plan: Sequence[Search]) -> dict[str, float]:
    """The weights that a search stands under in a profile -> the portion of its own weight that each gives.

    Where the question as asked and the query came to one ranking, the query's search stands for both and
    has their weights added.
    """
    if search.origin in _QUERY:
        own = next(each.weight for each in plan if each.origin == search.origin)
        query = own / search.weight
        return {"query": query, "asked": 1 - query} if search.weight > own else {"query": 1.0}
    changed = any(each.origin in _QUERY for each in plan)
    return {"asked" if search.origin == "question" and changed else search.origin: 1.0}


def tune(
    questions: Sequence[Table],
    *,
    seed: int = 0,
    folds: int = FOLDS,
    guards: Mapping[str, Sequence[Table]] | None = None,
) -> Tuned:
    """Set every weight by coordinate search and say what unseen questions gain.

    One source and one retriever keep their default, for only proportions matter. The questions are
    dealt into `folds` at random (seeded); each fold is measured under weights set on the others.

    Raises:
        ValueError: fewer questions than folds.
    """
    if len(questions) < folds or folds < 2:
        raise ValueError(f"{folds} folds need as many questions, found {len(questions)}")
    knobs = _knobs(questions)
    dealt = np.random.default_rng(seed).permutation(len(questions)) % folds
    default = _values(questions, {})
    held_out = np.zeros(len(questions))
    each: list[Factors] = []
    for fold in range(folds):
        learning = [table for table, at in zip(questions, dealt, strict=True) if at != fold]
        each.append(_search(learning, knobs))
        places = np.flatnonzero(dealt == fold)
        held_out[places] = _values([questions[int(i)] for i in places], each[-1])
    factors = _search(questions, knobs)
    return Tuned(
        factors,
        compare(default, held_out, seed=seed),
        float(default.mean()),
        float(_values(questions, factors).mean()),
        tuple(each),
        {
            name: compare(_values(tables, {}), _values(tables, factors), seed=seed)
            for name, tables in (guards or {}).items()
        },
    )


def _knobs(questions: Sequence[Table]) -> tuple[str, ...]:
    """The weights to set: every source but the question's own, every retriever but the first."""
    sources = sorted({source for table in questions for source in table.sources} - {"question"})
    retrievers = sorted({on for table in questions for on in table.retrievers})[1:]
    return (*sources, *retrievers)


def _values(questions: Sequence[Table], factors: Factors) -> Values:
    return np.array([table.ndcg([factors])[0] for table in questions])


def _search(questions: Sequence[Table], knobs: Sequence[str]) -> dict[str, float]:
    factors = dict.fromkeys(knobs, 1.0)
    reached = float(_values(questions, factors).mean())
    for _ in range(ROUNDS):
        before = dict(factors)
        for knob in knobs:
            # a query of weight 0 is no search
            tried = [{**factors, knob: factor} for factor in FACTORS if factor or knob != "query"]
            means = np.mean([table.ndcg(tried) for table in questions], axis=0)
            best = int(np.argmax(means))
            if means[best] > reached + LEAST:
                factors, reached = tried[best], float(means[best])
        if factors == before:
            break
    return factors


def tuned_weights(weights: Weights, factors: Factors) -> Weights:
    """The weights with every factor put on its default."""
    own = {name: getattr(weights, name) * factors.get(name, 1.0) for name in _OWN}
    origins, retrievers = dict(weights.origins), dict(weights.retrievers)
    for knob, factor in factors.items():
        if knob in _OWN or factor == 1:
            continue
        if not knob.startswith(_ON):
            origins[knob] = origins.get(knob, 1.0) * factor
            continue
        name = knob.removeprefix(_ON)
        given = weights.of_retriever(name)
        retrievers[name] = (
            replace(given, per_word=given.per_word * factor, least=given.least * factor, most=given.most * factor)
            if isinstance(given, ByLength)
            else given * factor
        )
    return replace(weights, **own, origins=origins, retrievers=retrievers)


def as_toml(weights: Weights) -> str:
    """The weights as a profile holds them."""
    lines = ["[weights]", *(f"{name} = {_value(getattr(weights, name))}" for name in _OWN)]
    for title, table in (("origins", weights.origins), ("retrievers", weights.retrievers)):
        if table:
            lines += ["", f"[weights.{title}]", *(f"{_key(name)} = {_value(each)}" for name, each in table.items())]
    return "\n".join(lines) + "\n"


def _value(weight: float | ByLength) -> str:
    if not isinstance(weight, ByLength):
        return f"{weight:.12g}"  # all that counts, without the last digits of a product
    numbers = ", ".join(f"{key} = {_value(getattr(weight, key))}" for key in ("per_word", "least", "most", "textual"))
    return f"{{ {numbers}, written = {str(weight.written).lower()} }}"


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)

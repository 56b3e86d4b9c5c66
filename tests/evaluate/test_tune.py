"""Tuning: tables give what the hall gives, weights move where it pays, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from toy_corpus import HARMFUL, HELPFUL, QUESTIONS, Words, hall, toy

from dragoman.dragoman import Dragoman
from dragoman.errors import CollectionError
from dragoman.evaluate.measures import MAIN, per_question
from dragoman.evaluate.tune import Table, as_toml, tables, tune, tuned_weights
from dragoman.fusion import FUSIONS, Fusion
from dragoman.profile import load_profile
from dragoman.search import ByLength, Weights
from dragoman.types import Rewriting


def table(good: float, bad: float) -> Table:
    """Two documents: the relevant one gets `good` from "says", the other `bad` from the question."""
    shares = np.array([[0.0, bad], [good, 0.0]])
    return Table(("question", "says"), ("on words", "on words"), shares, np.array([1.0, 0.0]), 1.0)


async def test_tables_measure_what_a_search_measures() -> None:
    dragoman = hall([HELPFUL, HARMFUL])
    ids = list(QUESTIONS)
    run = {each.id: [hit.doc_id for hit in dragoman.search(each.question, 100).hits] for each in toy().questions}
    found = await tables(dragoman, toy())
    assert [float(each.ndcg([{}])[0]) for each in found] == pytest.approx(
        per_question(toy().qrels, run, ids)[MAIN].tolist()
    )


@pytest.mark.parametrize("fuse", FUSIONS.values(), ids=list(FUSIONS))
async def test_a_tables_rows_add_up_to_the_halls_own_scores(fuse: Fusion) -> None:
    """Rankings of different lengths, on which shares may depend, and a weight by length."""
    one = hall([HELPFUL, HARMFUL])
    retrievers = [Words(), Words("meaning")]
    dragoman = Dragoman(retrievers, one.chain.steps, settings=replace(one.settings, fuse=fuse))
    found = await tables(dragoman, toy())
    lengths: set[int] = set()
    for each, asked in zip(found, toy().questions, strict=True):
        result = await dragoman.asearch(asked.question, 100)
        falling = sorted(result.hits, key=lambda hit: hit.doc_id, reverse=True)
        assert each.shares.sum(axis=0).tolist() == pytest.approx([hit.score for hit in falling])
        lengths.add(len({len(ranking) for ranking in result.rankings}))
    assert max(lengths) > 1


async def test_tuned_weights_do_in_a_hall_what_they_did_in_the_tables() -> None:
    dragoman = hall([HARMFUL])
    factors = {"wrong": 0.25}
    weights = tuned_weights(dragoman.settings.weights, factors)
    tuned = Dragoman(dragoman.retrievers, [HARMFUL], settings=replace(dragoman.settings, weights=weights))
    assert (await tuned.asearch(QUESTIONS["q2"])).hits[0].doc_id == "d2"
    before, after = (await tables(dragoman, toy()))[1].ndcg([{}, factors])
    assert before < after == 1


@dataclass(frozen=True)
class Meaning(Words):
    """Reads what is meant, not the words added to it."""

    name: str = "meaning"
    by_meaning: bool = True


@dataclass(frozen=True)
class Misleads:
    """Makes other words of the question, which leave its meaning as it is."""

    name: str = "misleads"

    def __call__(self, rewriting: Rewriting, /) -> Rewriting:
        return rewriting.expand("headlamps lighted from sunset to sunrise")


@pytest.mark.parametrize(("factor", "right"), [(0.0, False), (0.25, False), (1.0, True), (3.0, True)])
async def test_a_question_and_a_query_of_one_meaning_each_keep_their_share(factor: float, right: bool) -> None:
    """By meaning they are one ranking, with their weights added; .25 of `asked` would do if none of them were its."""
    weights = Weights(asked=0.5, query=0.5, retrievers={"meaning": 0.5})
    settings = replace(hall().settings, weights=weights, reserve=0)
    dragoman = Dragoman([Words(), Meaning()], [Misleads()], settings=settings)
    found = await tables(dragoman, toy())
    merged = {(source, on): share for source, on, share in zip(*_rows(found[0]), strict=True)}
    assert merged["asked", "on meaning"].tolist() == pytest.approx(merged["query", "on meaning"].tolist())
    changed = replace(settings, weights=tuned_weights(weights, {"asked": factor}))
    other = Dragoman([Words(), Meaning()], [Misleads()], settings=changed)
    assert changed.weights.asked == 0.5 * factor
    assert bool(found[0].ndcg([{"asked": factor}])[0] == 1) is right
    for each, asked, after in zip(found, toy().questions, await tables(other, toy()), strict=True):
        scores = each.ndcg([{"asked": factor}])
        assert scores.tolist() == pytest.approx(after.ndcg([{}]).tolist())
        hits = [hit.doc_id for hit in other.search(asked.question, 100).hits]
        assert scores[0] == pytest.approx(per_question(toy().qrels, {asked.id: hits}, [asked.id])[MAIN][0])


def _rows(table: Table) -> tuple[tuple[str, ...], tuple[str, ...], list[np.ndarray]]:
    return table.sources, table.retrievers, list(table.shares)


def test_a_weight_that_pays_everywhere_is_found_and_holds_on_unseen_questions() -> None:
    found = tune([table(1.0, 1.6)] * 20)
    assert found.factors["says"] == 2.0
    assert found.default == pytest.approx(1 / np.log2(3))
    assert found.fitted == 1
    assert found.held_out.delta == pytest.approx(1 - 1 / np.log2(3))
    assert found.pays


def test_the_default_stands_where_nothing_pays() -> None:
    found = tune([table(2.0, 1.0)] * 10)
    assert set(found.factors.values()) == {1.0}
    assert not found.pays


def test_too_few_questions_show_no_gain_however_even() -> None:
    """Five won of five come to p .0625, and the interval lies above 0 all the same."""
    found = tune([table(1.0, 1.6)] * 5)
    assert found.held_out.low > 0
    assert found.held_out.p == pytest.approx(2 / 2**5)
    assert not found.pays


def test_a_weight_that_fits_by_chance_alone_does_not_pay() -> None:
    """Which of the two documents is relevant is a coin's; what is fitted to that does not hold."""
    random = np.random.default_rng(2)
    questions = [replace(table(*random.uniform(0.1, 2.0, 2)), gains=random.permutation([1.0, 0.0])) for _ in range(40)]
    found = tune(questions, seed=1)
    assert found.fitted > found.default
    assert not found.pays


def test_a_guard_that_loses_for_certain_stops_it() -> None:
    guard = replace(table(1.0, 1.6), gains=np.array([0.0, 1.0]))
    found = tune([table(1.0, 1.6)] * 20, guards={"clean": [guard] * 20})
    assert found.held_out.low > 0
    assert found.guards["clean"].high < 0
    assert not found.pays


def test_the_same_seed_deals_the_same_folds() -> None:
    random = np.random.default_rng(3)
    questions = [table(*random.uniform(0.1, 2.0, 2)) for _ in range(30)]
    assert tune(questions, seed=5).folds == tune(questions, seed=5).folds


def test_equal_scores_stand_as_trec_eval_puts_them() -> None:
    """Columns come in falling order of doc_id; the first of two equals is the higher id."""
    even = table(1.0, 1.0)
    assert even.ndcg([{}])[0] == 1
    assert replace(even, gains=np.array([0.0, 1.0])).ndcg([{}])[0] == pytest.approx(1 / np.log2(3))


def test_a_silenced_source_gives_no_hit() -> None:
    only = replace(table(1.0, 0.0), gains=np.array([1.0, 1.0]), ideal=1 + 1 / np.log2(3))
    assert only.ndcg([{"says": 0.0}])[0] == 0


async def test_there_must_be_judgments_and_questions_enough() -> None:
    with pytest.raises(CollectionError, match="weights need judgments"):
        await tables(hall(), toy({"q9": "signal"}))
    with pytest.raises(ValueError, match="5 folds need as many questions"):
        tune([table(1, 1)] * 4)


def test_a_factor_is_put_on_the_weight_that_counts_and_leaves_the_rest_of_it() -> None:
    weights = Weights(retrievers={"meaning": 0.5, "headings_meaning": ByLength(0.2, 0.2, 0.8, written=True)})
    tuned = tuned_weights(weights, {"on pg.meaning": 2.0, "on pg.headings_meaning": 0.5, "on pg.words": 3.0})
    assert tuned.retrievers == {
        **weights.retrievers,
        "pg.meaning": 1.0,
        "pg.headings_meaning": ByLength(0.1, 0.1, 0.4, written=True),
        "pg.words": 3.0,
    }


def test_weights_are_written_as_a_profile_reads_them(tmp_path: Path) -> None:
    factors = {"asked": 2.0, "re phrase": 0.5, "on pg.words": 3.0, "on meaning": 0.75, "says": 1.0}
    weights = tuned_weights(Weights(asked=0.25, query=1.0), factors)
    assert (weights.asked, weights.origins) == (0.5, {"re phrase": 0.5})
    assert weights.retrievers["pg.words"] == 3.0
    assert weights.retrievers["headings_meaning"] == ByLength(0.15, 0.15, 0.75, written=True, textual=0.5)
    path = tmp_path / "tuned.toml"
    path.write_text(as_toml(weights), "utf-8")
    read = load_profile(path).weights
    # 0.3 * 0.75 is 0.22499999999999998, which nobody wants in a file
    expected = {**weights.retrievers, "meaning": ByLength(0.225, 0.225, 1.125)}
    assert read == replace(weights, retrievers=expected)

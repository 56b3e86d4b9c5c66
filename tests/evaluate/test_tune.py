"""Tuning: tables give what the hall gives, weights move where it pays, and nowhere else."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from toy_corpus import HARMFUL, HELPFUL, QUESTIONS, hall, toy

from dragoman.dragoman import Dragoman
from dragoman.errors import CollectionError
from dragoman.evaluate.measures import MAIN, per_question
from dragoman.evaluate.tune import Table, as_toml, tables, tune, tuned_weights
from dragoman.search import ByLength, Weights


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


async def test_tuned_weights_do_in_a_hall_what_they_did_in_the_tables() -> None:
    dragoman = hall([HARMFUL])
    factors = {"wrong": 0.25}
    weights = tuned_weights(dragoman.settings.weights, factors)
    tuned = Dragoman(dragoman.retrievers, [HARMFUL], settings=replace(dragoman.settings, weights=weights))
    assert (await tuned.asearch(QUESTIONS["q2"])).hits[0].doc_id == "d2"
    before, after = (await tables(dragoman, toy()))[1].ndcg([{}, factors])
    assert before < after == 1


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


def test_weights_are_written_as_a_profile_reads_them() -> None:
    weights = tuned_weights(
        Weights(asked=0.25, query=1.0, retrievers={"meaning": ByLength(0.4, 0.2, 1.0), "words": 1.0}),
        {"asked": 2.0, "re phrase": 0.5, "on words": 3.0, "on meaning": 0.5, "says": 1.0},
    )
    assert weights.retrievers == {"meaning": ByLength(0.2, 0.1, 0.5), "words": 3.0}
    assert tomllib.loads(as_toml(weights)) == {
        "weights": {
            "question": 1.0, "asked": 0.5, "query": 1.0,
            "origins": {"re phrase": 0.5}, "retrievers": {"words": 3.0},
        }
    }  # fmt: skip

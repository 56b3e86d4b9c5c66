"""The verdict: which arm to switch on, none, or that one cannot tell."""

from __future__ import annotations

import numpy as np
from toy_corpus import toy

from dragoman.evaluate.compare import compare
from dragoman.evaluate.evaluation import ArmResult, Evaluation
from dragoman.evaluate.measures import MAIN, Values
from dragoman.evaluate.run import Answered, ArmRun
from dragoman.evaluate.verdict import verdict
from dragoman.types import Rewriting


def evaluation(**arms: Values) -> Evaluation:
    """An evaluation made of per-question values alone; an arm named slow_… takes a second."""
    asked = toy().questions[0]
    results = {
        name: ArmResult(
            ArmRun(name, (Answered(asked, (), 1.0 if "slow" in name else 0.001, Rewriting.of(asked.question)),)),
            {MAIN: values},
            compare(arms["raw"], values, samples=2_000),
        )
        for name, values in arms.items()
    }
    count = len(arms["raw"])
    return Evaluation("toy", tuple(map(str, range(count))), (), results)


RANDOM = np.random.default_rng(5)
RAW = RANDOM.random(200)


def test_the_arm_that_pays_is_named_with_its_figures() -> None:
    said = verdict(evaluation(raw=RAW, good=RAW + 0.1, bad=RAW - 0.2))
    assert said.startswith("Switch on good: nDCG@10")
    assert "+0.100" in said
    assert "200 won, 0 even, 0 lost" in said


def test_a_quicker_arm_that_is_nearly_as_good_is_named_beside_it() -> None:
    said = verdict(evaluation(raw=RAW, slow_model=RAW + 0.1, lexicon=RAW + 0.095))
    assert said.startswith("Switch on slow_model")
    assert "lexicon reaches nearly as much" in said
    assert "in 1.0 ms" in said


def test_a_gain_that_harms_many_says_so() -> None:
    mixed = RAW + np.tile([0.4, 0.4, -0.15, 0.4], 50)
    assert "harms 25% of the questions" in verdict(evaluation(raw=RAW, mixed=mixed))


def test_no_difference_worth_a_step_means_none_pays() -> None:
    said = verdict(evaluation(raw=RAW, same=RAW + RANDOM.normal(0, 0.01, 200), bad=RAW - 0.3))
    assert said.startswith("None pays here")
    assert "Leave rewriting off" in said
    assert "Worse than raw: bad" in said


def test_too_few_questions_cannot_tell_and_say_how_many_could() -> None:
    few = np.array([0.5, 0.5, 0.5, 0.5])
    said = verdict(evaluation(raw=few, maybe=few + np.array([0.3, -0.1, 0.2, -0.2])))
    assert said.startswith("Cannot tell with 4 questions")
    assert "questions like these would show a difference of this size" in said


def test_the_best_of_many_arms_must_be_better_than_chance_among_many() -> None:
    """Alone, p is about .03 and the arm is named; among ten arms of noise it is not."""
    random = np.random.default_rng(1)
    base = np.full(60, 0.5)
    noise = random.normal(0, 0.1, 60)
    lucky = base + noise - noise.mean() + 0.029
    alone = evaluation(raw=base, lucky=lucky)
    assert 0.005 < alone.arms["lucky"].comparison.p < 0.05
    assert verdict(alone).startswith("Switch on lucky")
    others = {f"noise{i}": base + random.normal(0, 0.1, 60) for i in range(9)}
    assert not verdict(evaluation(raw=base, lucky=lucky, **others)).startswith("Switch on")


def test_raw_alone_is_only_reported() -> None:
    assert verdict(evaluation(raw=RAW)).startswith("Only raw was run")

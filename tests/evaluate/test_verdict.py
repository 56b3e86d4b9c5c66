"""The verdict: which arm to switch on, none, or that one cannot tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toy_corpus import toy

from dragoman.evaluate.compare import compare
from dragoman.evaluate.evaluation import Alone, ArmResult, Evaluation
from dragoman.evaluate.measures import MAIN, Values
from dragoman.evaluate.run import Answered, ArmRun
from dragoman.evaluate.verdict import leading, verdict
from dragoman.types import Outcome, Rewriting, Step


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


def beside(found: Evaluation, reference: str, *steps: str, missing: tuple[str, ...] = ()) -> Evaluation:
    """The same with arms of steps, each with a reference, which nobody asked for; every question took a step."""
    arms = {**found.arms, reference: replace(found.arms[reference], asked=False)}
    for name in steps:
        if not missing:
            arms[name] = answering(found, name, Outcome.UNCHANGED).arms[name]
        against = compare(arms[reference].values[MAIN], arms[name].values[MAIN], samples=2_000)
        arms[name] = replace(arms[name], alone=Alone(reference, against, missing))
    return replace(found, arms=arms)


def answering(found: Evaluation, arm: str, *outcomes: Outcome) -> Evaluation:
    """The same with an arm whose step "model" came to these, a question each."""
    asked = found.raw.run.answered[0]
    steps = [Step("model", outcome, asked.asked.question.text) for outcome in outcomes]
    answered = tuple(replace(asked, rewriting=replace(asked.rewriting, steps=(step,))) for step in steps)
    return replace(found, arms={**found.arms, arm: replace(found.arms[arm], run=ArmRun(arm, answered))})


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


@pytest.mark.parametrize("count", [1, 3, 6, 12, 100])
def test_even_questions_cannot_tell_until_they_are_many(count: int) -> None:
    """The bootstrap over ties has no width, whatever others would have done."""
    even = np.full(count, 0.5)
    said = verdict(evaluation(raw=even, same=even))
    assert said.startswith(f"Cannot tell with {count} question")
    assert "same, differs from raw on 0 of them" in said
    assert "Nothing here speaks for switching one on." in said


def test_a_few_losses_among_few_questions_cannot_tell_either() -> None:
    few = np.full(4, 0.5)
    said = verdict(evaluation(raw=few, worse=few - np.array([0.3, 0.3, 0.3, 0.3])))
    assert said.startswith("Cannot tell with 4 questions")
    assert "it takes at least 6 that differ, or 300 in all" in said


def test_ties_enough_bound_what_an_arm_can_gain() -> None:
    """What was not seen in 300 questions befalls at most 1 in 100 of them."""
    even = np.full(300, 0.5)
    once = even + np.array([-0.2] + [0.0] * 299)
    assert verdict(evaluation(raw=even, same=even, once=once)).startswith("None pays here: over 300 questions")


def test_the_more_arms_the_more_questions_must_differ() -> None:
    """Six that differ show one arm at p .031; as one of three arms it would have to be under .017."""
    base = np.full(20, 0.5)
    small = base + np.array([0.001, -0.001] * 3 + [0.0] * 14)
    assert verdict(evaluation(raw=base, one=small)).startswith("None pays here")
    assert verdict(evaluation(raw=base, one=small, two=small, three=small)).startswith("Cannot tell")


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


def test_what_the_fusion_gains_is_not_laid_to_a_step() -> None:
    dust = RANDOM.normal(0, 0.01, 200)
    found = beside(evaluation(raw=RAW, fused=RAW + 0.1, lexicon=RAW + 0.1 + dust), "fused", "lexicon")
    said = verdict(found)
    assert said.startswith("Switch on the fusion (fused): nDCG@10")
    assert "No step adds to it: lexicon, the best, differs from it by " in said
    assert leading(found) is found.arms["fused"]


def test_whether_a_step_adds_to_the_fusion_may_be_open() -> None:
    wild = RANDOM.normal(0.01, 0.2, 200)
    said = verdict(beside(evaluation(raw=RAW, fused=RAW + 0.2, lexicon=RAW + 0.2 + wild), "fused", "lexicon"))
    assert said.startswith("Switch on the fusion (fused)")
    assert "Whether a step adds to it, one cannot tell: lexicon, the best," in said


def test_a_step_that_adds_to_its_fusion_is_named_with_what_it_adds() -> None:
    said = verdict(beside(evaluation(raw=RAW, fused=RAW + 0.1, lexicon=RAW + 0.15), "fused", "lexicon"))
    assert said.startswith("Switch on lexicon: nDCG@10")
    assert "Against fused, its fusion without steps: +0.050," in said


def test_an_arm_above_raw_and_not_above_its_fusion_cannot_tell_where_the_fusion_does_not_pay() -> None:
    """The arm's interval lies above raw's, its fusion's does not, and between the two lies chance."""
    fusion = np.tile([0.2, -0.19], 100)
    said = verdict(beside(evaluation(raw=RAW, fused=RAW + fusion, lexicon=RAW + 0.02), "fused", "lexicon"))
    assert said.startswith("Cannot tell with 200 questions: the best arm, lexicon, differs from raw by +0.020")
    assert "but from fused, its fusion without steps, by +0.015" in said
    assert "which may be chance" in said


def test_an_arm_none_of_whose_steps_ran_is_not_recommended() -> None:
    found = beside(evaluation(raw=RAW, same=RAW, model=RAW + 0.1), "same", "model")
    silent = answering(found, "model", Outcome.FAILED, Outcome.TIMED_OUT, Outcome.REWRITTEN)
    assert "Switch on" not in verdict(silent)
    assert verdict(silent).endswith(" Nothing can be said of model (model did not answer 2 of 3 questions).")
    bare = replace(
        found, arms={**found.arms, "model": replace(found.arms["model"], run=ArmRun("model", found.raw.run.answered))}
    )
    assert verdict(bare).endswith(" Nothing can be said of model (no question came to its steps).")
    left_out = verdict(beside(evaluation(raw=RAW, model=RAW + 0.1), "raw", "model", missing=("model",)))
    assert left_out == (
        "Cannot tell with 200 questions: no arm's steps ran. Nothing can be said of model (model was left out)."
    )


def test_a_step_that_was_not_asked_did_not_fail() -> None:
    found = beside(evaluation(raw=RAW, model=RAW + 0.1), "raw", "model")
    said = verdict(answering(found, "model", Outcome.SKIPPED, Outcome.SKIPPED, Outcome.REWRITTEN))
    assert said.startswith("Switch on model")
    assert "did not answer" not in said
    assert verdict(answering(found, "model", Outcome.SKIPPED)).startswith("Switch on model")


def test_what_was_wanting_in_the_arm_that_pays_is_said() -> None:
    found = beside(evaluation(raw=RAW, model=RAW + 0.1), "raw", "model", missing=("lexicon",))
    said = verdict(answering(found, "model", Outcome.FAILED, Outcome.REWRITTEN, Outcome.UNCHANGED))
    assert said.startswith("Switch on model")
    assert said.endswith(" But lexicon was left out, model did not answer 1 of 3 questions.")


def test_raw_alone_is_only_reported() -> None:
    assert verdict(evaluation(raw=RAW)).startswith("Only raw was run")

"""Paired comparisons: against scipy, against arithmetic, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from dragoman.evaluate.compare import compare, holm


def test_with_few_questions_p_is_exact_and_scipys() -> None:
    random = np.random.default_rng(7)
    base, arm = random.random(9), random.random(9)
    reference = stats.permutation_test(
        (arm, base), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert compare(base, arm).p == pytest.approx(reference.pvalue)


def test_with_many_questions_p_is_sampled_close_to_scipys() -> None:
    random = np.random.default_rng(11)
    base = random.random(200)
    arm = base + random.normal(0.02, 0.15, 200)
    reference = stats.permutation_test(
        (arm, base), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=20_000,
        vectorized=True, rng=random,
    )  # fmt: skip
    assert compare(base, arm, samples=20_000).p == pytest.approx(reference.pvalue, abs=0.02)


def test_the_interval_is_the_bootstraps() -> None:
    random = np.random.default_rng(3)
    base = random.random(300)
    arm = base + random.normal(0.05, 0.2, 300)
    reference = stats.bootstrap((arm - base,), np.mean, method="percentile", n_resamples=10_000, rng=random)
    found = compare(base, arm)
    assert found.low == pytest.approx(reference.confidence_interval.low, abs=0.002)
    assert found.high == pytest.approx(reference.confidence_interval.high, abs=0.002)
    assert found.low < found.delta < found.high


def test_wins_ties_losses_and_harm_are_counted() -> None:
    base = np.array([0.5, 0.5, 0.5, 0.5, 0.5])
    arm = np.array([0.6, 0.5, 0.5 + 1e-12, 0.4, 0.39])
    found = compare(base, arm)
    assert (found.wins, found.ties, found.losses) == (1, 2, 2)
    assert found.harm == pytest.approx(1 / 5)  # a loss of exactly .1 is not more than .1
    assert found.delta == pytest.approx((0.1 - 0.1 - 0.11) / 5)
    assert found.questions == 5


def test_equal_runs_differ_by_nothing() -> None:
    values = np.array([0.2, 0.9])
    found = compare(values, values)
    assert (found.delta, found.low, found.high, found.p) == (0, 0, 0, 1)
    assert found.needed() is None


def test_the_same_seed_gives_the_same_figures_and_another_seed_others() -> None:
    random = np.random.default_rng(0)
    base, arm = random.random(50), random.random(50)
    assert compare(base, arm, seed=1) == compare(base, arm, seed=1)
    assert compare(base, arm, seed=1) != compare(base, arm, seed=2)


def test_questions_needed_follow_from_the_spread() -> None:
    """Differences of +.3 and -.1 in turn: mean .1, deviation .2 in the limit, so (2.8016 * 2)^2, about 31.4."""
    found = compare(np.zeros(10_000), np.tile([0.3, -0.1], 5_000))
    assert found.needed() == 32


def test_a_sampled_p_is_never_nought() -> None:
    found = compare(np.zeros(100), np.ones(100), samples=999)
    assert found.p == pytest.approx(1 / 1000)


def test_one_question_can_be_compared() -> None:
    found = compare(np.array([0.1]), np.array([0.3]))
    assert (found.p, found.spread) == (1, 0)
    assert found.delta == pytest.approx(0.2)


def test_different_questions_on_the_two_sides_are_refused() -> None:
    with pytest.raises(ValueError, match="same questions on both sides"):
        compare(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="same questions"):
        compare(np.zeros(0), np.zeros(0))


def test_holm_is_hand_computed_and_never_falls() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}

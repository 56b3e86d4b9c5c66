"""A standing is measured against what the corpus's own sentences reach."""

from __future__ import annotations

import pytest

from dragoman.retrievers.standing import LEAST_SAMPLE, SLACK, Levels, Standing, everyday, measured, quantile


def test_the_score_counts_the_corpus_twice_against_everywhere() -> None:
    standing = Standing(0.4, 0.9, Levels(0.0, 0.7))
    assert standing.score == pytest.approx(-0.1)
    assert standing.off_topic()
    assert not standing.off_topic(slack=0.2)


def test_at_home_is_as_near_as_the_median_own_sentence() -> None:
    assert Standing(0.7, 0, Levels(0, 0.7)).at_home
    assert not Standing(0.69, 0, Levels(0, 0.7)).at_home


def test_levels_come_from_the_sample() -> None:
    own = [0.5 + number / 100 for number in range(41)]
    others = [0.4 + number / 100 for number in range(41)]
    levels = measured(own, others, [0.1] * 41)
    assert levels.home == pytest.approx(0.7)
    # the hundredth part of 40 steps of .02 above the lowest score, 2 * .4 - .1
    assert levels.least == pytest.approx(0.7 + 0.4 * 0.02 - SLACK)


def test_a_corpus_too_small_to_measure_turns_nothing_away() -> None:
    few = [0.5] * (LEAST_SAMPLE - 1)
    assert not Standing(-1.0, 1.0, measured(few, few, few)).off_topic()
    assert not Standing(0.99, 0.0, measured([], [], [])).at_home


def test_without_a_list_for_its_language_a_corpus_turns_nothing_away() -> None:
    levels = measured([0.5] * 40, [0.4] * 40, None)
    assert not Standing(-1.0, 1.0, levels).off_topic()
    assert levels.home == 0.5


@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.5, 2.5), (1, 4), (0.25, 1.75)])
def test_a_quantile_lies_between_neighbours(share: float, value: float) -> None:
    assert quantile([4, 1, 3, 2], share) == value


def test_the_everyday_list_has_many_different_lines_and_no_comment() -> None:
    lines = everyday("en")
    assert len(lines) == len(set(lines)) > 300
    assert not [line for line in lines if line.startswith("#")]
    assert everyday("xx") == ()

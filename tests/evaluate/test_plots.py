"""Plots: values stand where arithmetic puts them, and scales are round."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.evaluate.plots import Axis, curve, gains, interval, linear, logarithmic, shares, span

finite = st.floats(-5, 5, allow_nan=False)


def test_a_value_lies_in_its_share_of_the_width_between_the_margins() -> None:
    axis = Axis(0.0, 10.0, ())
    assert [axis.at(value) for value in (0, 5, 10, -3, 99)] == [2, 50, 98, 2, 98]
    assert Axis(1.0, 100.0, (), log=True).at(10) == pytest.approx(50)


@given(st.lists(finite, min_size=1, max_size=6))
def test_a_linear_axis_holds_nought_and_every_value_and_its_ticks_are_few(values: list[float]) -> None:
    axis = linear(values)
    assert axis.low <= min(0.0, *values) + 1e-9
    assert axis.high >= max(0.0, *values) - 1e-9
    assert 0.0 in axis.ticks
    assert 2 <= len(axis.ticks) <= 7
    assert list(axis.ticks) == sorted(axis.ticks)


def test_a_logarithmic_axis_ends_at_powers_of_ten() -> None:
    axis = logarithmic([2.5, 800.0])
    assert axis.ticks == (1.0, 10.0, 100.0, 1000.0)
    assert logarithmic([0.0, 0.0]).low > 0


def test_gains_are_drawn_best_first_each_a_step_wide() -> None:
    drawn = gains([0.25, -0.5, 0.0, 0.75], 1.0, "x")
    areas = dict(re.findall(r'<path class="(\w+)" d="([^"]*)"', drawn))
    assert areas["gain"] == "M0 0H0V-0.75H1V-0.25H2V-0H4V0Z"
    assert areas["loss"] == "M0 0H3V0.5H4V0Z"
    assert 'viewBox="0 -1 4 2"' in drawn


def test_equal_gains_make_one_step() -> None:
    assert gains([0.5] * 1000, 1.0, "x").count("H") == 3  # one rise, and each area to its end


def test_shares_fill_the_bar() -> None:
    drawn = shares({"rewritten": 1, "unchanged": 3}, "x")
    widths = [float(width) for width in re.findall(r'width="([\d.]+)%" y', drawn)]
    assert widths == [25, 75]
    assert shares({}, "x").count("<rect") == 0


@pytest.mark.parametrize(("low", "high", "side"), [(0.1, 0.3, "gain"), (-0.3, -0.1, "loss"), (-0.1, 0.3, "even")])
def test_an_intervals_colour_says_on_which_side_of_nought_it_lies(low: float, high: float, side: str) -> None:
    assert f'<circle class="{side}"' in interval(Axis(-1, 1, (0.0,)), (low + high) / 2, low, high, "x")


def test_labels_are_escaped() -> None:
    hostile = '"><script>'
    axis = Axis(0.1, 1, (0.5,), log=True)
    for drawn in (
        span(axis, 0.2, 0.3, hostile),
        shares({hostile: 1}, hostile),
        gains([1.0], 1.0, hostile),
        curve([(0, 0.1), (10, 0.2)], hostile),
    ):
        assert "<script" not in drawn

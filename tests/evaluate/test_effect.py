"""`make effect`: what is not there is skipped by name, and what is wanted is said with what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.effect import main
from bench.effect_rows import ROWS, Floor
from toy_corpus import HARMFUL, HELPFUL, arm, toy

from dragoman.evaluate import evaluate


def test_a_collection_that_is_not_there_is_skipped_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "effect.md"
    assert main([str(tmp_path), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    for row in ROWS:
        assert f"{row.name}: skipped, there is no {tmp_path / row.folder}" in said
    assert not out.exists()


async def test_what_is_wanted_is_met_or_short_by_how_much() -> None:
    found = await evaluate(toy(), [arm(), arm("helpful", [HELPFUL]), arm("wrong", [HARMFUL])])
    helpful, wrong = found.arms["helpful"], found.arms["wrong"]
    assert Floor(mean=0.9).say(helpful, found) == "at least 0.90 (met)"
    assert Floor(mean=0.95).say(wrong, found) == f"at least 0.95 (short by {0.95 - wrong.mean():.3f})"
    assert Floor(above=-0.005, harm=0.01).say(helpful, found) == "interval above -0.005 (met), harm under 1% (met)"
    assert "harm under 1% (short by 0.240)" in Floor(above=-0.005, harm=0.01).say(wrong, found)
    assert Floor(gain=0.1).say(helpful, found) == "+10%: 1.100 (short by 0.100)"

"""The command `evaluate`: what it does not take."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli import main


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--seed", "-1"], "-1 is not in the range x>=0"),
        (["--prices", "-1/2"], "'-1/2' holds what is no price"),
        (["--prices", "1/nan"], "'1/nan' holds what is no price"),
        (["--prices", "1/inf"], "'1/inf' holds what is no price"),
        (["--prices", "1"], "'1' is not IN/OUT"),
        (["--guard", "absent"], "give --tune too"),
    ],
)
def test_a_value_that_means_nothing_is_a_usage_error(tmp_path: Path, given: list[str], said: str) -> None:
    failed = CliRunner().invoke(main, ["evaluate", str(tmp_path), *given])
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert said in failed.stderr

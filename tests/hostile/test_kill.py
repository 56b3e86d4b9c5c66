"""A handful of what `make soak` does two hundred times: kill -9 at random moments of what writes to disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")
@pytest.mark.parametrize("part", ["index", "cache", "memory", "learning"])
def test_what_was_acknowledged_outlives_a_kill_and_nothing_is_half_read(part: str) -> None:
    command = [sys.executable, "-m", "bench.kill", "--times", "3", "--only", part, "--seed", "11"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{part}: killed 3 times, ")
    assert done.stdout.endswith(" 0 times something lost\n")

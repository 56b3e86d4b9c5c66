"""`dragoman cache` says what is kept, and forgets it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.rewriters.cache import RewriteCache


def test_a_cache_is_counted_and_cleared(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    kept = RewriteCache(path)
    for number in range(3):
        kept.put(bytes([number]), {"n": number})
    kept.close()
    runner = CliRunner()
    assert json.loads(runner.invoke(main, ["cache", "stats", "--path", str(path), "--json"]).stdout)["entries"] == 3
    assert "3 rewrites forgotten" in runner.invoke(main, ["cache", "clear", "--path", str(path)]).stdout
    assert "0 rewrites" in runner.invoke(main, ["cache", "stats", "--path", str(path)]).stdout


def test_the_profile_may_name_it(tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('name = "p"\nsteps = ["rules"]\n[cache]\npath = "kept.sqlite"\n', "utf-8")
    RewriteCache(tmp_path / "kept.sqlite").close()
    done = CliRunner().invoke(main, ["cache", "stats", "--profile", str(profile)])
    assert (done.exit_code, "0 rewrites" in done.stdout) == (0, True)


def test_a_cache_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["cache", "stats", "--path", str(tmp_path / "none")])
    assert done.exit_code == 1
    assert "no cache yet" in done.stderr
    assert not (tmp_path / "none").exists()
    assert CliRunner().invoke(main, ["cache", "stats"]).exit_code == 2
    assert CliRunner().invoke(main, ["cache", "stats", "--profile", "default"]).exit_code == 1


@pytest.mark.parametrize("action", ["stats", "clear"])
def test_a_file_that_is_no_cache_is_one_line_and_left_alone(tmp_path: Path, action: str) -> None:
    path = tmp_path / "k.jsonl"
    path.write_text('{"question": "how fast"}\n', "utf-8")
    done = CliRunner().invoke(main, ["cache", action, "--path", str(path)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"dragoman: {path} is no cache: it is no SQLite file; name another\n"
    assert path.read_text("utf-8") == '{"question": "how fast"}\n'
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("action", ["stats", "clear"])
def test_a_cache_that_another_process_locks_is_one_line(tmp_path: Path, action: str) -> None:
    path = tmp_path / "kept.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE rewrites (key BLOB PRIMARY KEY, value TEXT, used REAL)")
    other.execute("BEGIN EXCLUSIVE")
    done = CliRunner().invoke(main, ["cache", action, "--path", str(path)])
    other.close()
    assert (done.exit_code, done.stderr) == (1, f"dragoman: {path}: the cache cannot be used: database is locked\n")

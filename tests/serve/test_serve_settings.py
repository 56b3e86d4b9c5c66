"""A service that is told wrongly does not start, and says what to change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.demo import example
from dragoman.errors import DragomanError, IndexStateError, ProfileError
from dragoman.learn import Status, read_review, write_review
from dragoman.serve.command import Options, settings_of
from dragoman.serve.settings import KEYS, KEYS_FILE, ServiceError, Settings, Table, is_loopback, pair_up, read_keys

KEY = "a-key-of-enough-characters"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "search.example"])
def test_an_address_that_others_reach_needs_a_key(host: str) -> None:
    with pytest.raises(ServiceError, match=KEYS):
        Settings((Table("default"),), host=host)
    assert Settings((Table("default"),), host=host, keys=(KEY,)).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_this_machines_own_address_needs_none(host: str) -> None:
    assert is_loopback(host)
    assert Settings((Table("default"),), host=host).keys == ()


def test_a_short_key_is_refused_and_a_key_is_never_shown() -> None:
    with pytest.raises(ServiceError, match="easily guessed"):
        Settings((Table("default"),), keys=("secret",))
    assert KEY not in repr(Settings((Table("default"),), keys=(KEY,)))
    assert KEY not in Settings((Table("default"),), keys=(KEY,)).to_json()


def test_keys_come_from_the_environment_and_from_the_file_it_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\n{KEY}-2\n\n{KEY}\n")
    monkeypatch.setenv(KEYS, f"{KEY}, {KEY}-1")
    monkeypatch.setenv(KEYS_FILE, str(file))
    assert read_keys() == (KEY, f"{KEY}-1", f"{KEY}-2")
    monkeypatch.setenv(KEYS_FILE, str(tmp_path / "absent"))
    with pytest.raises(ServiceError, match="cannot be read"):
        read_keys()


def test_settings_travel_to_a_worker_whole(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setenv(KEYS, KEY)
    monkeypatch.delenv(KEYS_FILE, raising=False)
    full = replace(settings, keys=(KEY,), origins=("https://a.example",), limits=replace(settings.limits, body=5_000))
    assert Settings.from_json(full.to_json()) == full


def test_profiles_and_indexes_are_paired_in_order() -> None:
    assert pair_up(["a", "b"], ["x"], "m") == (Table("a", "x", "m"), Table("b", "x", "m"))
    assert pair_up(["a", "b"], ["x", "y"]) == (Table("a", "x"), Table("b", "y"))
    assert pair_up(["a"], []) == (Table("a"),)
    with pytest.raises(ServiceError, match="1 profiles and 2 indexes"):
        pair_up(["a"], ["x", "y"])


def test_what_is_named_wrongly_is_told_before_anything_starts(folder: Path) -> None:
    with pytest.raises(ProfileError):
        settings_of(Options(profiles=("no-such-profile",)))
    with pytest.raises(IndexStateError):
        settings_of(Options(indexes=(str(folder / "nowhere"),)))
    with pytest.raises(OSError, match="No such file"):
        settings_of(Options(report=str(folder / "absent.html")))
    with pytest.raises(OSError, match=r"absent\.txt"):
        settings_of(Options(learned=str(folder / "absent.txt")))
    with pytest.raises(ServiceError, match="is a folder; expected a file to append to"):
        settings_of(Options(proposals=str(folder)))
    with pytest.raises(ServiceError, match="two profiles are called 'default'"):
        settings_of(Options(profiles=("default", "default")))
    assert settings_of(Options(indexes=(str(folder / "index"),))).tables[0].profile == "default"


def test_the_example_is_served_with_its_own_replies_and_questions(tmp_path: Path) -> None:
    given = {"profiles": (), "indexes": (), "port": 7, "model": None}
    options = Options.of_example(given, "road-law", tmp_path / "index", example())
    assert options.profiles == ("road-law", "default")
    assert options.model == f"replay:{example() / 'replies.jsonl'}"
    assert options.questions == str(example() / "queries.jsonl")
    assert (options.port, options.feedback) == (7, str(tmp_path / "index-feedback.jsonl"))


def test_the_example_has_learned_something_to_review_and_keeps_what_was_decided(tmp_path: Path) -> None:
    learned = Path(Options.of_example({}, "road-law", tmp_path / "index", example()).learned or "")
    assert learned == tmp_path / "index-learned.txt"
    waiting = read_review(learned).of(Status.PENDING)
    assert len(waiting) >= 10
    write_review(read_review(learned).decide(waiting[0].left, Status.REJECTED), learned)
    Options.of_example({}, "road-law", tmp_path / "index", example())
    assert [block.left for block in read_review(learned).of(Status.REJECTED)] == [waiting[0].left]


def test_the_command_says_what_is_wrong_in_a_line() -> None:
    told = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"], env={KEYS: "", KEYS_FILE: ""})
    assert told.exit_code == 1
    assert told.stderr.startswith("dragoman: 0.0.0.0 can be reached from other machines")
    assert issubclass(ServiceError, DragomanError)

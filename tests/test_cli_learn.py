"""The commands `learn` and `memory`: what they read, write and print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dragoman import cli_learn
from dragoman.errors import IndexStateError
from dragoman.learn import Status, read_review
from dragoman.retrievers import build_index
from dragoman.rewriters.lexicon import Lexicon
from dragoman.rewriters.memory_store import MemoryStore


def call(command: Any, *arguments: str | Path, typed: str | None = None) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments], input=typed, catch_exceptions=False)


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [{"question": f"my junker is {n}", "searches": ["abandoned vehicle"]} for n in range(8)]
    rows += [{"question": f"going fast thing{n}", "searches": ["speed limit"]} for n in range(8)]
    return written(tmp_path / "pairs.jsonl", rows)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learn")
    rows = [
        {"_id": "a", "title": "Abandoned vehicles", "text": "No person shall abandon a vehicle on a highway."},
        {"_id": "b", "title": "Speed limits", "text": "The maximum speed limit is posted."},
    ]
    build_index([written(folder / "corpus.jsonl", rows)], folder / "index")
    return folder / "index"


def test_learn_writes_a_lexicon_and_says_what_came_of_it(tmp_path: Path, pairs: Path) -> None:
    done = call(cli_learn.learn, pairs, "--out", tmp_path / "l.txt", "--json")
    data = json.loads(done.stdout)
    assert (data["pairs"], data["new"]) == (16, 16)
    assert "junker" in data["added"]
    assert Lexicon.read(tmp_path / "l.txt").apply("junker").hits
    assert call(cli_learn.learn, "--out", tmp_path / "l.txt").stdout.startswith("0 new of 16 pairs")


def test_learn_reads_replies_by_id_clicks_and_collections(tmp_path: Path) -> None:
    questions = written(tmp_path / "queries.jsonl", [{"_id": f"q{n}", "text": f"junker {n}"} for n in range(4)])
    corpus = written(tmp_path / "corpus.jsonl", [{"_id": "d", "title": "Abandoned", "text": "vehicle"}])
    (tmp_path / "qrels.tsv").write_text("q\td\ts\nq0\td\t1\n", "utf-8")
    mixed = written(
        tmp_path / "mixed.jsonl",
        [{"_id": "q1", "searches": ["abandoned vehicle"]}, {"question": "junker x", "doc_id": "d", "times": 2}],
    )
    done = call(
        cli_learn.learn,
        mixed,
        tmp_path,
        *("--questions", questions, "--corpus", corpus, "--out", tmp_path / "out" / "l.txt", "--json"),
    )
    assert json.loads(done.stdout)["pairs"] == 3


def test_under_review_nothing_is_in_force_until_it_is_accepted(tmp_path: Path, pairs: Path) -> None:
    done = call(cli_learn.learn, pairs, "--out", tmp_path / "l.txt", "--review")
    assert "wait for review" in done.stdout
    assert not Lexicon.read(tmp_path / "l.txt").entries


def test_on_a_terminal_each_entry_is_asked_about(tmp_path: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "l.txt"
    call(cli_learn.learn, pairs, "--out", path, "--review")
    waiting = read_review(path).of(Status.PENDING)
    answers = iter(["a", "r", *"l" * len(waiting)])
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    cli_learn._review(path)
    statuses = [block.status for block in read_review(path).blocks]
    assert statuses[:2] == [Status.ACCEPTED, Status.REJECTED]
    assert set(statuses[2:]) <= {Status.PENDING}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--from-memory",), "names a memory"),
        (("--propose",), "--index and --model"),
    ],
)
def test_learn_says_what_is_missing(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    done = call(cli_learn.learn, "--out", tmp_path / "l.txt", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_words_that_no_document_holds_are_put_to_a_model(tmp_path: Path, pairs: Path, index: Path) -> None:
    model = written(
        tmp_path / "replies.jsonl", [{"question": "junker", "meaning": "old car", "phrases": ["abandoned vehicle"]}]
    )
    path = tmp_path / "own.txt"
    path.write_text("fast => speed\n", "utf-8")
    asked = written(tmp_path / "asked.jsonl", [{"question": f"junker {n}", "searches": [f"x{n}"]} for n in range(3)])
    done = call(
        cli_learn.learn, asked, "--out", path, "--propose", "--index", index, "--model", f"replay:{model}", "--json"
    )
    assert json.loads(done.stdout)["proposed"] == 1
    assert [block.left for block in read_review(path).of(Status.PENDING)] == ["junker"]


def test_memory_remembers_replies_says_how_many_and_forgets(tmp_path: Path, index: Path) -> None:
    store = tmp_path / "m.sqlite"
    replies = written(
        tmp_path / "r.jsonl",
        [{"question": "my junker", "searches": ["abandoned vehicle"]}, {"question": "how fast", "searches": ["speed"]}],
    )
    added = call(cli_learn.memory, "--store", store, "--add", replies, "--index", index)
    assert added.stdout.startswith("2 questions remembered")
    assert "2 new or changed" in added.stdout
    gone = json.loads(call(cli_learn.memory, "--store", store, "--forget", "My Junker", "--json").stdout)
    assert gone == {"remembered": 1, "forgotten": 1, "added": 0}
    assert json.loads(call(cli_learn.memory, "--store", store, "--older-than", "1", "--json").stdout)["forgotten"] == 0
    assert json.loads(call(cli_learn.memory, "--store", store, "--clear", "--json").stdout)["remembered"] == 0


def test_learning_from_memory_reads_the_profiles_own(tmp_path: Path, index: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text('steps = ["memory"]\n[memory]\npath = "m.sqlite"\n', "utf-8")
    replies = written(tmp_path / "r.jsonl", [{"question": "my junker", "searches": ["abandoned vehicle"]}])
    call(cli_learn.memory, "--profile", profile, "--add", replies, "--index", index)
    assert len(MemoryStore(tmp_path / "m.sqlite", "own")) == 1
    done = call(cli_learn.learn, "--profile", profile, "--from-memory", "--out", tmp_path / "l.txt", "--json")
    assert json.loads(done.stdout)["pairs"] == 1


def test_memory_says_what_is_missing(tmp_path: Path) -> None:
    assert "no memory" in call(cli_learn.memory).stderr
    assert "--index" in call(cli_learn.memory, "--store", tmp_path / "m.sqlite", "--add", tmp_path / "r").stderr


def test_an_index_of_words_only_cannot_fill_a_memory(tmp_path: Path) -> None:
    corpus = written(tmp_path / "corpus.jsonl", [{"_id": "a", "text": "speed"}])
    build_index([corpus], tmp_path / "index", embedder=None)
    with pytest.raises(IndexStateError, match="words only"):
        call(cli_learn.memory, "--store", tmp_path / "m.sqlite", "--add", corpus, "--index", tmp_path / "index")

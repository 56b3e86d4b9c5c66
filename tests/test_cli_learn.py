"""The commands `learn` and `memory`: what they read, write and print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dragoman import cli_learn, cli_memory
from dragoman.errors import CollectionError, IndexStateError, RewriteError
from dragoman.learn import Status, read_review
from dragoman.learn.learning import STATE
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts, build
from dragoman.retrievers import build_index, open_index
from dragoman.retrievers.documents import find_files, read_documents
from dragoman.retrievers.engines import open_engine
from dragoman.rewriters.lexicon import Lexicon
from dragoman.rewriters.memory_store import MemoryStore
from dragoman.testing import ScriptedModel


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
    added = call(cli_memory.memory, "--store", store, "--add", replies, "--index", index)
    assert added.stdout.startswith("2 questions remembered")
    assert "2 new or changed" in added.stdout
    gone = json.loads(call(cli_memory.memory, "--store", store, "--forget", "My Junker", "--json").stdout)
    assert gone == {"remembered": 1, "forgotten": 1, "added": 0}
    assert json.loads(call(cli_memory.memory, "--store", store, "--older-than", "1", "--json").stdout)["forgotten"] == 0
    assert json.loads(call(cli_memory.memory, "--store", store, "--clear", "--json").stdout)["remembered"] == 0


def test_learning_from_memory_reads_the_profiles_own(tmp_path: Path, index: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text('steps = ["memory"]\n[memory]\npath = "m.sqlite"\n', "utf-8")
    replies = written(tmp_path / "r.jsonl", [{"question": "my junker", "searches": ["abandoned vehicle"]}])
    call(cli_memory.memory, "--profile", profile, "--add", replies, "--index", index)
    assert len(MemoryStore(tmp_path / "m.sqlite", "own")) == 1
    done = call(cli_learn.learn, "--profile", profile, "--from-memory", "--out", tmp_path / "l.txt", "--json")
    assert json.loads(done.stdout)["pairs"] == 1


def test_memory_says_what_is_missing(tmp_path: Path) -> None:
    assert "no memory" in call(cli_memory.memory).stderr
    assert "--index" in call(cli_memory.memory, "--store", tmp_path / "m.sqlite", "--add", tmp_path / "r").stderr


def test_an_index_of_words_only_cannot_fill_a_memory(tmp_path: Path) -> None:
    corpus = written(tmp_path / "corpus.jsonl", [{"_id": "a", "text": "speed"}])
    build_index([corpus], tmp_path / "index", embedder=None)
    with pytest.raises(IndexStateError, match="words only"):
        call(cli_memory.memory, "--store", tmp_path / "m.sqlite", "--add", corpus, "--index", tmp_path / "index")


NOISY = "hey so can you please tell me how dark can i get my windows tinted, thanks"
PRIVATE = "where do i write to joe@example.com about a junker"
MISSPELLED = "may i leave my vehicel"


@pytest.fixture(scope="module")
def roads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that says its words often enough to spell by them."""
    folder = tmp_path_factory.mktemp("roads")
    rows = [{"_id": str(n), "text": f"A vehicle of class {n} on a highway."} for n in range(30)]
    build_index([written(folder / "corpus.jsonl", rows)], folder / "index")
    return folder / "index"


@pytest.fixture
def remembering(tmp_path: Path, roads: Path) -> Path:
    """A profile whose memory holds what was asked through it."""
    profile = tmp_path / "own.toml"
    profile.write_text(
        'steps = ["rules", "spelling", "rephrase", "remember"]\n'
        '[memory]\npath = "m.sqlite"\n[masking]\nkinds = ["email"]\n',
        "utf-8",
    )
    model = ScriptedModel({"about_corpus": True, "searches": ["abandoned vehicle"]})
    with open_index(roads) as opened:
        parts = Parts(retrievers=opened.retrievers, vocabulary=opened.vocabulary, llm=model)
        with build(load_profile(profile), parts) as hall:
            for question in (NOISY, PRIVATE, MISSPELLED):
                hall.rewrite(question)
    return profile


def kept(profile: Path) -> list[str]:
    data = json.loads(call(cli_memory.memory, "--profile", profile, "--list", "--json").stdout)
    return [row["question"] for row in data["questions"]]


@pytest.mark.parametrize("question", [NOISY, PRIVATE, MISSPELLED])
def test_a_question_is_forgotten_as_it_was_asked_though_it_is_kept_cleaned_spelled_and_masked(
    remembering: Path, roads: Path, question: str
) -> None:
    before = kept(remembering)
    assert len(before) == 3
    assert question not in before
    done = call(cli_memory.memory, "--profile", remembering, "--forget", question, "--index", roads)
    assert "1 forgotten" in done.stdout
    assert len(kept(remembering)) == 2


def test_a_question_is_forgotten_as_the_list_shows_it(remembering: Path) -> None:
    told = call(cli_memory.memory, "--profile", remembering, "--list").stdout
    assert "0.0 days  " in told
    assert " -> abandoned vehicle" in told
    for question in kept(remembering):
        assert call(cli_memory.memory, "--profile", remembering, "--forget", question).exit_code == 0
    assert not kept(remembering)


def test_a_question_that_is_not_remembered_is_told_and_fails(remembering: Path) -> None:
    done = call(cli_memory.memory, "--profile", remembering, "--forget", "never asked", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["remembered"] == 3
    assert "--list" in done.stderr


def proposing(tmp_path: Path, *sources: Path, index: Path | str) -> Result:
    model = written(
        tmp_path / "replies.jsonl", [{"question": "junker", "meaning": "old car", "phrases": ["abandoned vehicle"]}]
    )
    rest = ("--out", tmp_path / "p.txt", "--propose", "--index", index, "--model", f"replay:{model}")
    return call(cli_learn.learn, *sources, *rest)


@pytest.mark.parametrize(
    "line",
    [
        {"question": "my junker {}"},
        {"_id": "{}", "text": "my junker {}"},
        {"question": "my junker {}", "searches": []},
    ],
)
def test_questions_that_nothing_answered_are_read_for_proposals(
    tmp_path: Path, index: Path, line: dict[str, Any]
) -> None:
    rows = [json.loads(json.dumps(line).replace("{}", str(n))) for n in range(3)]
    asked = written(tmp_path / "queries.jsonl", rows)
    told = proposing(tmp_path, asked, index=index).stdout
    assert "3 questions; of 1 words that no document holds 1 entries proposed" in told
    assert [block.left for block in read_review(tmp_path / "p.txt").of(Status.PENDING)] == ["junker"]


def test_a_folder_of_questions_is_read_for_proposals(tmp_path: Path, index: Path) -> None:
    folder = tmp_path / "asked"
    folder.mkdir()
    written(folder / "queries.jsonl", [{"_id": str(n), "text": f"my junker {n}"} for n in range(3)])
    assert "3 questions" in proposing(tmp_path, folder, index=index).stdout


def test_questions_with_and_without_an_answer_are_read_together_and_pairs_are_learned_from(
    tmp_path: Path, index: Path, pairs: Path
) -> None:
    mixed = [{"question": "junker one", "searches": ["abandoned vehicle"]}, {"question": "junker two"}]
    told = proposing(tmp_path, pairs, written(tmp_path / "mixed.jsonl", mixed), index=index).stdout
    assert told.startswith("16 new of 16 pairs")
    assert "18 questions" in told


def test_a_line_without_a_question_is_told(tmp_path: Path, index: Path) -> None:
    with pytest.raises(CollectionError, match=r"asked.jsonl:1: no question"):
        proposing(tmp_path, written(tmp_path / "asked.jsonl", [{"name": "junker"}]), index=index)


def test_an_engine_says_which_words_its_documents_hold(tmp_path: Path, index: Path) -> None:
    address = f"sqlite:{tmp_path / 'c.db'}"
    corpus = written(tmp_path / "corpus.jsonl", [{"_id": "a", "title": "Abandoned vehicle", "text": "on a highway"}])
    open_engine(address).index(read_documents(find_files([corpus])))
    asked = written(tmp_path / "asked.jsonl", [{"question": f"my junker {n}"} for n in range(3)])
    assert "1 entries proposed" in proposing(tmp_path, asked, index=address).stdout


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A folder of Markdown, as it is indexed."""
    (tmp_path / "md").mkdir()
    (tmp_path / "md" / "code.md").write_text("# Speed limits\n\nThe speed limit is posted.\n", "utf-8")
    return tmp_path / "md"


@pytest.mark.parametrize("given", ["index", "corpus"])
def test_clicks_on_an_index_of_markdown_are_learned_from(tmp_path: Path, manual: Path, given: str) -> None:
    build_index([manual], tmp_path / "index", embedder=None)
    clicks = [{"question": f"going fast {n}", "doc_id": "md/code.md#speed-limits", "rank": 1} for n in range(8)]
    log = written(tmp_path / "clicks.jsonl", clicks)
    place = tmp_path / "index" if given == "index" else manual
    done = call(cli_learn.learn, log, f"--{given}", place, "--out", tmp_path / "l.txt", "--json")
    assert json.loads(done.stdout)["pairs"] == 8
    assert Lexicon.read(tmp_path / "l.txt").apply("fast").hits


def test_a_click_whose_text_is_nowhere_says_what_to_give(tmp_path: Path, manual: Path) -> None:
    log = written(tmp_path / "clicks.jsonl", [{"question": "going fast", "doc_id": "gone"}])
    with pytest.raises(CollectionError, match=r"'gone'.*--index DIR.*--corpus"):
        call(cli_learn.learn, log, "--out", tmp_path / "l.txt")
    with pytest.raises(CollectionError, match=r"clicks.jsonl:1: document 'gone'"):
        call(cli_learn.learn, log, "--corpus", manual, "--out", tmp_path / "l.txt")


def test_earlier_entries_do_not_go_because_what_was_kept_of_their_pairs_is_missing(tmp_path: Path, pairs: Path) -> None:
    path = tmp_path / "l.txt"
    call(cli_learn.learn, pairs, "--out", path)
    before = path.read_text("utf-8")
    path.with_name(path.name + STATE).unlink()
    few = written(tmp_path / "few.jsonl", [{"question": "zebra", "searches": ["crosswalk"]}])
    with pytest.raises(CollectionError, match=r"learned entries of l\.txt .* --anew"):
        call(cli_learn.learn, few, "--out", path)
    assert path.read_text("utf-8") == before
    assert call(cli_learn.learn, pairs, few, "--out", path).exit_code == 0  # all pairs given again
    assert Lexicon.read(path).apply("junker").hits
    begun = json.loads(call(cli_learn.learn, few, "--out", path, "--anew", "--json").stdout)
    assert "junker" in begun["gone"]
    assert begun["pairs"] == 1


@pytest.mark.parametrize("more", [(), ("--anew",)])
def test_learning_from_nothing_is_a_mistake_in_the_call(tmp_path: Path, more: tuple[str, ...]) -> None:
    done = call(cli_learn.learn, "--out", tmp_path / "l.txt", *more)
    assert done.exit_code == 2
    assert "nothing to learn from" in done.stderr
    assert not (tmp_path / "l.txt").exists()


@pytest.mark.parametrize("action", [(), ("--list",), ("--clear",), ("--forget", "how fast"), ("--older-than", "1")])
def test_looking_at_a_memory_makes_none_and_moves_no_other_file(tmp_path: Path, action: tuple[str, ...]) -> None:
    words = tmp_path / "words.txt"
    words.write_text("fast => speed\n", "utf-8")
    for name, says in (("words.txt", "is no memory: it is no SQLite file"), ("gone.sqlite", "there is no memory yet")):
        with pytest.raises(RewriteError, match=says):
            call(cli_memory.memory, "--store", tmp_path / name, *action)
    assert (list(tmp_path.iterdir()), words.read_text("utf-8")) == ([words], "fast => speed\n")


def test_what_a_memory_is_given_is_masked_with_its_searches(tmp_path: Path, index: Path) -> None:
    profile = tmp_path / "own.toml"
    profile.write_text('[memory]\npath = "m.sqlite"\n[masking]\nkinds = ["email"]\n', "utf-8")
    row = {"question": "mail joe@example.com", "searches": ["joe@example.com vehicle"]}
    call(cli_memory.memory, "--profile", profile, "--add", written(tmp_path / "r.jsonl", [row]), "--index", index)
    (kept_row,) = json.loads(call(cli_memory.memory, "--profile", profile, "--list", "--json").stdout)["questions"]
    assert (kept_row["question"], kept_row["searches"]) == ("mail [email]", ["[email] vehicle"])

"""The command: what it prints, what it returns, and that nothing ugly makes it fall over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dragoman import portal
from dragoman.cli import main
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engines import open_engine

DOCUMENTS = [
    {"_id": "s1", "title": "Maximum speed limits", "text": "In residence districts 25 miles per hour.", "state": "TX"},
    {"_id": "s2", "title": "Carrying the license", "text": "The operator shall exhibit the license.", "state": "TX"},
    {"_id": "s3", "title": "School bus stops", "text": "Stop for a school bus.", "state": "ME"},
]
REPLIES = [
    {"question": "how fast", "about_corpus": True, "searches": ["maximum speed limits residence districts"]},
    {"question": "what is the capital of France", "about_corpus": False, "searches": []},
    {"question": "contradiction", "about_corpus": False, "searches": ["speed"]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of words, and recorded replies beside it."""
    folder = tmp_path_factory.mktemp("cli")
    corpus = folder / "corpus.jsonl"
    rows = [{**row, "metadata": {"state": row["state"]}} for row in DOCUMENTS]
    corpus.write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "replies.jsonl").write_text("\n".join(json.dumps(row) for row in REPLIES))
    made = call("index", str(corpus), "--out", str(folder / "index"), "--embedder", "none", "--json")
    assert json.loads(made.stdout)["documents"] == 3
    return folder


def call(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin)


def replayed(folder: Path) -> tuple[str, ...]:
    return ("--profile", "road-law", "--model", f"replay:{folder / 'replies.jsonl'}")


def test_search_prints_the_record_that_others_script_against(folder: Path) -> None:
    found = call("search", "school bus", "--index", str(folder / "index"), "--json")
    assert found.exit_code == 0
    record = json.loads(found.stdout)
    assert record["question"] == record["query"] == "school bus"
    assert set(record["searches"][0]) >= {"text", "origin", "weight"}
    assert set(record["steps"][0]) >= {"name", "outcome", "seconds", "reason"}
    hit = record["hits"][0]
    assert set(hit) >= {"rank", "doc_id", "score", "title", "text", "because"}
    assert (hit["rank"], hit["doc_id"]) == (1, "s3")
    assert set(hit["because"][0]) >= {"search", "retriever", "rank", "share"}


def test_a_filter_keeps_to_its_metadata_and_depth_bounds(folder: Path) -> None:
    index = ("--index", str(folder / "index"), "--json")
    found = json.loads(call("search", "the", "school", "license", *index, "--filter", "state=TX").stdout)
    assert [hit["doc_id"] for hit in found["hits"]] == ["s2"]
    assert len(json.loads(call("search", "stop the license limits", *index, "--depth", "1").stdout)["hits"]) == 1


def test_a_replayed_model_finds_what_the_words_alone_do_not(folder: Path) -> None:
    index = ("--index", str(folder / "index"), "--json")
    assert json.loads(call("search", "how fast", *index).stdout)["hits"] == []
    found = json.loads(call("search", "how fast", *index, *replayed(folder)).stdout)
    assert found["hits"][0]["doc_id"] == "s1"
    assert "rephrase" in {because["origin"] for because in found["hits"][0]["because"]}


def test_rephrase_prints_one_search_a_line_and_nothing_when_off_topic(folder: Path) -> None:
    said = call("rephrase", "how", "fast", *replayed(folder))
    assert (said.exit_code, said.stdout) == (0, "maximum speed limits residence districts\n")
    off = call("rephrase", "what is the capital of France", *replayed(folder))
    assert (off.exit_code, off.stdout) == (0, "")


def test_rephrase_fails_where_the_model_does_not_answer_and_search_goes_on(folder: Path) -> None:
    failed = call("rephrase", "contradiction", *replayed(folder))
    assert failed.exit_code == 1
    assert failed.stdout == ""
    assert "and yet there is a value" in failed.stderr
    went_on = call("search", "contradiction speed", "--index", str(folder / "index"), *replayed(folder), "--json")
    assert went_on.exit_code == 0
    assert json.loads(went_on.stdout)["hits"][0]["doc_id"] == "s1"


def test_rephrase_without_a_model_says_so_and_is_not_taken_for_off_topic() -> None:
    for more in ((), ("--json",), ("--profile", "default")):
        failed = call("rephrase", "how fast", *more)
        assert (failed.exit_code, failed.stdout) == (2, "")
        assert "no model: give --model SPEC or a profile with [models] rewrite" in failed.stderr


def test_a_model_that_is_none_is_not_laid_to_the_profile() -> None:
    failed = call("rephrase", "how fast", "--model", "foo")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("dragoman: the model given: 'foo' names no model; expected anthropic:MODEL")


def test_no_key_is_a_clear_error_that_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    failed = call("rephrase", "how fast", "--profile", "road-law")
    assert failed.exit_code == 1
    assert "ANTHROPIC_API_KEY" in failed.stderr
    assert "Traceback" not in failed.output


@pytest.mark.parametrize("command", ["rewrite", "rephrase", "search", "ask", "explain"])
def test_no_question_is_a_usage_error(folder: Path, command: str) -> None:
    failed = call(command, "--index", str(folder / "index"), stdin="  \n")
    assert failed.exit_code == 2
    assert "give a question" in failed.stderr


def test_a_question_may_come_on_standard_input() -> None:
    assert call("rewrite", stdin="Hey, tell me about Elixir\n").stdout == "about Elixir\n"


def test_many_questions_come_back_in_order_and_one_bad_one_stops_nothing(tmp_path: Path) -> None:
    batch = tmp_path / "questions.txt"
    batch.write_text("Hey, tell me about Elixir\n\n" + "x" * 30_000 + "\nclean question\n")
    done = call("rewrite", "--batch", str(batch), "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 1
    assert [row.get("query", row.get("error", ""))[:12] for row in rows] == [
        "about Elixir",
        "the question",
        "clean questi",
    ]


@pytest.mark.parametrize(
    "ugly",
    [
        "\x00\x01 speed \x7f",
        "מהירות מרבית? \u202eabc",
        'field:x AND "unbalanced (~* OR',
        "🚗" * 50,
        "hey",
        "a" * 19_000,
        "' OR 1=1; --",
    ],
)
@pytest.mark.parametrize("command", ["search", "ask", "explain"])
def test_ugly_questions_get_a_clear_outcome(folder: Path, command: str, ugly: str) -> None:
    done = call(command, "--index", str(folder / "index"), "--profile", "road-law", "--json", stdin=ugly)
    assert done.exit_code == 0, done.output
    if command != "explain":
        assert json.loads(done.stdout)["question"]


def test_undecodable_bytes_and_a_megabyte_are_refused_or_read_never_a_traceback(folder: Path) -> None:
    index = ("--index", str(folder / "index"))
    assert call("search", *index, stdin=b"speed \xff\xfe limits").exit_code == 0
    big = call("search", *index, stdin="a " * 500_000)
    assert big.exit_code == 1
    assert "20,000" in big.stderr


def test_an_index_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    failed = call("search", "q", "--index", str(tmp_path / "none"))
    assert failed.exit_code == 1
    assert "dragoman index" in failed.stderr


def test_searching_without_an_index_is_a_usage_error() -> None:
    failed = call("search", "q")
    assert failed.exit_code == 2
    assert "--index" in failed.stderr


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An engine of words."""
    address = f"sqlite:{tmp_path_factory.mktemp('engine') / 'c.db'}"
    open_engine(address).index([Document(row["_id"], row["title"], row["text"]) for row in DOCUMENTS])
    return address


@pytest.mark.parametrize("command", ["search", "ask", "explain"])
def test_an_engine_is_searched_by_meaning_with_the_embedder_that_made_its_vectors(tmp_path: Path, command: str) -> None:
    pytest.importorskip("lancedb")
    address = f"lancedb:{tmp_path / 'lance'}"

    async def laid() -> None:
        engine = open_engine(address, embed="default")
        counted = engine.index([Document(row["_id"], row["title"], row["text"]) for row in DOCUMENTS])
        assert not isinstance(counted, int)  # it is waited for
        await counted

    portal.run(laid())
    found = call(command, "how fast may i drive", "--index", address, "--embedder", "default", "--json")
    assert found.exit_code == 0, found.output
    assert "lancedb.meaning" in found.stdout
    assert "lancedb.meaning" not in call(command, "how fast may i drive", "--index", address, "--json").stdout


@pytest.mark.parametrize("command", ["rewrite", "search", "ask", "explain"])
def test_an_embedder_that_an_engine_cannot_take_is_a_usage_error(words: str, command: str) -> None:
    failed = call(command, "school bus", "--index", words, "--embedder", "default")
    assert failed.exit_code == 2
    assert "sqlite finds by words alone" in failed.stderr
    assert "no engine at 'sqlite:/'" in call(command, "school bus", "--index", "sqlite:/").stderr


def test_an_engine_is_evaluated_by_its_address(words: str, tmp_path: Path) -> None:
    questions = tmp_path / "questions"
    questions.mkdir()
    (questions / "queries.jsonl").write_text('{"_id": "q1", "text": "stop for a school bus"}\n', "utf-8")
    (questions / "qrels.tsv").write_text("q1\ts3\t1\n", "utf-8")
    done = call("evaluate", str(questions), "--index", words, "--json", str(tmp_path / "f.json"))
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "f.json").read_text("utf-8"))["arms"]["raw"]["nDCG@10"] == 1
    few = call("evaluate", str(questions), "--index", words, "--tune")
    assert (few.exit_code, few.stdout) == (1, "")
    assert "--tune deals them into 5 parts and needs 5 or more" in few.stderr
    idle = call("evaluate", str(questions), "--guard", str(questions))
    assert idle.exit_code == 2
    assert "give --tune too" in idle.stderr


def test_explain_shows_the_whole_journey(folder: Path) -> None:
    shown = call("explain", "Hey, tell me about the school bus", "--index", str(folder / "index")).stdout
    for part in ("├─ steps", "rules  rewritten", "├─ searches", "├─ rankings", "└─ hits", "1. s3"):
        assert part in shown


def test_ask_quotes_the_passages_where_there_is_no_model(folder: Path) -> None:
    asked = call("ask", "school bus", "--index", str(folder / "index"))
    assert "no model" in asked.stdout
    assert "[s3]" in asked.stdout


def test_check_runs_a_profiles_examples_and_fails_on_a_wrong_one(tmp_path: Path) -> None:
    assert call("check", "road-law").exit_code == 0
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('name = "x"\nlimts = 3\n')
    failed = call("check", str(wrong))
    assert failed.exit_code == 1
    assert f"{wrong}:2" in failed.output


def test_an_unknown_profile_lists_those_there_are() -> None:
    failed = call("rewrite", "q", "--profile", "nowhere")
    assert failed.exit_code == 1
    assert "road-law" in failed.stderr


def test_a_filter_that_is_no_pair_is_a_usage_error(folder: Path) -> None:
    assert call("search", "q", "--index", str(folder / "index"), "--filter", "state").exit_code == 2


def test_an_embedder_or_an_index_of_no_known_kind_is_told_with_those_there_are(folder: Path) -> None:
    failed = call("index", str(folder / "corpus.jsonl"), "--out", str(folder / "none"), "--embedder", "bogus")
    assert failed.exit_code == 2
    assert "no embedder is named 'bogus'; expected one of 'default'" in failed.stderr
    assert not (folder / "none").exists()
    failed = call("search", "q", "--index", "solr://host")
    assert failed.exit_code == 1
    assert "solr://host: no such folder, and no engine's address; those begin with sqlite:" in failed.stderr

"""`dragoman evaluate` as a whole: folders and files in, figures and files out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toy_corpus import PASSAGES, QRELS, QUESTIONS

from dragoman.errors import AddressError, CollectionError, ProfileError
from dragoman.evaluate import ArmError, Collection, ConditionError, Options, Prices, run_evaluate
from dragoman.evaluate.files import read_run
from dragoman.evaluate.tune import tables as searched_tables
from dragoman.protocols import Prompt, Reply
from dragoman.retrievers import build_index
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.engines import open_engine
from dragoman.rewriters.memory_store import MemoryStore
from dragoman.types import Usage

PADDING = "and seven further telling words about vehicles owners drivers roads"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy corpus as a BEIR folder, with an index of words beside it."""
    root = tmp_path_factory.mktemp("evaluate")
    toy = root / "toy"
    toy.mkdir()
    lines: dict[str, list[dict[str, object]]] = {
        "corpus.jsonl": [
            {"_id": doc_id, "title": "", "text": f"{text} {PADDING}", "metadata": dict(metadata)}
            for doc_id, (text, metadata) in PASSAGES.items()
        ],
        "queries.jsonl": [
            {"_id": identity, "text": text, "metadata": {"state": "north" if identity in ("q1", "q2") else "south"}}
            for identity, text in QUESTIONS.items()
        ],
        "ceiling.jsonl": [
            {"_id": identity, "text": PASSAGES[next(iter(QRELS[identity]))][0], "metadata": {"state": "north"}}
            for identity in QUESTIONS
        ],
        "ood.jsonl": [{"_id": "ood", "text": "capital of france"}],
        "replies.jsonl": [
            {"_id": "q3", "searches": ["electronic message handheld telephone"]},
            {"_id": "ood", "searches": []},
            {"_id": "q1", "searches": [QUESTIONS["q1"]]},
            {"_id": "q2", "searches": [QUESTIONS["q2"]]},
            {"_id": "q4", "searches": [QUESTIONS["q4"]]},
        ],
    }
    for name, rows in lines.items():
        (toy / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    qrels = [f"{q}\t{d}\t{grade}\n" for q, grades in QRELS.items() for d, grade in grades.items()]
    (toy / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(qrels), "utf-8")
    build_index([toy / "corpus.jsonl"], root / "index", embedder=None)
    return root


@pytest.fixture
def options(folder: Path) -> Options:
    return Options(folder / "toy", ("rules", f"replay:{folder / 'toy/replies.jsonl'}"), folder / "index")


def test_one_command_gives_figures_a_verdict_and_every_file(folder: Path, options: Options, tmp_path: Path) -> None:
    seen: set[str] = set()
    finished = run_evaluate(
        replace(
            options,
            json=tmp_path / "out/figures.json",
            report=tmp_path / "report.html",
            runs=tmp_path / "runs",
            ceiling=folder / "toy/ceiling.jsonl",
            off_topic=folder / "toy/ood.jsonl",
            noise=True,
            progress=lambda arm, done, of: seen.add(arm),
        )
    )
    replay = options.arms[1]
    data = json.loads((tmp_path / "out/figures.json").read_text("utf-8"))
    assert data == finished.data
    assert list(data["arms"]) == ["raw", "fused", "rules", replay]
    assert data["arms"][replay]["delta"] > 0
    assert {arm: row["reference"] for arm, row in data["rewriting_alone"].items()} == {
        "rules": "fused",
        replay: "fused",
    }
    assert set(data["noise"]) == {"raw", "rules", replay}  # a reference is there for the verdict alone
    assert data["arms"][replay]["gap_closed"] == 1
    assert data["off_topic"][replay] == {"asked": 1, "held": 1, "refused": 0}
    assert data["noise"]["rules"]["same_query"] >= data["noise"]["raw"]["same_query"] == 0
    assert data["verdict"] in finished.text
    assert "<svg" in (tmp_path / "report.html").read_text("utf-8")
    assert "With greetings, thanks and fillers put in" in (tmp_path / "report.html").read_text("utf-8")
    assert set(read_run(tmp_path / "runs/raw.run")) == set(QUESTIONS) - {"q3"}  # which finds nothing
    assert {"raw", "rules", replay} <= seen


def test_a_filter_keeps_each_question_in_its_own_part(options: Options) -> None:
    found = run_evaluate(replace(options, filters=("metadata.state",))).evaluation
    assert found is not None
    assert all(set(doc_ids) <= {"d4", "d5", "d6"} for q, doc_ids in found.raw.run.run.items() if q in ("q3", "q4"))


def test_conditions_that_come_true_are_given_back(options: Options) -> None:
    finished = run_evaluate(replace(options, fail_if=("rules.nDCG@10 < raw", "rules.nDCG@10 <= raw")))
    assert finished.failures == (
        "rules.nDCG@10 is {0:.4g}, <= raw ({0:.4g})".format(finished.data["arms"]["raw"]["nDCG@10"]),
    )


def test_mistakes_are_named_before_anything_runs(options: Options, folder: Path) -> None:
    nowhere = replace(options, collection=folder / "absent")
    with pytest.raises(ConditionError, match="no arm is named in 'memory"):
        run_evaluate(replace(nowhere, fail_if=("memory < raw",)))
    with pytest.raises(ArmError):
        run_evaluate(replace(nowhere, arms=("",)))
    with pytest.raises(CollectionError, match="expected a folder"):
        run_evaluate(nowhere)
    with pytest.raises(ArmError, match="no step 'magic'"):
        run_evaluate(replace(options, arms=("magic",)))


@pytest.mark.parametrize(
    ("further", "said"),
    [
        ({"fail_if": ("rules.ndcg < raw",)}, "rules has no figure 'ndcg'; it has nDCG@10"),
        ({"fail_if": ("rules.gap_closed < 1",)}, "rules has no figure 'gap_closed'"),
        ({"fail_if": ("rules.interval < 1",)}, "rules has no figure 'interval'"),
        ({"unlabelled": True, "fail_if": ("rules.held < raw",)}, "rules has no figure 'held'"),
        ({"unlabelled": True, "known_items": 0, "fail_if": ("rules < raw",)}, "it has p50_ms, p99_ms, held"),
        ({"off_topic": Path("absent.jsonl")}, "absent.jsonl: cannot be read"),
        ({"unlabelled": True, "tune": True, "guards": (Path("g"),)}, "leave out --tune, --guard"),
        ({"unlabelled": True, "learning_curve": True}, "leave out --learning-curve"),
        ({"unlabelled": True, "ceiling": Path("c")}, "(cannot be read|leave out --ceiling)"),
        ({"tune": True}, "4 questions with a document judged relevant; --tune deals them into 5"),
        ({"learning_curve": True}, "the profile names no memory"),
        ({"json": Path()}, "a folder; expected the name of a file"),
        ({"report": Path("pyproject.toml/r.html")}, "pyproject.toml is a file; name another place"),
        ({"runs": Path("pyproject.toml")}, "pyproject.toml is a file; name another place"),
    ],
)
def test_what_could_only_fail_later_is_told_before_an_arm_runs(
    options: Options, further: dict[str, Any], said: str
) -> None:
    asked: list[str] = []
    with pytest.raises((CollectionError, ConditionError, ProfileError), match=said):
        run_evaluate(replace(options, **further, progress=lambda arm, done, of: asked.append(arm)))
    assert asked == []


def test_an_empty_memory_is_told_before_an_arm_runs_and_none_is_begun(options: Options, tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('name = "p"\nsteps = ["memory"]\n[memory]\npath = "memory.sqlite"\n', "utf-8")
    asked: list[str] = []
    curve = replace(options, arms=("memory",), profile=str(profile), learning_curve=True)
    for _ in range(2):  # without a file, and with one that holds nothing
        with pytest.raises(ProfileError, match=r"memory\.sqlite holds no question of this profile"):
            run_evaluate(replace(curve, progress=lambda arm, done, of: asked.append(arm)))
        assert asked == []
        assert not (tmp_path / "memory.sqlite").exists() or MemoryStore(tmp_path / "memory.sqlite", "p").rows() == []
        MemoryStore(tmp_path / "memory.sqlite", "p").close()


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        ("q8\td1\t1\nq9\td1\t1\n", r"none of the 2 judged ids \(the first: 'q8'\) is in queries\.jsonl"),
        ("q1\td1\t0\nq2\td2\t-1\n", r"no question of queries\.jsonl has a document with a grade above 0"),
    ],
)
def test_judgments_that_measure_no_question_are_an_error(
    options: Options, tmp_path: Path, judged: str, said: str
) -> None:
    (tmp_path / "qrels.tsv").write_text(judged, "utf-8")
    other = replace(options, arms=("rules",), qrels=tmp_path / "qrels.tsv")
    with pytest.raises(CollectionError, match=said):
        run_evaluate(other)
    assert run_evaluate(replace(other, unlabelled=True, known_items=0)).data["questions"] == 4


def test_judged_documents_that_no_arm_finds_are_told(options: Options, tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("q1\tother-1\t1\n", "utf-8")
    said = "No arm found any document that was judged relevant (the first: 'other-1' for question 'q1')"
    astray = replace(options, arms=("rules",), qrels=tmp_path / "qrels.tsv", report=tmp_path / "r.html")
    assert said in run_evaluate(astray).text
    assert "see whether the index holds the documents" in (tmp_path / "r.html").read_text("utf-8")
    assert said not in run_evaluate(options).text


def test_a_step_that_never_answers_is_told_and_its_arm_not_recommended(
    options: Options, folder: Path, tmp_path: Path
) -> None:
    """Nothing is recorded for any question, so that all the arm gains is its fusion's."""
    (tmp_path / "none.jsonl").write_text('{"_id": "other", "searches": ["x"]}\n', "utf-8")
    arms = (f"model=replay:{tmp_path / 'none.jsonl'}", "lexicon")
    finished = run_evaluate(replace(options, arms=arms, report=tmp_path / "r.html"))
    rewrites = tmp_path / "rewrites.jsonl"
    rewrites.write_text('{"raw": "x", "rewrite": "x"}\n', "utf-8")
    assert finished.data["verdict"].endswith(
        " Nothing can be said of model (replay did not answer 4 of 4 questions), of lexicon (lexicon was left out)."
    )
    line = "model: replay did not answer 4 of 4 questions"
    assert line in finished.text.splitlines()
    assert line in (tmp_path / "r.html").read_text("utf-8")
    assert "fused: a reference beside those asked for; it fuses as they do and takes no step" in finished.text
    assert line in run_evaluate(replace(options, arms=arms, unlabelled=True, known_items=0)).text.splitlines()
    assert "model: replay did not answer 1 of 1 question" in run_evaluate(Options(rewrites, arms)).text.splitlines()


def test_a_condition_may_name_the_reference_that_is_measured_anyway(options: Options) -> None:
    assert run_evaluate(replace(options, arms=("rules",), fail_if=("rules < fused - 1",))).failures == ()
    with pytest.raises(ConditionError, match="no arm is named in 'fused'"):
        run_evaluate(replace(options, arms=("rules",), unlabelled=True, fail_if=("rules.held < fused",)))


class Model:
    """Says the same for every question, for ten tokens."""

    name = "scripted"

    async def __call__(self, prompt: Prompt, /) -> Reply:
        return Reply({"about_corpus": True, "searches": ["electronic message"]}, Usage(10, 0))


def test_what_tokens_cost_is_printed_where_prices_are_given(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.evaluate.request.open_model", lambda name, profile: Model())
    priced = replace(options, arms=("rephrase",), model="a:b", prices=Prices(1e6, 0), report=tmp_path / "r.html")
    said = "40 tokens in, 0 out, cost 40"
    assert said in run_evaluate(priced).text
    assert said in (tmp_path / "r.html").read_text("utf-8")


def test_the_figures_known_beforehand_are_those_that_there_are(options: Options, folder: Path, tmp_path: Path) -> None:
    """Every number of an arm may stand in a condition, and no other name."""
    rewrites = tmp_path / "rewrites.jsonl"
    rewrites.write_text('{"raw": "the speed", "rewrite": "the speed"}\n', "utf-8")
    only = replace(options, arms=("rules",), known_items=20)
    for asked in (
        replace(only, ceiling=folder / "toy/ceiling.jsonl", prices=Prices(1, 1)),
        replace(only, unlabelled=True),
        replace(only, unlabelled=True, known_items=0),
        Options(rewrites, ("rules",)),
    ):
        data = run_evaluate(asked).data
        there = _numbers(data.get("known_items", data)["arms"]["rules"])
        with pytest.raises(ConditionError) as failed:
            run_evaluate(replace(asked, fail_if=("rules.nothing < 1",)))
        assert set(str(failed.value).partition("it has ")[2].split(", ")) == there


def _numbers(figures: dict[str, Any]) -> set[str]:
    found = {name for name, value in figures.items() if isinstance(value, int | float)}
    return found | ({"interval.low", "interval.high"} if "interval" in figures else set())


def test_a_condition_that_turns_out_to_have_no_figure_fails_with_everything_written(
    options: Options, folder: Path, tmp_path: Path
) -> None:
    """A ceiling no higher than raw leaves no way to go a share of."""
    flat = replace(
        options,
        ceiling=folder / "toy/queries.jsonl",
        json=tmp_path / "figures.json",
        report=tmp_path / "r.html",
        fail_if=("rules.gap_closed < 1", "rules <= raw"),
    )
    finished = run_evaluate(flat)
    assert json.loads((tmp_path / "figures.json").read_text("utf-8")) == finished.data
    assert (tmp_path / "r.html").is_file()
    assert "rules has no figure 'gap_closed'" in finished.failures[0]
    assert len(finished.failures) == 2


def test_a_file_of_rewrites_refuses_what_it_has_no_use_for(tmp_path: Path) -> None:
    path = tmp_path / "rewrites.jsonl"
    path.write_text('{"raw": "x", "rewrite": "x"}\n', "utf-8")
    idle = Options(path, noise=True, tune=True, off_topic=tmp_path / "o", runs=tmp_path / "r", filters=("a=b",))
    with pytest.raises(CollectionError, match="leave out --filter, --off-topic, --runs, --noise, --tune"):
        run_evaluate(idle)
    assert not (tmp_path / "r").exists()


def test_an_engine_is_measured_by_its_address(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "engine").mkdir()
    open_engine("sqlite:engine/c.db").index([Document(doc_id, "", text) for doc_id, (text, _) in PASSAGES.items()])
    finished = run_evaluate(replace(options, index="sqlite:engine/c.db"))
    assert finished.data["arms"][options.arms[1]]["delta"] > 0
    assert finished.evaluation is not None
    assert "sqlite.words" in finished.evaluation.raw.run.answered[0].explained
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]
    with pytest.raises(AddressError, match="sqlite finds by words alone"):
        run_evaluate(replace(options, index="sqlite:engine/c.db", embedder="default"))


def test_without_an_index_one_is_built_from_the_corpus_and_kept_where_named(
    options: Options, folder: Path, tmp_path: Path
) -> None:
    finished = run_evaluate(replace(options, index=tmp_path / "index"))
    assert (tmp_path / "index").is_dir()
    assert finished.data["arms"]["raw"]["nDCG@10"] > 0
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("queries.jsonl", "qrels.tsv"):
        (bare / name).write_text((folder / "toy" / name).read_text("utf-8"), "utf-8")
    with pytest.raises(CollectionError, match="give --index DIR"):
        run_evaluate(replace(options, collection=bare, index=None))


def test_without_judgments_it_says_what_can_be_said(options: Options, tmp_path: Path) -> None:
    finished = run_evaluate(
        replace(options, unlabelled=True, known_items=20, report=tmp_path / "r.html", runs=tmp_path / "runs")
    )
    data = finished.data
    assert finished.evaluation is None
    assert data["questions"] == 4
    assert 0 < data["arms"]["raw"]["held"] < 1
    assert set(data["agreement"]["raw"]["rules"]) == {"rbo", "overlap@10"}
    assert list(data["known_items"]["arms"]) == ["raw", "rules"]
    assert data["verdict"].startswith("Without judgments nobody can say which arm is better on toy.")
    assert "Agreement of the arms" in (tmp_path / "r.html").read_text("utf-8")
    assert (tmp_path / "runs/rules.run").is_file()
    conditions = ("rules.nDCG@10 < raw - 1",)
    assert run_evaluate(replace(options, unlabelled=True, known_items=20, fail_if=conditions)).failures == ()


def test_other_systems_runs_need_no_index(folder: Path, tmp_path: Path) -> None:
    for name, doc in (("a", "d1"), ("b", "d2")):
        (tmp_path / f"{name}.run").write_text(f"q1 Q0 {doc} 1 1.0 {name}\n", "utf-8")
    arms = (f"raw=run:{tmp_path / 'a.run'}", f"other=run:{tmp_path / 'b.run'}")
    finished = run_evaluate(Options(folder / "toy", arms))
    assert finished.data["arms"]["raw"]["Success@5"] == pytest.approx(1 / 4)
    assert finished.data["arms"]["other"]["losses"] == 1


def test_without_judgments_another_systems_run_as_raw_is_not_asked_made_questions(
    options: Options, tmp_path: Path
) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 1.0 a\n", "utf-8")
    arms = (f"raw=run:{tmp_path / 'a.run'}", "rules")
    data = run_evaluate(replace(options, arms=arms, unlabelled=True, known_items=20)).data
    assert set(data["arms"]) == {"raw", "rules"}
    assert "known_items" not in data


@pytest.fixture
def twice(folder: Path) -> Path:
    """Four questions cannot be dealt into five folds, so the collection is asked twice over."""
    queries = [json.loads(line) for line in (folder / "toy/queries.jsonl").read_text("utf-8").splitlines()]
    twice = folder / "twice"
    twice.mkdir(exist_ok=True)
    rows = [{**row, "_id": f"{row['_id']}{i}"} for row in queries for i in (1, 2)]
    (twice / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    judged = [f"{q}{i}\t{d}\t{g}\n" for q, grades in QRELS.items() for d, g in grades.items() for i in (1, 2)]
    (twice / "qrels.tsv").write_text("".join(judged), "utf-8")
    replies = [json.loads(line) for line in (folder / "toy/replies.jsonl").read_text("utf-8").splitlines()]
    again = [{**row, "_id": f"{row['_id']}{i}"} for row in replies for i in (1, 2)]
    (twice / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in again), "utf-8")
    (twice / "corpus.jsonl").write_text((folder / "toy/corpus.jsonl").read_text("utf-8"), "utf-8")
    return twice


def test_weights_are_tuned_on_the_leading_arm(options: Options, twice: Path) -> None:
    arms = (f"said=replay:{twice / 'replies.jsonl'}",)
    finished = run_evaluate(replace(options, collection=twice, arms=arms, tune=True))
    tuned = finished.data["tuned"]
    assert tuned["arm"] == "said"
    assert tuned["default"] == pytest.approx(finished.data["arms"]["said"]["nDCG@10"])
    assert tuned["held_out"]["questions"] == 8
    assert set(tuned["factors"]) == {"replay"}
    assert "[weights]" in tuned["toml"]


def test_a_guard_is_watched_through_the_same_filter(
    options: Options, twice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arms = (f"said=replay:{twice / 'replies.jsonl'}",)
    both = replace(options, index=None, collection=twice, arms=arms, tune=True, guards=(twice,))
    seen: list[tuple[str, ...]] = []

    async def tables(hall: Any, collection: Collection, progress: Any) -> list[Any]:
        seen.append(tuple(asked.question.filters.get("state", "") for asked in collection.questions))
        return await searched_tables(hall, collection, progress)

    monkeypatch.setattr("dragoman.evaluate.request.tables", tables)
    run_evaluate(replace(both, filters=("metadata.state",)))
    assert seen == [("north",) * 4 + ("south",) * 4] * 2
    with pytest.raises(CollectionError, match="no metadata 'county' to filter by"):
        run_evaluate(replace(both, filters=("metadata.county",)))


def test_a_guard_that_cannot_be_measured_is_told_at_once(options: Options, twice: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "speed"}\n', "utf-8")
    with pytest.raises(CollectionError, match=r"no corpus\.jsonl to index; a guard is searched and measured"):
        run_evaluate(replace(options, collection=twice, tune=True, guards=(tmp_path,)))


def test_weights_are_set_for_an_arm_that_has_some(options: Options, twice: Path, tmp_path: Path) -> None:
    """The best arm is another system's run; of the others raw is left."""
    rows = [f"{q}{i} Q0 {d} 1 1.0 a\n" for q, grades in QRELS.items() for d in grades for i in (1, 2)]
    (tmp_path / "a.run").write_text("".join(rows), "utf-8")
    best = f"best=run:{tmp_path / 'a.run'}"
    finished = run_evaluate(replace(options, collection=twice, arms=(best,), tune=True))
    assert finished.data["tuned"]["arm"] == "raw"
    with pytest.raises(ArmError, match="every arm is a run file"):
        run_evaluate(replace(options, collection=twice, arms=(best, f"raw=run:{tmp_path / 'a.run'}"), tune=True))


def test_a_file_of_rewrites_is_measured_as_text(tmp_path: Path) -> None:
    path = tmp_path / "noise.jsonl"
    path.write_text('{"raw": "hi, what is the speed limit? thanks", "rewrite": "what is the speed limit?"}\n', "utf-8")
    finished = run_evaluate(Options(path, ("rules",), report=tmp_path / "r.html", fail_if=("rules.F1 < raw",)))
    assert finished.data["rows"] == 1
    assert finished.data["arms"]["rules"]["F1"] > finished.data["arms"]["raw"]["F1"]
    assert finished.failures == ()
    assert "Text fidelity on noise" in (tmp_path / "r.html").read_text("utf-8")

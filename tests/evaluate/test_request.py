"""`dragoman evaluate` as a whole: folders and files in, figures and files out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from toy_corpus import PASSAGES, QRELS, QUESTIONS

from dragoman.errors import CollectionError
from dragoman.evaluate import ArmError, ConditionError, Options, run_evaluate
from dragoman.evaluate.files import read_run
from dragoman.retrievers import build_index

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
    assert list(data["arms"]) == ["raw", "rules", replay]
    assert data["arms"][replay]["delta"] > 0
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


def test_weights_are_tuned_on_the_leading_arm_and_watched_on_guards(options: Options, folder: Path) -> None:
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
    arms = (f"said=replay:{twice / 'replies.jsonl'}",)
    finished = run_evaluate(replace(options, collection=twice, arms=arms, tune=True))
    tuned = finished.data["tuned"]
    assert tuned["arm"] == "said"
    assert tuned["default"] == pytest.approx(finished.data["arms"]["said"]["nDCG@10"])
    assert tuned["held_out"]["questions"] == 8
    assert set(tuned["factors"]) == {"replay"}
    assert "[weights]" in tuned["toml"]


def test_a_file_of_rewrites_is_measured_as_text(tmp_path: Path) -> None:
    path = tmp_path / "noise.jsonl"
    path.write_text('{"raw": "hi, what is the speed limit? thanks", "rewrite": "what is the speed limit?"}\n', "utf-8")
    finished = run_evaluate(Options(path, ("rules",), report=tmp_path / "r.html", fail_if=("rules.F1 < raw",)))
    assert finished.data["rows"] == 1
    assert finished.data["arms"]["rules"]["F1"] > finished.data["arms"]["raw"]["F1"]
    assert finished.failures == ()
    assert "Text fidelity on noise" in (tmp_path / "r.html").read_text("utf-8")

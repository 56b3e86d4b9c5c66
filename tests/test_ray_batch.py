"""Several real worker processes on a local Ray cluster, one of them killed in the middle of its chunk."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray")

from dragoman.portal import run
from dragoman.query_log import Job, Log, plan_log, run_log
from dragoman.ray_batch import run_on_ray
from dragoman.retrievers.embedded import build_index
from dragoman.testing import SAMPLE

QUESTIONS = 800


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def kill_one(log: Log, killed: list[int]) -> None:
    """Kill the process that is writing a chunk, once a third of the chunks are whole."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        whole = len(list(log.parts.glob("*.jsonl")))
        writing = sorted(log.parts.glob("*.tmp"))
        if whole >= len(log.chunks) // 3 and writing:
            killed.append(int(writing[0].suffixes[-2][1:]))
            os.kill(killed[0], signal.SIGKILL)
            return
        time.sleep(0.002)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_a_worker_killed_half_way_costs_no_question_and_doubles_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [{"_id": p.doc_id, "title": p.title, "text": p.text, "metadata": dict(p.metadata)} for p in SAMPLE]
    (tmp_path / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in documents))
    build_index([tmp_path / "corpus.jsonl"], tmp_path / "index", embedder=None)
    queries = tmp_path / "queries.txt"
    queries.write_text("\n".join(f"maximum speed limit {n} headlamps" for n in range(QUESTIONS)))
    job = Job(index=str(tmp_path / "index"), depth=3)

    log = plan_log(queries, tmp_path / "many.jsonl", job, chunk=QUESTIONS // 8)
    killed: list[int] = []
    killer = threading.Thread(target=kill_one, args=(log, killed))
    killer.start()
    done = run_on_ray(log, workers=2)
    killer.join()

    assert len(killed) == 1
    assert (done.questions, done.failed) == (QUESTIONS, 0)
    assert [row["line"] for row in rows(log.out)] == list(range(1, QUESTIONS + 1))
    run(run_log(plan_log(queries, tmp_path / "one.jsonl", job)))
    assert rows(log.out) == rows(tmp_path / "one.jsonl")

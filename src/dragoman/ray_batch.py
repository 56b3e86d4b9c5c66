"""A query log over several processes or machines, on Ray Data.

Every worker opens the profile and the index once and works off chunks of the log (`query_log`). A
worker that dies is started again and its chunk is done anew; a chunk that is whole is never done
twice. On several machines the log, the index and the output lie where all of them can reach.
"""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman import portal
from dragoman.errors import MissingExtraError
from dragoman.query_log import Chunk, Done, Job, Log, Moved, join, write_chunk

STORE = 100 * 2**20  # bytes of a local cluster's object store; what goes through it is chunk numbers
MOST_BLOCKS = 2_000  # tasks at most: enough to keep any cluster busy, few enough for the scheduler


def run_on_ray(log: Log, workers: int, address: str | None = None, progress: Moved | None = None) -> Done:
    """Work the log off in `workers` processes.

    Args:
        log: see `query_log.plan_log`.
        workers: processes, one CPU each.
        address: a running cluster's, or "auto"; None starts one on this machine and ends it afterwards.

    Raises:
        MissingExtraError: Ray is not installed.
        CollectionError: a chunk is missing in the end.
    """
    if workers < 1:
        raise ValueError(f"at least 1 worker is needed, not {workers}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports its use elsewhere unless told not to
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise MissingExtraError("dragoman batch --workers", "ray") from error
    began = time.perf_counter()
    started = not ray.is_initialized()
    if started:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        local: dict[str, Any] = {"num_cpus": workers, "object_store_memory": STORE, "include_dashboard": False}
        ray.init(address=address, **quiet, **({} if address else local))
    try:
        _work(log, workers, progress)
    finally:
        if started:
            ray.shutdown()
    return join(log, began)


def _work(log: Log, workers: int, progress: Moved | None) -> None:
    import ray.data

    to_do = [asdict(chunk) for chunk in log.to_do()]
    if not to_do:
        return
    ray.data.DataContext.get_current().enable_progress_bars = False
    blocks = min(len(to_do), MOST_BLOCKS)
    done = log.questions - sum(chunk["count"] for chunk in to_do)
    answered = ray.data.from_items(to_do, override_num_blocks=blocks).map_batches(
        Worker,
        batch_size=1,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(to_do))),
        fn_constructor_args=(str(log.queries.resolve()), str(log.out.resolve()), asdict(log.job)),
    )
    for row in answered.iter_rows():
        done += row["count"]
        if progress:
            progress(done, log.questions)


class Worker:
    """One process: a Dragoman, and chunks for it."""

    def __init__(self, queries: str, out: str, job: dict[str, Any]) -> None:
        self.log = Log(Path(queries), Path(out), Job(**job), (), 0)
        self.hall = portal.run(self.log.job.open())

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Work off the chunks of a batch; those that are there already are left."""
        for number, offset, line, count in zip(*(batch[key] for key in Chunk.__slots__), strict=True):
            chunk = Chunk(int(number), int(offset), int(line), int(count))
            if not self.log.part(chunk).exists():
                portal.run(write_chunk(self.hall, self.log, chunk))
        return {"count": batch["count"]}

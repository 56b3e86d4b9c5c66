"""The command `batch`: a thin face over `dragoman.query_log` and `dragoman.ray_batch`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dragoman.cli_progress import progress
from dragoman.query_log import CHUNK, Job, plan_log, run_log

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("queries", type=_FILE)
@click.option("--out", required=True, type=_FILE, help="One JSON object a question, in the order of the questions.")
@click.option("--index", default="", metavar="DIR|ADDRESS", help="Searched; without it, questions are rewritten.")
@click.option("--embedder", "embed", default="", metavar="NAME", help="Who made an engine's vectors.")
@click.option("--profile", default="default", show_default=True, metavar="NAME|FILE", help="The corpus's profile.")
@click.option("--model", default="", metavar="SPEC", help="The rewriting model, as in openai:NAME or replay:FILE.")
@click.option("--depth", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many hits.")
@click.option("--full", is_flag=True, help="Write whole records, with passages and why each hit is there.")
@click.option("--concurrency", type=click.IntRange(1), default=16, show_default=True, help="At once, a process.")
@click.option("--resume", is_flag=True, help="Go on with what an earlier run of the same began.")
@click.option("--chunk", type=click.IntRange(1), default=CHUNK, show_default=True, help="Lines kept at a time.")
@click.option("--workers", type=click.IntRange(1), help="Processes, on Ray; without it, this process alone.")
@click.option("--ray", "address", metavar="ADDRESS", help="A running Ray cluster, as `auto`, instead of a local one.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def batch(queries: Path, out: Path, as_json: bool, **given: Any) -> None:
    """Answer a query log of any length, every question once and in order.

    QUERIES has one question a line: plain text, or a JSON object with `question` and perhaps `id`
    and `filters`. A run that is stopped goes on with --resume.
    """
    from dragoman.portal import run

    resume, chunk, workers, address = (given.pop(key) for key in ("resume", "chunk", "workers", "address"))
    if address and not workers:
        raise click.UsageError("--ray needs --workers: how many processes of the cluster")
    log = plan_log(queries, out, Job(**given), resume=resume, chunk=chunk)
    with progress("answered", "questions", tenths=True) as moved:
        if workers:
            from dragoman.ray_batch import run_on_ray

            done = run_on_ray(log, workers, address, moved)
        else:
            try:
                done = run(run_log(log, moved))
            except KeyboardInterrupt:
                click.echo("\ndragoman: stopped; the same with --resume goes on", err=True)
                os._exit(130)  # the embedder's threads are at work and would end in an abort
    if as_json:
        click.echo(json.dumps({**asdict(done), "path": str(out)}))
        return
    before = f", {done.resumed:,} of them before" if done.resumed else ""
    click.echo(f"{out}: {done.questions:,} questions{before}, {done.failed:,} failed, {done.seconds:.1f} s")

"""The command `evaluate`: a thin face over `dragoman.evaluate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dragoman.cli_progress import progress
from dragoman.cli_shared import embedder, fail

_file = click.Path(path_type=Path)


@click.command()
@click.argument("collection", type=_file)
@click.option(
    "--arms", multiple=True, metavar="A,B", help="Arms beside raw: fused, local, cascade, STEP+STEP, replay:FILE."
)
@click.option(
    "--index",
    metavar="DIR|ADDRESS",
    help="The collection's index, built there when nothing is, or an engine's address.",
)
@embedder
@click.option(
    "--profile", default="default", show_default=True, metavar="NAME|FILE", help="Whose steps arms are made of."
)
@click.option("--model", metavar="SPEC", help="The rewriting model.")
@click.option(
    "--filter", "filters", multiple=True, metavar="metadata.KEY|KEY=VALUE", help="Search inside the question's own."
)
@click.option("--queries", type=_file, help="Another file of questions than queries.jsonl.")
@click.option("--qrels", type=_file, help="Another file of judgments than qrels.tsv.")
@click.option("--ceiling", type=_file, help="The same questions in the corpus's own words.")
@click.option("--off-topic", type=_file, help="Questions that the corpus cannot answer.")
@click.option("--json", "json", type=_file, help="Write every figure here.")
@click.option("--report", type=_file, help="Write one self-contained HTML page here.")
@click.option("--runs", type=_file, help="Write TREC runs into this folder.")
@click.option("--fail-if", multiple=True, metavar="CONDITION", help='Exit 1 when it holds, as "lexicon.nDCG@10 < raw".')
@click.option("--prices", metavar="IN/OUT", help="Price of a million tokens in and out.")
@click.option("--noise", is_flag=True, help="Also put greetings and fillers into the questions.")
@click.option("--unlabelled", is_flag=True, help="Compare without judgments.")
@click.option("--tune", is_flag=True, help="Set weights on these questions, cross-validated.")
@click.option("--learning-curve", is_flag=True, help="Measure again with fewer remembered questions.")
@click.option("--guard", "guards", multiple=True, type=_file, help="A collection that tuned weights must not harm.")
@click.option(
    "--known-items", type=click.IntRange(0), default=200, show_default=True, help="Questions made from the corpus."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of intervals and p.")
@click.option(
    "--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Questions at once for a model."
)
def evaluate(prices: str | None, **given: Any) -> None:
    """Measure on your own questions whether rewriting pays, and say so in plain words.

    COLLECTION is a folder of queries.jsonl and qrels.tsv (or TREC topics and qrels), or a file of raw and rewrite rows.
    """
    from dragoman.evaluate import Options, Prices, run_evaluate

    if given["guards"] and not given["tune"]:
        raise click.UsageError("--guard watches the weights that --tune sets; give --tune too, or leave it out")
    given["arms"] = given["arms"] or ("raw",)
    given["prices"] = _prices(prices, Prices) if prices else None
    with progress("measuring", "questions") as moved:
        finished = run_evaluate(Options(**given, progress=lambda _, done, of: moved(done, of)))
    click.echo(finished.text)
    if finished.failures:
        fail("; ".join(finished.failures), 1)


def _prices(text: str, kind: Callable[[float, float], Any]) -> Any:
    try:
        tokens_in, tokens_out = map(float, text.split("/"))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not IN/OUT, as 0.25/1.25", param_hint="--prices") from None
    if not all(math.isfinite(price) and price >= 0 for price in (tokens_in, tokens_out)):
        raise click.BadParameter(f"{text!r} holds what is no price; give two numbers, 0 or more", param_hint="--prices")
    return kind(tokens_in, tokens_out)

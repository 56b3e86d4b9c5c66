"""The commands `serve` and `mcp`: thin faces over `dragoman.serve`."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from dragoman.cli_shared import embedder, model
from dragoman.errors import MissingExtraError


@click.command()
@click.option("--profile", default="default", show_default=True, metavar="NAME|FILE", help="The corpus's profile.")
@click.option(
    "--index", metavar="DIR|ADDRESS", help="An index made by `dragoman index`, or an engine, as postgresql://…"
)
@embedder
@model
@click.option("--http", metavar="HOST:PORT", help="Serve streamable HTTP there instead of standard input and output.")
def mcp(profile: str, embedder: str | None, **given: Any) -> None:
    """Offer `rewrite`, `search` and `explain` as tools over the Model Context Protocol."""
    try:
        from dragoman.serve.mcp import run_mcp
    except ModuleNotFoundError as error:
        raise MissingExtraError("dragoman mcp", "mcp") from error
    with suppress(KeyboardInterrupt):
        asyncio.run(run_mcp(profile, embed=embedder, **given))


@click.command()
@click.option(
    "--profile", "profiles", multiple=True, metavar="NAME|FILE", help="A profile to serve; more side by side."
)
@click.option(
    "--index",
    "indexes",
    multiple=True,
    metavar="DIR|ADDRESS",
    help="One index or engine for all profiles, or one for each.",
)
@embedder
@model
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; elsewhere API keys are needed.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes a free one.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes on that port.")
@click.option("--allow-origin", "origins", multiple=True, metavar="URL", help="A page elsewhere that may ask.")
@click.option(
    "--concurrent", type=click.IntRange(1), default=64, show_default=True, help="Questions at once, a worker."
)
@click.option(
    "--behind",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    help="Milliseconds that a worker may run behind; beyond them the model is left out. 0: never.",
)
@click.option("--per-minute", type=click.IntRange(0), default=0, help="Questions a minute for a key; 0: no limit.")
@click.option("--max-body", "most_bytes", type=click.IntRange(1_000), default=262_144, help="Bytes of a request.")
@click.option("--feedback", metavar="FILE", help="Append hits that helped here, for `dragoman learn`.")
@click.option("--proposals", metavar="FILE", help="Keep proposed entries and their reviews here.")
@click.option("--learned", metavar="FILE", help="A lexicon of `dragoman learn`, to be reviewed on the page.")
@click.option("--report", metavar="FILE", help="A report of `dragoman evaluate`, to be shown on the page.")
@click.option("--questions", metavar="FILE", help="Example questions, as a collection's queries.jsonl.")
@click.option("--demo", "shows_example", is_flag=True, help="Serve the shipped road law, with recorded model replies.")
def serve(shows_example: bool, **given: Any) -> None:
    """Answer over HTTP, and show the page on which a question is seen to travel.

    Keys are read from DRAGOMAN_API_KEYS, or from the file that DRAGOMAN_API_KEYS_FILE names.
    """
    from dragoman.serve.command import Options, start

    if shows_example:
        from dragoman import demo as example

        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(given["indexes"][0]) if given["indexes"] else Path(temporary) / "index"
            click.echo(example.build(folder))
            start(Options.of_example(given, example.PROFILE, folder, example.example()))
    else:
        start(Options(**given))

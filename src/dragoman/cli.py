"""The command `dragoman`. A thin face: each command reads its input, calls one function, prints.

Exit status: 0 done, 1 it could not be done (why is on stderr), 2 it was called wrongly.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from dragoman import cli_batch, cli_cache, cli_evaluate, cli_learn, cli_memory, cli_serve
from dragoman.cli_progress import progress
from dragoman.cli_shared import embedder, fail, model
from dragoman.errors import AddressError, DragomanError, QuestionError, RewriteError

PROFILE = "default"


class _Group(click.Group):
    """Turns what the package raises on purpose into a line on stderr."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except QuestionError as error:
            fail(str(error), 2 if "empty" in str(error) else 1)
        except DragomanError as error:
            fail(str(error), 2 if isinstance(error, AddressError) else 1)
        except BrokenPipeError:  # whoever read the output has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except OSError as error:
            fail(f"{error.filename or 'input'}: {error.strerror or error}", 1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dragoman")
@click.option("--verbose", "-v", is_flag=True, help="Log what happens, without the text of questions.")
@click.option(
    "--trace", type=click.Choice(["spans", "content"]), help="Send OpenTelemetry traces; `content`: the words too."
)
def main(verbose: bool, trace: str | None) -> None:
    """Say a question in the words a corpus uses, search, and see why each hit is there."""
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):  # ugly bytes are the question's, not a reason to stop
            stream.reconfigure(encoding="utf-8", errors="replace")
    if trace:
        os.environ["DRAGOMAN_TRACE"] = trace  # read where a hall is opened, by worker processes too
    import logging

    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, format="%(name)s: %(message)s")


def _options(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_question = click.argument("words", nargs=-1, metavar="QUESTION")
_profile = click.option("--profile", metavar="NAME|FILE", help="The corpus's profile: a shipped name or a TOML file.")
_index = click.option(
    "--index", "index_dir", metavar="DIR|ADDRESS", help="An index made by `dragoman index`, or an engine's address."
)
_depth = click.option("--depth", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many hits.")
_filter = click.option(
    "--filter", "filters", multiple=True, metavar="KEY=VALUE", help="Only passages with this metadata."
)
_json = click.option("--json", "as_json", is_flag=True, help="Print the record as JSON.")
_batch = click.option(
    "--batch", type=click.Path(path_type=Path), help="One question a line, answered in order; - reads stdin."
)
_asking = _options(_question, _profile, _index, embedder, _filter, model, _json, _batch)


@main.command()
@_asking
def rewrite(**given: Any) -> None:
    """Print the question with its noise out, in the words the corpus uses."""
    from dragoman.record import rewriting_data

    _each(given, lambda hall, asked: hall.arewrite(asked), rewriting_data, lambda rewriting: rewriting.query)


@main.command()
@_asking
def rephrase(**given: Any) -> None:
    """Print the searches a model makes of the question, one a line; nothing when it is off-topic.

    Fails when there is no model or it does not answer: only `search` goes on without it.
    """
    from dragoman.record import rewriting_data

    def lines(rewriting: Any) -> str:
        return "\n".join(search.text for search in rewriting.searches)

    async def work(hall: Any, asked: Any) -> Any:
        rewriting = await hall.arewrite(asked)
        for step in rewriting.steps:
            if not step.outcome.answered:
                raise RewriteError(f"the rephraser did not answer ({step.outcome}): {step.reason}")
        return rewriting

    _each(given, work, rewriting_data, lines, only="rephrase")


@main.command()
@_asking
@_depth
def search(depth: int, **given: Any) -> None:
    """Rewrite, search, fuse; print the hits."""
    _need_index(given)
    from dragoman.record import result_data

    _each(given, lambda hall, asked: hall.asearch(asked, depth), result_data, _hit_lines)


@main.command()
@_asking
@_depth
def ask(depth: int, **given: Any) -> None:
    """Answer from the hits, with citations; quote the best passages where there is no model."""
    _need_index(given)
    from dragoman.record import answer_data

    _each(given, lambda hall, asked: hall.aask(asked, depth), answer_data, _answer_text)


@main.command()
@_asking
@_depth
def explain(depth: int, **given: Any) -> None:
    """Show the whole record as a tree: every step, search and ranking, and why each hit is there."""
    from dragoman.record import result_data, rewriting_data, rewriting_tree, tree

    if given["index_dir"] is None:
        _each(given, lambda hall, asked: hall.arewrite(asked), rewriting_data, rewriting_tree)
    else:
        _each(given, lambda hall, asked: hall.asearch(asked, depth), result_data, tree)


def _need_index(given: dict[str, Any]) -> None:
    if given["index_dir"] is None:
        raise click.UsageError("say what to search: --index DIR, made by `dragoman index SOURCE --out DIR`")


def _hit_lines(result: Any) -> str:
    lines = [f"{f.retriever} did not answer: {f.reason}" for f in result.failures]
    width = max((len(hit.doc_id) for hit in result.hits), default=0)
    for rank, hit in enumerate(result.hits, start=1):
        lines.append(f"{rank:>3}  {hit.doc_id:<{width}}  {hit.score:7.3f}  {hit.title or hit.text[:80]}")
    return "\n".join(lines) or "no passage matches"


def _answer_text(answer: Any) -> str:
    if answer.reason:
        return f"(passages, because {answer.reason})\n\n{answer.text}"
    return f"(passages, no model)\n\n{answer.text}" if answer.quoted else answer.text


def _each(
    given: dict[str, Any],
    work: Callable[..., Any],
    data: Callable[[Any], dict[str, Any]],
    show: Callable[[Any], str],
    only: str | None = None,
) -> None:
    """Run `work` on the question, or on every line of the batch, and print each in order."""
    from dragoman.portal import run

    def printed(value: Any) -> str:
        return json.dumps(data(value), ensure_ascii=False) if given["as_json"] else show(value)

    status = run(_run_each(given, work, printed, only))
    if status:
        sys.exit(status)


async def _run_each(
    given: dict[str, Any], work: Callable[..., Any], show: Callable[[Any], str], only: str | None
) -> int:
    from dragoman.batch import in_order
    from dragoman.profile import open_dragoman
    from dragoman.types import Question

    filters = dict(_pair(text) for text in given["filters"])
    questions = _lines(given["batch"]) if given["batch"] else iter([_ask(given["words"])])
    status = 0
    opened = open_dragoman(
        given["profile"] or PROFILE, index=given["index_dir"], model=given["model"], only=only, embed=given["embedder"]
    )
    async with await opened as hall:
        if only and not hall.steps:
            raise click.UsageError("no model: give --model SPEC or a profile with [models] rewrite")

        async def one(text: str) -> Any:
            return await work(hall, Question(text, filters=filters))

        async for text, value in in_order(one, questions):
            if isinstance(value, DragomanError):
                if not given["batch"]:
                    raise value
                status = 1
                click.echo(f"dragoman: {text[:80]}: {value}", err=True)
                click.echo(json.dumps({"question": text, "error": str(value)}) if given["as_json"] else "")
            else:
                printed = show(value)
                if printed or given["batch"]:
                    click.echo(printed)
    return status


@main.command()
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SOURCE...")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The directory of the index.")
@click.option("--embedder", default="default", show_default=True, help="Who makes the vectors; `none` for words only.")
@click.option("--language", default="en", show_default=True, help="The documents' language.")
@click.option("--add", is_flag=True, help="Add to the index that is there, replacing documents of the same id.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def index(sources: tuple[Path, ...], out: Path, embedder: str, language: str, add: bool, as_json: bool) -> None:
    """Index JSONL, Markdown, text, HTML or PDF files, or folders of them.

    An index that is there stays in use until the new one is whole.
    """
    from dataclasses import asdict

    from dragoman.retrievers.embedded import build_index
    from dragoman.retrievers.embedders import check_name

    check_name("default" if embedder == "none" else embedder)
    with progress("indexing", "documents") as moved:
        summary = build_index(
            sources,
            out,
            embedder=None if embedder == "none" else embedder,
            language=language,
            progress=moved,
            add=add,
        )
    if as_json:
        click.echo(json.dumps({**asdict(summary), "path": str(summary.path)}, ensure_ascii=False))
        return
    for warning in summary.warnings:
        click.echo(f"note: {warning}", err=True)
    click.echo(
        f"{summary.path}: {summary.documents:,} documents, {summary.size / 1e6:.1f} MB, "
        f"{summary.seconds:.1f} s, meaning by {summary.embedder or 'nothing (words only)'}"
    )


@main.command()
@click.argument("profile", metavar="NAME|FILE")
@click.option("--json", "as_json", is_flag=True, help="Print every check as JSON.")
def check(profile: str, as_json: bool) -> None:
    """Lint a profile and run its examples as tests."""
    from dataclasses import asdict

    from dragoman.profile_check import check_profile

    report = check_profile(profile)
    click.echo(json.dumps({**asdict(report), "path": str(report.path), "ok": report.ok}) if as_json else str(report))
    if not report.ok:
        sys.exit(1)


@main.command()
@click.option("--out", type=click.Path(path_type=Path), help="Keep the index here, to try more on it.")
def demo(out: Path | None) -> None:
    """Index the shipped road law of an invented state and answer five questions over it.

    Needs no key and no network: what a model said was recorded once and is replayed.
    """
    from dragoman import demo as example

    async def show(folder: Path) -> None:
        async for text in example.answers(folder):
            click.echo("\n" + text)

    with tempfile.TemporaryDirectory() as temporary:
        folder = out or Path(temporary) / "index"
        with progress("indexing", "documents") as moved:
            done = example.build(folder, moved)
        click.echo(done)
        asyncio.run(show(folder))
    if out:
        click.echo(f'\nask your own:  dragoman search "..." --index {out} --profile {example.PROFILE}')


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--filter")
    return key.removeprefix("metadata."), value


def _ask(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    if not words and not sys.stdin.isatty():
        text = sys.stdin.read().strip()
    if not text.strip():
        raise click.UsageError("give a question, as arguments or on standard input")
    return text


def _lines(path: Path) -> Iterator[str]:
    with click.open_file(str(path), encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.strip():
                yield line.strip()


main.add_command(cli_batch.batch)
main.add_command(cli_cache.cache)
main.add_command(cli_evaluate.evaluate)
main.add_command(cli_learn.learn)
main.add_command(cli_memory.memory)
main.add_command(cli_serve.mcp)
main.add_command(cli_serve.serve)

if __name__ == "__main__":
    main()

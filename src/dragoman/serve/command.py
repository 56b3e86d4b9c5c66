"""What `dragoman serve` does with its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from dragoman.errors import MissingExtraError
from dragoman.learn import learn
from dragoman.learn.sources import Sources
from dragoman.profile import load_profile
from dragoman.retrievers.engines import is_address
from dragoman.serve.corpus import look_at
from dragoman.serve.settings import Limits, ServiceError, Settings, Table, pair_up, read_keys, told_apart


@dataclass(frozen=True, slots=True)
class Options:
    """The command's options; `Settings` and `Limits` say what they mean."""

    profiles: Sequence[str] = ()
    indexes: Sequence[str] = ()
    model: str | None = None
    embedder: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    origins: Sequence[str] = ()
    concurrent: int = Limits().concurrent
    behind: int = round(1000 * Limits().behind)
    per_minute: int = Limits().per_minute
    most_bytes: int = Limits().body
    feedback: str | None = None
    proposals: str | None = None
    learned: str | None = None
    report: str | None = None
    questions: str | None = None

    @classmethod
    def of_example(cls, given: Mapping[str, Any], profile: str, index: Path, collection: Path) -> Self:
        """The shipped collection beside the default profile, with recorded replies and files to try everything.

        Args:
            given: the command's other options.
            index: the collection's; feedback, proposals and what is learned of its replies are kept beside it.
        """
        options = cls(**{**given, "profiles": (profile, "default"), "indexes": (str(index),)})
        return replace(
            options,
            model=options.model or f"replay:{collection / 'replies.jsonl'}",
            feedback=options.feedback or str(index.with_name(f"{index.name}-feedback.jsonl")),
            proposals=options.proposals or str(index.with_name(f"{index.name}-proposals.jsonl")),
            learned=options.learned or str(_learned(index, collection)),
            questions=options.questions or str(collection / "queries.jsonl"),
        )


def _learned(index: Path, collection: Path) -> Path:
    """A lexicon to review, learned of the collection's replies where it is not there yet; a tenth of a second."""
    file = index.with_name(f"{index.name}-learned.txt")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        learn(
            Sources((collection / "replies.jsonl",), questions=collection / "queries.jsonl").pairs(), file, review=True
        )
    return file


def settings_of(options: Options) -> Settings:
    """The settings that the options ask for, everything they name looked at.

    Raises:
        ServiceError: they do not go together.
        ProfileError, IndexStateError: a profile or an index cannot be used.
        OSError: a file cannot be read.
    """
    tables = pair_up(options.profiles or ("default",), options.indexes, options.model or "")
    tables = tuple(replace(table, embedder=_embedder_of(table, options.embedder or "")) for table in tables)
    told_apart([_look_at(table) for table in tables])
    for read in (options.report, options.questions, options.learned):
        if read:
            Path(read).open("rb").close()
    for written in (options.feedback, options.proposals):
        if written and Path(written).is_dir():
            raise ServiceError(f"{written} is a folder; expected a file to append to")
    return Settings(
        tables,
        host=options.host,
        port=options.port,
        limits=Limits(
            body=options.most_bytes,
            concurrent=options.concurrent,
            behind=options.behind / 1000,
            per_minute=options.per_minute,
        ),
        origins=tuple(options.origins),
        feedback=options.feedback or "",
        proposals=options.proposals or "",
        learned=options.learned or "",
        report=options.report or "",
        questions=options.questions or "",
        keys=read_keys(),
    )


def start(options: Options) -> None:
    """Serve until told to stop.

    Raises:
        MissingExtraError: the web stack is not installed.
        ServiceError, ProfileError, IndexStateError, OSError: see `settings_of`.
    """
    settings = settings_of(options)
    try:
        from dragoman.serve.run import serve
    except ImportError as exc:
        raise MissingExtraError("the HTTP service", "serve") from exc
    serve(settings, options.workers)


def _embedder_of(table: Table, embedder: str) -> str:
    """An index of `dragoman index` knows its own."""
    return embedder if is_address(table.index) else ""


def _look_at(table: Table) -> str:
    """The profile's name, everything that the table names opened: a mistake is told before the server starts."""
    profile = load_profile(table.profile)
    if table.index:
        look_at(table.index, table.embedder)
    return profile.name

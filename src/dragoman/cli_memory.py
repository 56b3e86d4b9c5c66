"""The command `memory`: a thin face over the memory's store."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli_shared import fail, learning_profile, profile_of

if TYPE_CHECKING:
    from dragoman.profile import Profile
    from dragoman.rewriters.memory_store import MemoryStore
    from dragoman.vocabulary import Vocabulary

_DAY = 86_400.0  # seconds
_FILE = click.Path(path_type=Path)


@click.command()
@learning_profile
@click.option("--store", type=_FILE, help="The memory's file, instead of the profile's.")
@click.option("--list", "listed", is_flag=True, help="Show each question with its age and its searches.")
@click.option("--forget", metavar="QUESTION", help="Take out one question, as it was asked or as --list shows it.")
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Take out what was last accepted before."
)
@click.option("--clear", is_flag=True, help="Take out everything of this profile.")
@click.option("--add", type=_FILE, help="Remember the replies of a file; needs --index.")
@click.option("--questions", type=_FILE, help="Questions that the replies name, as queries.jsonl.")
@click.option("--index", "index_dir", type=_FILE, help="Whose embedder --add needs; whose spelling --forget tries too.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def memory(**given: Any) -> None:
    """Say how many questions are remembered, or which; forget some, or all; remember the replies of a file.

    A question is kept as the profile's steps leave it, without its noise, and masked. --forget looks
    for that too, for its spelling where --index is given, and fails where nothing is found.
    """
    from dragoman.rewriters.memory_store import MemoryStore

    profile = profile_of(given["profile"])
    path = given["store"] or profile.memory
    if path is None:
        raise click.UsageError("no memory: give --store, or a profile that names one")
    if given["add"] and not given["index_dir"]:
        raise click.UsageError("--add needs --index")
    store = MemoryStore(path, profile.name, begin=bool(given["add"]))
    try:
        gone = _forgotten(store, given, profile)
        added = _added(store, given, profile) if given["add"] else 0
        data: dict[str, Any] = {"remembered": len(store), "forgotten": gone, "added": added}
        if given["listed"]:
            data["questions"] = _questions(store)
    finally:
        store.close()
    told = f"{data['remembered']:,} questions remembered in {path}"
    told += f"; {gone:,} forgotten" if gone else ""
    told += f"; {added:,} new or changed" if added else ""
    lines = [
        f"{row['days']:8.1f} days  {row['question']} -> {' | '.join(row['searches'])}"
        for row in data.get("questions", ())
    ]
    click.echo(json.dumps(data, ensure_ascii=False) if given["as_json"] else "\n".join([*lines, told]))
    if given["forget"] is not None and not given["clear"] and not gone:
        fail("no such question is remembered, so none was forgotten; --list shows what is", 1)


def _forgotten(store: MemoryStore, given: dict[str, Any], profile: Profile) -> int:
    if given["clear"]:
        return store.clear()
    days = given["older_than"]
    before = None if days is None else time.time() - days * _DAY
    if given["forget"] is not None:
        return sum(store.forget(question=text, before=before) for text in _kept_as(given, profile))
    return 0 if before is None else store.forget(before=before)


def _kept_as(given: dict[str, Any], profile: Profile) -> list[str]:
    """What the question may be kept as: itself, and what the profile's steps leave of it, masked."""
    from dragoman.profile_steps import Parts
    from dragoman.retrievers import open_index
    from dragoman.rewriters.masking import Masking
    from dragoman.rewriters.memory import asked

    def left(vocabulary: Vocabulary | None) -> str:
        with profile.build(Parts(vocabulary=vocabulary, models=False)) as hall:
            return asked(hall.rewrite(given["forget"]))

    texts = [given["forget"], left(None)]
    if given["index_dir"]:
        with open_index(given["index_dir"]) as index:
            texts.append(left(index.vocabulary))
    mask = Masking(profile.masking)
    return list(dict.fromkeys([*texts, *map(mask, texts)]))


def _questions(store: MemoryStore) -> list[dict[str, Any]]:
    now = time.time()
    return [
        {"question": row.question, "searches": list(row.searches), "days": round((now - row.at) / _DAY, 1)}
        for row in store.rows()
    ]


def _added(store: MemoryStore, given: dict[str, Any], profile: Profile) -> int:
    from dragoman.errors import IndexStateError
    from dragoman.learn.sources import Sources
    from dragoman.retrievers import open_index
    from dragoman.rewriters.masking import Masking
    from dragoman.rewriters.memory import Memory, OfRetriever

    with open_index(given["index_dir"]) as index:
        if index.meaning is None:
            raise IndexStateError("it holds words only, and a memory is looked through by meaning", given["index_dir"])
        memory = Memory(store, OfRetriever(index.meaning), Masking(profile.masking) or None)
        pairs = Sources((given["add"],), questions=given["questions"]).pairs()
        return memory.remember((pair.question, pair.said) for pair in pairs)

"""The commands `learn` and `memory`: thin faces over `dragoman.learn` and the memory's store."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dragoman.learn import Block, Status
    from dragoman.profile import Profile

_DAY = 86_400.0  # seconds
_FILE = click.Path(path_type=Path)
_profile = click.option("--profile", metavar="NAME|FILE", help="Whose language, masking and memory hold.")


@click.command()
@click.argument("sources", nargs=-1, type=_FILE)
@click.option("--out", required=True, type=_FILE, help="The lexicon; what a person wrote or decided in it stays.")
@click.option("--corpus", type=_FILE, help="Documents that the lines of a click log name, as corpus.jsonl.")
@click.option("--questions", type=_FILE, help="Questions that recorded replies name, as queries.jsonl.")
@_profile
@click.option("--from-memory", is_flag=True, help="Learn from what the profile's memory holds, too.")
@click.option("--review", is_flag=True, help="New entries wait for you; on a terminal you are asked about each.")
@click.option("--propose", is_flag=True, help="Ask a model about frequent words that no document holds.")
@click.option("--index", "index_dir", type=_FILE, help="The index whose words --propose looks at.")
@click.option("--model", metavar="SPEC", help="The model that --propose asks, as in anthropic:NAME.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
def learn(**given: Any) -> None:
    """Learn a lexicon from pairs, click logs, accepted rewrites and replies.

    SOURCES are files of JSON lines, or folders with queries.jsonl, corpus.jsonl and qrels.tsv.
    Pairs given before need not be given again. An entry stands in the file only if it pays on pairs
    that it was not learned from.
    """
    from dragoman.learn import learn as learned_from
    from dragoman.learn.sources import Sources
    from dragoman.rewriters.language import ANY
    from dragoman.rewriters.masking import Masking

    profile = _profile_of(given["profile"])
    if given["from_memory"] and profile.memory is None:
        raise click.UsageError("--from-memory needs a profile that names a memory")
    if given["propose"] and not (given["index_dir"] and given["model"]):
        raise click.UsageError("--propose needs --index and --model")
    memory = profile.memory if given["from_memory"] else None
    sources = Sources(given["sources"], given["corpus"], given["questions"], memory, profile.name)
    language = profile.language.question
    summary = learned_from(
        sources.pairs(),
        given["out"],
        language="en" if language == ANY else language,
        review=given["review"],
        mask=Masking(profile.masking),
    )
    proposed = _propose(given, profile, sources) if given["propose"] else 0
    if given["review"] and sys.stdin.isatty():
        _review(given["out"])
    data = {
        "pairs": summary.pairs,
        "new": summary.new,
        "entries": len(summary.kept),
        "tried": summary.tried,
        "pending": summary.pending + proposed,
        "added": list(summary.added),
        "gone": list(summary.gone),
        "proposed": proposed,
        "seconds": round(summary.seconds, 3),
    }
    click.echo(json.dumps(data, ensure_ascii=False) if given["as_json"] else str(summary))
    if proposed and not given["as_json"]:
        click.echo(f"{proposed} entries proposed by {given['model']} wait for review in {given['out']}")


@click.command()
@_profile
@click.option("--store", type=_FILE, help="The memory's file, instead of the profile's.")
@click.option("--forget", metavar="QUESTION", help="Take out one question, as it was asked.")
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Take out what was last accepted before."
)
@click.option("--clear", is_flag=True, help="Take out everything of this profile.")
@click.option("--add", type=_FILE, help="Remember the replies of a file; needs --index.")
@click.option("--questions", type=_FILE, help="Questions that the replies name, as queries.jsonl.")
@click.option("--index", "index_dir", type=_FILE, help="The index whose embedder makes the vectors of --add.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def memory(**given: Any) -> None:
    """Say how many questions are remembered; forget some, or all; remember the replies of a file."""
    from dragoman.rewriters.memory_store import MemoryStore

    profile = _profile_of(given["profile"])
    path = given["store"] or profile.memory
    if path is None:
        raise click.UsageError("no memory: give --store, or a profile that names one")
    if given["add"] and not given["index_dir"]:
        raise click.UsageError("--add needs --index")
    store = MemoryStore(path, profile.name)
    try:
        gone = _forgotten(store, given)
        added = _added(store, given, profile) if given["add"] else 0
        data = {"remembered": len(store), "forgotten": gone, "added": added}
    finally:
        store.close()
    told = f"{data['remembered']:,} questions remembered in {path}"
    told += f"; {gone:,} forgotten" if gone else ""
    told += f"; {added:,} new or changed" if added else ""
    click.echo(json.dumps(data) if given["as_json"] else told)


def _profile_of(name: str | None) -> Profile:
    from dragoman.profile import load_profile

    return load_profile(name or "default")


def _forgotten(store: Any, given: dict[str, Any]) -> int:
    if given["clear"]:
        return int(store.clear())
    days = given["older_than"]
    if given["forget"] is None and days is None:
        return 0
    before = None if days is None else time.time() - days * _DAY
    return int(store.forget(question=given["forget"], before=before))


def _added(store: Any, given: dict[str, Any], profile: Profile) -> int:
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


def _propose(given: dict[str, Any], profile: Profile, sources: Any) -> int:
    """How many entries a model proposed; they wait in the file."""
    from dragoman import portal
    from dragoman.learn import merged, missing_terms, nearest_phrases, propose, read_review, write_review
    from dragoman.profile_steps import open_model
    from dragoman.retrievers import open_index
    from dragoman.rewriters.masking import Masking

    asked = dict.fromkeys(pair.question for pair in sources.pairs())
    with open_index(given["index_dir"]) as index:
        missing = missing_terms(asked, index.vocabulary, mask=Masking(profile.masking))
        if not missing:
            return 0
        embed = index.meaning.embed if index.meaning is not None else None
        near = (
            nearest_phrases(index.vocabulary, embed) if embed is not None else lambda _: index.vocabulary.headings[:30]
        )
        model = open_model(given["model"], profile)
        proposals = portal.run(propose(missing, model, index.vocabulary, near, profile.setting.corpus))
    drafts = [proposal.draft for proposal in proposals if proposal.draft is not None]
    before = read_review(given["out"])
    after = merged(before, drafts, asking=True, anew=False)
    write_review(after, given["out"])
    return len(after.blocks) - len(before.blocks)


def _review(path: Path) -> None:
    from dragoman.learn import Status, read_review, write_review
    from dragoman.learn.sources import reviewed

    def decide(block: Block) -> Status | None:
        click.echo(f"\n{block}")
        answer = click.prompt("accept, reject, later", type=click.Choice(["a", "r", "l"]), default="l")
        return {"a": Status.ACCEPTED, "r": Status.REJECTED}.get(answer)

    write_review(reviewed(read_review(path), decide), path)

"""The command `learn`: a thin face over `dragoman.learn`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli_shared import learning_profile, profile_of

if TYPE_CHECKING:
    from dragoman.learn import Block, Learned, Status
    from dragoman.learn.propose import Embed
    from dragoman.learn.sources import Sources
    from dragoman.profile import Profile
    from dragoman.vocabulary import Vocabulary

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("sources", nargs=-1, type=_FILE)
@click.option("--out", required=True, type=_FILE, help="The lexicon; what a person wrote or decided in it stays.")
@click.option("--anew", is_flag=True, help="Begin anew, from these pairs alone; earlier learned entries may go.")
@click.option(
    "--corpus", type=_FILE, multiple=True, help="What was indexed: files or folders of the documents that clicks name."
)
@click.option("--questions", type=_FILE, help="Questions that recorded replies name, as queries.jsonl.")
@learning_profile
@click.option("--from-memory", is_flag=True, help="Learn from what the profile's memory holds, too.")
@click.option("--review", is_flag=True, help="New entries wait for you; on a terminal you are asked about each.")
@click.option("--propose", is_flag=True, help="Ask a model about frequent words that no document holds.")
@click.option(
    "--index", metavar="DIR|ADDRESS", help="The index that holds what clicks name, and whose words --propose looks at."
)
@click.option("--embedder", metavar="NAME", help="Who finds an engine's phrases near a word, for --propose.")
@click.option("--model", metavar="SPEC", help="The model that --propose asks, as in anthropic:NAME.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
def learn(**given: Any) -> None:
    """Learn a lexicon from pairs, click logs, accepted rewrites and replies.

    SOURCES are files of JSON lines, or folders with queries.jsonl, corpus.jsonl and qrels.tsv.
    Pairs given before need not be given again. An entry stands in the file only if it pays on pairs
    that it was not learned from. With --propose, questions that nothing answered are read too.
    """
    profile = profile_of(given["profile"])
    _usable(given, profile)
    sources = _sources(given, profile)
    answered = sources.answered() if given["propose"] else sources
    learned = _learned(given, profile, answered) if not given["propose"] or answered.files or answered.memory else None
    proposed = _propose(given, profile, sources) if given["propose"] else None
    if given["review"] and sys.stdin.isatty():
        _review(given["out"])
    if given["as_json"]:
        click.echo(json.dumps(_came_of(given["out"], learned, proposed), ensure_ascii=False))
        return
    for told in (learned, proposed):
        if told is not None:
            click.echo(str(told))


@dataclass(frozen=True, slots=True)
class _Proposed:
    """What came of asking a model: of so many questions, so many words, so many entries of them."""

    questions: int
    words: int
    entries: int
    failures: tuple[str, ...]
    where: str

    def __str__(self) -> str:
        if not self.words:
            return f"{self.questions:,} questions; no word that several of them have is missing from the documents"
        told = f"{self.questions:,} questions; of {self.words:,} words that no document holds {self.entries:,} entries "
        failed = f"; {len(self.failures):,} words without a reply: {self.failures[0]}" if self.failures else ""
        return f"{told}{self.where}{failed}"


def _usable(given: dict[str, Any], profile: Profile) -> None:
    if given["from_memory"] and profile.memory is None:
        raise click.UsageError("--from-memory needs a profile that names a memory")
    if given["propose"] and not (given["index"] and given["model"]):
        raise click.UsageError("--propose needs --index and --model")
    out = given["out"]
    if out.is_dir() or out.resolve() in {source.resolve() for source in given["sources"]}:
        what = "is a folder" if out.is_dir() else "is learned from"
        raise click.UsageError(f"--out {out} {what}; give a file of its own for the lexicon")
    nothing = not given["sources"] and not given["from_memory"]
    if nothing and (given["propose"] or given["anew"] or not out.exists()):
        raise click.UsageError("nothing to learn from: name files of pairs, clicks or questions, or give --from-memory")


def _sources(given: dict[str, Any], profile: Profile) -> Sources:
    from dragoman.learn.sources import Sources
    from dragoman.retrievers.engines import is_address

    # An engine is not asked for documents by their ids; clicks then need --corpus.
    folder = Path(given["index"]) if given["index"] and not is_address(given["index"]) else None
    return Sources(
        given["sources"],
        given["corpus"],
        folder,
        given["questions"],
        profile.memory if given["from_memory"] else None,
        profile.name,
    )


def _learned(given: dict[str, Any], profile: Profile, sources: Sources) -> Learned:
    from dragoman.learn import learn as learned_from
    from dragoman.rewriters.language import ANY
    from dragoman.rewriters.masking import Masking

    language = profile.language.question
    return learned_from(
        sources.pairs(),
        given["out"],
        language="en" if language == ANY else language,
        review=given["review"],
        mask=Masking(profile.masking),
        anew=given["anew"],
    )


def _came_of(out: Path, learned: Learned | None, proposed: _Proposed | None) -> dict[str, Any]:
    from dragoman.learn import Status, read_review

    data: dict[str, Any] = {}
    if learned is not None:
        data = {
            "pairs": learned.pairs,
            "new": learned.new,
            "entries": len(learned.kept),
            "tried": learned.tried,
            "added": list(learned.added),
            "gone": list(learned.gone),
            "seconds": round(learned.seconds, 3),
        }
    if proposed is not None:
        data |= {"questions": proposed.questions, "words": proposed.words, "failures": list(proposed.failures)}
    data["proposed"] = proposed.entries if proposed is not None else 0
    return {**data, "pending": len(read_review(out).of(Status.PENDING))}


def _propose(given: dict[str, Any], profile: Profile, sources: Sources) -> _Proposed:
    """Ask a model for entries; they wait in the file."""
    from dragoman import portal
    from dragoman.learn import merged, missing_terms, nearest_phrases, propose, read_review, write_review
    from dragoman.profile_steps import open_model
    from dragoman.rewriters.masking import Masking

    asked = list(dict.fromkeys(sources.asked()))
    where = f"proposed by {given['model']} wait for review in {given['out']}"
    with _words(given["index"], given["embedder"]) as (vocabulary, embed):
        missing = missing_terms(asked, vocabulary, mask=Masking(profile.masking))
        if not missing:
            return _Proposed(len(asked), 0, 0, (), where)
        near = nearest_phrases(vocabulary, embed) if embed is not None else lambda _: vocabulary.headings[:30]
        model = open_model(given["model"], profile)
        proposals = portal.run(propose(missing, model, vocabulary, near, profile.setting.corpus))
    drafts = [proposal.draft for proposal in proposals if proposal.draft is not None]
    before = read_review(given["out"])
    after = merged(before, drafts, asking=True, anew=False)
    given["out"].parent.mkdir(parents=True, exist_ok=True)
    write_review(after, given["out"])
    failures = tuple(proposal.failed for proposal in proposals if proposal.failed)
    return _Proposed(len(asked), len(missing), len(after.blocks) - len(before.blocks), failures, where)


@contextmanager
def _words(place: str, embedder: str | None) -> Iterator[tuple[Vocabulary, Embed | None]]:
    """The vocabulary of an index or an engine, and what embeds its phrases."""
    from dragoman import portal
    from dragoman.dragoman import Dragoman
    from dragoman.retrievers import open_index
    from dragoman.retrievers.embedders import load_embedder
    from dragoman.retrievers.engines import is_address, open_engine, vocabulary_of

    if not is_address(place):
        with open_index(place, embedder=embedder) as index:
            yield index.vocabulary, None if index.meaning is None else index.meaning.embed
        return
    embed = load_embedder(embedder) if embedder else None

    async def counted() -> Vocabulary:
        engine = open_engine(place)
        async with Dragoman(engine.retrievers):  # which closes them
            return await vocabulary_of(engine)

    yield portal.run(counted()), embed


def _review(path: Path) -> None:
    from dragoman.learn import Status, read_review, write_review
    from dragoman.learn.sources import reviewed

    def decide(block: Block) -> Status | None:
        click.echo(f"\n{block}")
        answer = click.prompt("accept, reject, later", type=click.Choice(["a", "r", "l"]), default="l")
        return {"a": Status.ACCEPTED, "r": Status.REJECTED}.get(answer)

    write_review(reviewed(read_review(path), decide), path)

"""Hits -> an answer that cites them, and nothing but them.

A model's text is trusted for its sentences, never for its sources: a citation of a document that
was not given is taken out and counted. Without a model, or when it fails, the best passages speak
for themselves, quoted and marked as such.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from importlib import resources

from dragoman.errors import LLMError
from dragoman.protocols import Prompt, Reply, Writer
from dragoman.telemetry import Happening, here, log
from dragoman.text import stems
from dragoman.types import Answer, Hit, Result

PASSAGES = 8  # given to the model: enough to hold the answer, few enough to be read
PASSAGE = 2_000  # characters of each
MAX_TOKENS = 1_024
QUOTED = 3
EXCERPT = 320  # characters of a quoted passage
NOT_FOUND = "NOT IN THE CORPUS"
_CITATION = re.compile(r"\s?\[([^\[\]\n]{1,300})\]")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n+")


def rules() -> str:
    """The standing instructions of the answering model."""
    return (resources.files("dragoman") / "prompts" / "answer.txt").read_text("utf-8")


async def answer(result: Result, writer: Writer | None) -> Answer:
    """The whole answer at once.

    Without a model, or where it fails, the passages are quoted (`Answer.quoted`), the failure in
    `Answer.reason`. No hits: `found` is False.
    """
    final: str | Answer = ""
    async for piece in stream(result, writer):
        final = piece
    if isinstance(final, str):
        raise TypeError("a stream of an answer ends with the Answer")
    return final


async def stream(
    result: Result, writer: Writer | None, within: Happening | None = None
) -> AsyncGenerator[str | Answer, None]:
    """The text in pieces as they come, then the `Answer` with its citations checked.

    Args:
        within: what the model's call happens in; None: what goes on here.
    """
    if not result.hits:
        yield Answer("Not in the corpus: no passage matches the question.", result, found=False)
        return
    if writer is None:
        yield quote(result)
        return
    pieces: list[str] = []
    try:
        async with aclosing(_written(writer, prompt(result), within or here())) as written:
            async for piece in written:
                pieces.append(piece)
                yield piece
    except LLMError as error:
        log.warning("%s did not answer the question: %s", writer.name, type(error).__name__)
        yield quote(result, str(error))
        return
    yield checked("".join(pieces), result)


async def _written(writer: Writer, given: str, within: Happening | None) -> AsyncGenerator[str, None]:
    """The model's text in pieces; who listens is told of the call."""
    asked = Prompt("answer", rules(), given, {"type": "string"}, MAX_TOKENS)
    call = within.events.begin("llm", within, llm=writer.name, prompt=asked, streamed=True) if within else None
    pieces: list[str] = []
    try:
        async for piece in writer.stream(asked.rules, given, MAX_TOKENS):
            pieces.append(piece)
            yield piece
    except BaseException as error:
        if call:
            call.fail(error)
        raise
    if call:
        call.stop(reply=Reply("".join(pieces), model=writer.name))


def prompt(result: Result) -> str:
    """The question and the passages, each under its doc_id."""
    passages = "\n\n".join(
        f'<passage id="{hit.doc_id}">\n{hit.title}\n{hit.text[:PASSAGE]}\n</passage>' for hit in result.hits[:PASSAGES]
    )
    history = "".join(f"{message.role}: {message.text}\n" for message in result.question.history or ())
    asked = f"<history>\n{history}</history>\n" if history else ""
    return f"{passages}\n\n{asked}<question>\n{result.question.text}\n</question>"


def checked(text: str, result: Result) -> Answer:
    """A model's text as an answer: citations of documents that were not given are removed and counted.

    A bracket counts as a citation when all it holds are doc_ids, or when it looks like one; other
    bracketed words stay as they are.
    """
    given = {hit.doc_id for hit in result.hits[:PASSAGES]}
    shape = _shape_of(given)
    cited: list[str] = []
    removed = 0

    def check(match: re.Match[str]) -> str:
        nonlocal removed
        kept: list[str] = []
        whole = match[1].strip()  # an id may hold what stands between ids
        for doc_id in [whole] if whole in given else (part.strip() for part in re.split(r"[,;]", whole)):
            if doc_id in given:
                kept.append(doc_id)
            elif shape.fullmatch(doc_id):
                removed += 1
            else:
                return match[0]
        cited.extend(doc_id for doc_id in kept if doc_id not in cited)
        return f" [{', '.join(kept)}]" if kept else ""

    clean = _CITATION.sub(check, text).strip()
    found = bool(clean) and NOT_FOUND not in clean.upper()
    if not clean:
        return quote(result, "the model wrote nothing")
    if not found:
        return Answer("Not in the corpus.", result, found=False, removed=removed)
    return Answer(clean, result, tuple(cited), removed=removed)


def _shape_of(doc_ids: Sequence[str] | set[str]) -> re.Pattern[str]:
    """What an id of this corpus looks like: runs of letters, of digits, and its punctuation."""
    shapes = {re.sub(r"[^\W\d]+", "A", re.sub(r"\d+", "0", doc_id)) for doc_id in doc_ids}
    alternatives = [re.escape(shape).replace("A", r"[^\W\d]+").replace("0", r"\d+") for shape in sorted(shapes)]
    return re.compile("|".join(alternatives) or r"(?!)")


def quote(result: Result, reason: str = "") -> Answer:
    """The best passages, each with the sentences that hold most of the question's words."""
    wanted = {stem for search in result.searches for stem in stems(search.text)}
    best = result.hits[:QUOTED]
    parts = [f"{hit.title}\n“{excerpt(hit, wanted)}” [{hit.doc_id}]".lstrip() for hit in best]
    cited = tuple(hit.doc_id for hit in best)
    return Answer("\n\n".join(parts), result, cited, quoted=True, reason=reason)


def excerpt(hit: Hit, wanted: set[str], length: int = EXCERPT) -> str:
    """The run of whole sentences of at most `length` characters that holds most of `wanted`."""
    sentences = [sentence.strip() for sentence in _SENTENCE.split(hit.text) if sentence.strip()]
    best, most = "", -1
    for start in range(len(sentences)):
        run = ""
        for sentence in sentences[start:]:
            if run and len(run) + len(sentence) > length:
                break
            run = f"{run} {sentence}".strip()
        held = len(wanted & set(stems(run)))
        if held > most:
            best, most = run, held
    return best if len(best) <= length else best[: length - 1].rsplit(" ", 1)[0] + "…"

"""What the fuzzer feeds, and what must hold whatever it is fed: a claim a target, over bytes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from bench.hostile_rows import QUESTION, REPLIES
from dragoman.errors import LexiconError, LLMUnreadable, ProfileError
from dragoman.llm.reading import read
from dragoman.llm.schema import misfit
from dragoman.profile import Profile
from dragoman.rewriters.guard_checks import Asked
from dragoman.rewriters.guards import Guards
from dragoman.rewriters.lexicon import Lexicon
from dragoman.rewriters.promptfile import load_prompt
from dragoman.rewriters.rules import Rules
from dragoman.text import identifiers, sanitize

Target = Callable[[bytes], None]


def _text(data: bytes) -> str:
    """Any text at all: lone surrogates too."""
    return data.decode("utf-8", "surrogatepass") if _decodes(data) else data.decode("utf-8", "surrogateescape")


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def reply(data: bytes) -> None:
    """A reply is a value that fits the schema, or unreadable; what the guards let through they let through again."""
    schema = load_prompt("rephrase").schema
    try:
        value = read(_text(data), schema)
    except LLMUnreadable as error:
        claim(str(error), "an error without a message")
        return
    claim(not misfit(value, schema), "a value of another shape was given")
    guards, asked = Guards(), Asked(QUESTION)
    kept = guards.searches(value["searches"], asked).texts
    claim(len(kept) <= guards.count, "more searches than allowed")
    for text in kept:
        claim(0 < len(text) <= guards.characters, "a search of no length or too long")
        claim(text == sanitize(text), "a control character in a search")
        claim("\n" not in text, "a search of two lines")
    claim(guards.searches(kept, asked).texts == kept, "held twice is not held once")


def lexicon(data: bytes) -> None:
    """A lexicon is read or turned down with its line; it is written and read back alike, and settles."""
    try:
        known = Lexicon.parse(_text(data), "fuzzed.txt")
    except LexiconError as error:
        claim(error.line is None or error.line >= 1, "a line below 1")
        return
    claim(Lexicon.parse(known.serialise()).serialise() == known.serialise(), "written and read back is another")
    said = " ".join(left for entry in known.entries[:8] for left in entry.left[:2])[:400]
    for text in (QUESTION, said or "nothing"):
        once = known.apply(text).replaced
        claim(known.apply(once).replaced == once, "replacing twice is not replacing once")


def profile(data: bytes) -> None:
    """A profile is read, or is an error that names the file; nothing else comes out."""
    path = _folder() / "fuzzed.toml"
    path.write_bytes(data)
    try:
        found = Profile.read(path)
    except ProfileError as error:
        claim("fuzzed" in str(error) or error.path is not None, "an error without its file")
        return
    claim(found.limits.searches >= 1, "a profile that allows no search")


def rules(data: bytes) -> None:
    """Noise out keeps numbers and identifiers, takes nothing but noise, and twice is once."""
    text = _text(data)[:4000]
    cleaned = _rules().clean(text)
    claim(_rules().clean(cleaned.text).text == cleaned.text, "cleaned twice is not cleaned once")
    claim(all(each in cleaned.text for each in identifiers(text)), "an identifier is gone")
    claim(re.findall(r"\d+", text) == re.findall(r"\d+", cleaned.text), "a number is gone")
    claim(bool(cleaned.text.strip()) or not text.strip(), "nothing is left")


def claim(holds: object, says: str) -> None:
    """Raise unless it holds.

    Raises:
        AssertionError: it does not.
    """
    if not holds:
        raise AssertionError(says)


@cache
def _rules() -> Rules:
    return Rules()


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="dragoman-fuzz-"))


TARGETS: Mapping[str, Target] = {"reply": reply, "lexicon": lexicon, "profile": profile, "rules": rules}
_PROFILE = """name = "x"
asker = "a learner"
corpus = "a code"
language = { question = "en", corpus = "en" }
register = ["say limit"]
steps = ["rules", "lexicon", { use = "rephrase", count = 2 }]
[limits]
searches = 2
[[guards]]
id = "text"
pattern = '\\btext\\b'
replacement = "message"
reason = "the law's word"
"""
SEEDS: Mapping[str, tuple[bytes, ...]] = {
    "reply": tuple(str(row.say("searches")).encode("utf-8", "surrogatepass")[:2000] for row in REPLIES),
    "lexicon": (b"a, b => c|0.8, d\n# why\ne, f, g\n", b"fast \\, quick => speed limit\n", b"a => b\nb => c\n"),
    "profile": (_PROFILE.encode(), b"steps = 3\n", b'lexicon = ["no.txt"]\n'),
    "rules": (
        QUESTION.encode(),
        b"Hey there! Could you please tell me about section 46.2-870? Thanks, Bo",
        "¿por favor?".encode(),
    ),
}

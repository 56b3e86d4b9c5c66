"""Regular expressions that other people write: are they safe to run, and what do they match?

The standard library's `re` cannot be interrupted, so a pattern that may take exponential time is
turned down before it runs, and one that takes polynomial time is found out on growing inputs.
Its own parser is used for both (`re._parser`, private but unchanged since Python 1.6 under its older
name `sre_parse`): a second parser of ours would disagree with it exactly where it matters.
"""

from __future__ import annotations

import importlib
import itertools
import re
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

MOST_PATTERN = 500  # characters
# Repeats up to this many times of something that itself repeats cost a polynomial, not an exponential.
FEW = 3
# What 400 characters may cost a pattern on a slow machine; a search has 80, and costs a tenth at most.
MOST_SECONDS = 0.02
MOST_SAMPLES = 64
_parser: Any = importlib.import_module("re._parser")


def danger(pattern: str) -> str:
    """Why `pattern` is not safe to run on what a model writes; empty when it is.

    Raises:
        re.error: it is not a regular expression.
    """
    if len(pattern) > MOST_PATTERN:
        return f"it has {len(pattern)} characters, more than {MOST_PATTERN}; split it into several rules"
    compiled = re.compile(pattern, re.IGNORECASE)
    if compiled.match(""):
        return "it matches the empty text, and so between any two letters; let it match at least one character"
    if _nested(_parser.parse(pattern), inside=False):
        return "it repeats a group that itself repeats or chooses, which can take for ever; write it without"
    return _slow(compiled, pattern)


def _nested(tree: Any, inside: bool) -> bool:
    """Whether a repeat holds another repeat, or a choice."""
    for op, args in tree:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, body = args
            if (inside and least != most and most > FEW) or _nested(body, inside or most > FEW):
                return True
        elif name == "BRANCH":
            if inside or any(_nested(branch, inside) for branch in args[1]):
                return True
        elif any(_nested(body, inside) for body in _bodies(name, args)):
            return True
    return False


def _bodies(name: str, args: Any) -> list[Any]:
    """The parts of a construct that are patterns themselves."""
    if name == "SUBPATTERN":
        return [args[-1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [args[1]]
    if name == "POSSESSIVE_REPEAT":
        return [args[2]]
    if name == "ATOMIC_GROUP":
        return [args]
    if name == "GROUPREF_EXISTS":
        return [body for body in args[1:] if body is not None]
    return []


def _slow(compiled: re.Pattern[str], pattern: str) -> str:
    """Try it on inputs that grow, so that the first that is slow is still short."""
    seeds = {"a", " ", "1", "a ", "-", "a1", *itertools.islice(samples(pattern), 4)}
    for size in (50, 100, 200, 400):
        for seed in seeds:
            text = ((seed or "a") * size)[:size] + "\x00"
            took = min(_seconds(compiled, text) for _ in range(3))
            if took > MOST_SECONDS:
                return f"it takes {took * 1000:.0f} ms on {size} characters; use fewer open-ended repeats"
    return ""


def _seconds(compiled: re.Pattern[str], text: str) -> float:
    began = time.perf_counter()
    compiled.sub("", text)
    return time.perf_counter() - began


@cache
def _sampled(pattern: str) -> tuple[str, ...]:
    made = itertools.islice(_texts(list(_parser.parse(pattern, re.IGNORECASE))), MOST_SAMPLES * 4)
    compiled = re.compile(pattern, re.IGNORECASE)
    found = dict.fromkeys(text for text in made if compiled.search(text))
    return tuple(itertools.islice(found, MOST_SAMPLES))


def samples(pattern: str) -> Iterator[str]:
    """Texts that `pattern` matches, made from its own parts; none where lookarounds forbid all that were made."""
    return iter(_sampled(pattern))


def _texts(tree: list[Any]) -> Iterator[str]:
    """Texts for a run of constructs: every choice, and each repeat at its fewest and once more."""
    if not tree:
        yield ""
        return
    (op, args), rest = tree[0], tree[1:]
    for head in _heads(str(op), args):
        for tail in _texts(rest):
            yield head + tail


def _heads(name: str, args: Any) -> Iterator[str]:
    """Texts for one construct; anchors, lookarounds and back references add nothing of their own."""
    if name == "BRANCH":
        for branch in args[1]:
            yield from _texts(list(branch))
    elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, body = args
        for times in dict.fromkeys((max(least, min(1, most)), least)):
            for text in itertools.islice(_texts(list(body)), 8):
                yield text * times
    elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
        yield from _texts(list(_bodies(name, args)[0]))
    elif name == "IN":
        yield from itertools.islice(_members(args), 3)
    else:
        yield _one(name, args)


def _one(name: str, args: Any) -> str:
    if name == "LITERAL":
        return chr(args)
    if name == "NOT_LITERAL":
        return "y" if args == ord("x") else "x"
    return "x" if name == "ANY" else ""


_CATEGORIES = {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1", "CATEGORY_WORD": "a"}


def _members(parts: list[Any]) -> Iterator[str]:
    """Characters of a set."""
    for op, args in parts:
        name = str(op)
        if name == "NEGATE":
            yield "x"
            return
        if name == "LITERAL":
            yield chr(args)
        elif name == "RANGE":
            yield chr(args[0])
        elif name == "CATEGORY":
            yield _CATEGORIES.get(str(args), "x")


def check_replacement(replacement: str, compiled: re.Pattern[str]) -> None:
    """See that a replacement names only groups that the pattern has.

    Raises:
        re.error, IndexError: it does not.
    """
    _parser.parse_template(replacement, compiled)

"""A profile's own guard rules: pattern, replacement, reason; applied until nothing changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.rewriters import patterns
from dragoman.types import RuleHit

# Rounds after which rules that still change a text are taken never to settle.
MOST_ROUNDS = 8
# A rule that matches its own replacement multiplies the text each round: it is stopped before it fills the memory.
MOST_GROWTH = 20_000  # characters that one rule may add


class BadRule(ValueError):
    """A rule that cannot be used.

    Attributes:
        part: which of its parts is wrong: `id`, `pattern` or `replacement`.
    """

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


class Unsettled(ValueError):  # it names a state of the rules, and is never seen by a caller
    """Rules that would change a text for ever.

    Attributes:
        rule: the rule that bit last.
    """

    def __init__(self, rule: Rule, text: str) -> None:
        super().__init__(f"rule {rule.id!r} never settles: it changes its own result again, {text[:80]!r}")
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what `pattern` matches, whatever its case, becomes `replacement`.

    Attributes:
        pattern: a regular expression of the standard library's `re`.
        replacement: text, with `\\1` for the pattern's groups.
        reason: why, for whoever reads the record.
        examples: pairs of a text and what the rules make of it; run as tests.

    Raises:
        BadRule: the pattern or the replacement cannot be used; the message says why.
    """

    id: str
    pattern: str
    replacement: str
    reason: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise BadRule("a guard needs an id; give it a short name, such as 'no-texting'", "id")
        part = "pattern"
        try:
            unsafe = patterns.danger(self.pattern)
            compiled = re.compile(self.pattern, re.IGNORECASE)
            part = "replacement"
            patterns.check_replacement(self.replacement, compiled)
        except (re.error, IndexError, OverflowError, RecursionError) as exc:
            raise BadRule(f"guard {self.id!r}: its {part} cannot be used: {exc}", part) from exc
        if unsafe:
            raise BadRule(f"guard {self.id!r}: pattern {self.pattern!r} is not safe: {unsafe}", "pattern")
        object.__setattr__(self, "compiled", compiled)

    def apply(self, text: str) -> tuple[str, str]:
        """The text with every match replaced, and the first match; the text itself and "" without one."""
        first = self.compiled.search(text)
        return (text, "") if first is None else (self.compiled.sub(self.replacement, text), first[0])


def settle(text: str, rules: Sequence[Rule]) -> tuple[str, list[RuleHit]]:
    """The text after every rule, in order, until none changes it; so that a second time changes nothing.

    Raises:
        Unsettled: they still change it after `MOST_ROUNDS` rounds, or let it grow beyond all measure.
    """
    hits: list[RuleHit] = []
    for _ in range(MOST_ROUNDS):
        before = text
        for rule in rules:
            after, found = rule.apply(text)
            if len(after) > len(text) + MOST_GROWTH:
                raise Unsettled(rule, text)
            if after != text:
                hits.append(RuleHit(rule.id, found, rule.replacement, rule.reason))
                last, text = rule, after
        if text == before:
            return " ".join(text.split()) if hits else text, hits
    raise Unsettled(last, text)


def unsettled(rules: Sequence[Rule]) -> Iterator[tuple[Rule, str]]:
    """Rules whose replacement never settles, each with what is wrong.

    Tried on texts made from every pattern, alone, in a sentence and twice, on every replacement and
    on every example. One round must be enough: a rule that changes its own result needs a narrower
    pattern.
    """
    for rule in rules:
        for text in _trials(rule):
            try:
                once, hits = settle(text, rules)
                alone = rule.apply(text)[0]
                again = rule.apply(alone)[0]
            except Unsettled as exc:
                yield exc.rule, f"on {text!r} it never settles: it changes its own result again and again"
                break
            if again != alone:
                yield rule, f"on {text!r} it gives {alone!r}, and on that {again!r}; exclude its own result"
                break
            if hits and once == text:
                yield rule, f"what it makes of {text!r} another rule ({hits[-1].rule!r}) turns back"
                break
            if settle(once, rules)[0] != once:
                yield rule, f"on {text!r} the rules give {once!r}, and on that something else"
                break


def _trials(rule: Rule) -> Iterator[str]:
    for text, _ in rule.examples:
        yield text
    for text in (*patterns.samples(rule.pattern), re.sub(r"\\(?:\d+|g<\w+>)", "x", rule.replacement)):
        if text.strip():
            yield from (text, f"about {text} while", f"{text} {text}")

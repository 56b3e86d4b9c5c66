"""Lint a profile and run its examples as tests, without any model but the replies that it gives itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman import portal
from dragoman.errors import ProfileError, QuestionError
from dragoman.profile import Profile, profile_path
from dragoman.profile_file import Expected
from dragoman.profile_steps import Parts, flat, rewriters
from dragoman.protocols import Prompt, Reply
from dragoman.rewriters.chain import Chain
from dragoman.rewriters.guard_rules import settle
from dragoman.rewriters.prompted import Prompted
from dragoman.types import Message, Outcome, Question, Rewriting

_SHOWN = 200  # characters of an example's question by which its check is named


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what, whether it holds, what was found where it does not, and its line."""

    what: str
    holds: bool
    found: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What a profile came to.

    Attributes:
        checks: the file itself first, then its guards' examples, then its own, in order.
        notes: what is allowed and may be meant otherwise.
    """

    path: Path
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def __str__(self) -> str:
        lines = [f"{self.path}:{check.line or 1}: {check.what}: {check.found}" for check in self.failed]
        lines += [f"{self.path}: note: {note}" for note in self.notes]
        passed = sum(check.holds for check in self.checks)
        return "\n".join([*lines, f"{passed} of {len(self.checks)} checks hold"])

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that do not hold."""
        return tuple(check for check in self.checks if not check.holds)


class _Given:
    """A model that replies what the example says."""

    name = "example"

    def __init__(self, value: Mapping[str, Any]) -> None:
        self.value = value

    async def __call__(self, _: Prompt, /) -> Reply:
        return Reply(dict(self.value), model=self.name)


def check_profile(name_or_path: str | Path) -> Report:
    """Lint a profile and run its examples. Whatever is wrong is in the report, a file that cannot be read too."""
    try:
        path = profile_path(name_or_path)
        profile = Profile.read(path)
        profile.lexicon()
        rewriters(profile, Parts(models=False))
    except ProfileError as exc:
        at = exc.path or Path(name_or_path)
        message = str(exc).removeprefix(f"{at}:{exc.line}: ").removeprefix(f"{at}: ")
        return Report(at, (Check("the file", False, message, exc.line),))
    checks = [Check("the file", True), *_guards(profile), *(_example(profile, each) for each in profile.examples)]
    return Report(path, tuple(checks), tuple(_notes(profile)))


def _guards(profile: Profile) -> Iterator[Check]:
    for rule in profile.rules:
        for before, expected in rule.examples:
            after, _ = settle(before, profile.rules)
            found = "" if after == expected else f"{before!r} becomes {after!r}, expected {expected!r}"
            yield Check(f"guard {rule.id!r}", not found, found)


def _example(profile: Profile, example: Expected) -> Check:
    what = f"example {example.question[:_SHOWN]!r}"
    history = None if example.history is None else tuple(Message(role, text) for role, text in example.history)  # type: ignore[arg-type]  # roles were checked when read
    try:
        asked = Rewriting.of(Question(example.question, history))
    except QuestionError as exc:
        return Check(what, False, str(exc), example.line)
    given = Chain(_steps(profile, example))(asked)
    rewriting = portal.run(_awaited(given)) if inspect.isawaitable(given) else given
    if example.reply is not None and not _asked(profile, example):
        return Check(what, False, "no prompted step has a schema that its reply fits", example.line)
    wrong = "; ".join(_differences(example, rewriting))
    return Check(what, not wrong, wrong, example.line)


async def _awaited(given: Any) -> Rewriting:
    return await given  # type: ignore[no-any-return]  # a chain gives rewritings


def _steps(profile: Profile, example: Expected) -> list[Any]:
    """The profile's steps; the prompted ones only where the reply fits their schema. No store, no cache."""
    private = replace(profile, memory=None, cache=None)
    llm = None if example.reply is None else _Given(example.reply)
    made = rewriters(private, Parts(llm=llm, models=False))
    return [step for each in made for step in getattr(each, "steps", (each,)) if _fits(step, example)]


def _fits(step: Any, example: Expected) -> bool:
    return not isinstance(step, Prompted) or set(example.reply or ()) == set(step.prompt.schema["properties"])


def _asked(profile: Profile, example: Expected) -> bool:
    return any(isinstance(step, Prompted) for step in _steps(profile, example))


def _differences(example: Expected, rewriting: Rewriting) -> Iterator[str]:
    searches = tuple(search.text for search in rewriting.searches)
    pairs: list[tuple[str, Any, Any]] = [
        ("query", example.query, rewriting.query),
        ("searches", example.searches, searches),
        ("off_topic", example.off_topic, rewriting.off_topic),
    ]
    for name, expected, found in pairs:
        if expected is not None and expected != found:
            yield f"{name}: {found!r}, expected {expected!r}"
    if example.outcome is not None:
        outcomes = [step.outcome.value for step in rewriting.steps if step.name not in ("lexicon", "rules", "guards")]
        if example.outcome not in set(Outcome):
            yield f"outcome {example.outcome!r} is none of {', '.join(Outcome)}"
        elif example.outcome not in outcomes:
            yield f"outcome: {', '.join(outcomes) or 'none'}, expected {example.outcome}"


def _notes(profile: Profile) -> Iterator[str]:
    used = {use.use for use in flat(profile.steps)}
    if profile.lexicons and "lexicon" not in used:
        yield "a lexicon is named, and 'lexicon' is not among the steps"
    if profile.rules and "guards" not in used:
        yield "guards are given, and 'guards' is not among the steps: only prompted steps are held by them"
    for rule in profile.rules:
        if not rule.examples:
            yield f"guard {rule.id!r} has no examples"
    if not profile.examples:
        yield "there are no examples; give a few questions and what is to become of them"

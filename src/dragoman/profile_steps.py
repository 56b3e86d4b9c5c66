"""From a profile to a chain: every rewriter that a profile may name is one row here.

A prompt needs no row: whatever name is not in the table is looked up among the prompt files.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.errors import LLMError, LLMUnavailable, MissingExtraError, ProfileError
from dragoman.protocols import LLM, Prompt, Reply, Retriever, Rewriter, Writer
from dragoman.rewriters.guard_checks import House
from dragoman.rewriters.guards import Guards
from dragoman.rewriters.language import ANY
from dragoman.rewriters.masking import Masking
from dragoman.rewriters.promptfile import Example, PromptFile, load_prompt

if TYPE_CHECKING:
    from dragoman.dragoman import Dragoman
    from dragoman.profile import Profile
    from dragoman.profile_file import StepUse
    from dragoman.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Parts:
    """What a profile does not hold and its steps are made with.

    Attributes:
        vocabulary: the corpus's words; steps that need it are left out without one.
        llm: the rewriting model, instead of the profile's.
        writer: the answering model, instead of the profile's.
        only: names of the steps wanted; empty for all of the profile's.
        models: False: no model is opened, whatever the profile names.
    """

    retrievers: Sequence[Retriever] = ()
    vocabulary: Vocabulary | None = None
    llm: LLM | None = None
    writer: Writer | None = None
    only: tuple[str, ...] = ()
    models: bool = True


@dataclass(frozen=True, slots=True)
class _Bench:
    """Where steps are made: the profile, the parts, and what several steps share."""

    profile: Profile
    parts: Parts
    guards: Guards
    masking: Masking
    llm: LLM | None


Make: TypeAlias = Callable[[_Bench, Mapping[str, Any]], "Rewriter | None"]


@dataclass(frozen=True, slots=True)
class StepKind:
    """A rewriter that a profile may name.

    Attributes:
        about: what it does, for the reference.
        make: the rewriter; None where something that it needs is not there.
        options: name of an option -> the types allowed.
    """

    about: str
    make: Make
    options: Mapping[str, tuple[type, ...]] = field(default_factory=dict)


class Absent:
    """A model that could not be opened; every question records why and goes on without it."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.why = why

    async def __call__(self, _: Prompt, /) -> Reply:
        """Raises LLMUnavailable with the reason."""
        raise LLMUnavailable(self.why)

    async def stream(self, *_: object) -> AsyncIterator[str]:
        """Raises LLMUnavailable with the reason."""
        nothing: str
        for nothing in ():  # what makes this an asynchronous generator, as a writer's stream is
            yield nothing
        raise LLMUnavailable(self.why)


def _rules(bench: _Bench, options: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.noise import languages
    from dragoman.rewriters.rules import AUTO, Rules

    asked = bench.profile.language.question
    language = options.get("language", AUTO if asked == ANY else asked)
    return Rules(language) if language in (AUTO, *languages()) else None


def _lexicon(bench: _Bench, _: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.lexicon import LexiconRewriter

    lexicon = bench.profile.lexicon()
    return LexiconRewriter(lexicon) if lexicon is not None else None


def _guards(bench: _Bench, _: Mapping[str, Any]) -> Rewriter:
    return bench.guards


def _prompted(use: StepUse) -> Make:
    def make(bench: _Bench, options: Mapping[str, Any]) -> Rewriter | None:
        from dragoman.rewriters.prompted import Options, Prompted

        if bench.llm is None:
            return None
        prompt = _prompt(bench.profile, use)
        profile = bench.profile
        shown = [
            Example(example.question, example.reply or {}, example.history or ())
            for example in profile.examples
            if example.show and set(example.reply or ()) == set(prompt.schema["properties"])
        ]
        made = Options(options.get("rules"), tuple(shown), options.get("weight"), bench.masking or None)
        step = Prompted(prompt, bench.llm, profile.setting, bench.guards, made)
        if profile.cache is None:
            return step
        from dragoman.rewriters.cache import Cached, RewriteCache

        return Cached(step, RewriteCache(profile.cache), step.fingerprint)

    return make


def _prompt(profile: Profile, use: StepUse) -> PromptFile:
    """The step's prompt file with the profile's limits; a path is relative to the profile."""
    name: str | Path = use.use
    if use.use.endswith(".toml"):
        name = profile.path.parent / use.use
    prompt = load_prompt(name)
    limits = profile.limits
    tokens = min(prompt.limits.max_tokens, limits.max_tokens)
    prompt = prompt.limited(question=limits.question, history=limits.history, max_tokens=tokens)
    if prompt.gives == "searches":
        prompt = prompt.limited(count=limits.searches, words=limits.words, characters=limits.characters)
    given = {key: use.options[key] for key in ("count", "words", "characters") if key in use.options}
    return prompt.limited(**given) if given else prompt


PROMPT_OPTIONS: Mapping[str, tuple[type, ...]] = {
    "weight": (int, float),
    "rules": (str,),
    "count": (int,),
    "words": (int,),
    "characters": (int,),
}
STEPS: Mapping[str, StepKind] = {
    "rules": StepKind("noise taken out of the question, without a model", _rules, {"language": (str,)}),
    "lexicon": StepKind("the lexicon enforced on the question and every search", _lexicon),
    "guards": StepKind("the guards and the profile's rules held over every search, whoever wrote it", _guards),
}


def step_kind(use: StepUse) -> StepKind:
    """The row of a step; made up for a prompt.

    Raises:
        PromptError: neither a row nor a prompt.
    """
    if use.use in STEPS:
        return STEPS[use.use]
    return StepKind("a prompt file", _prompted(use), PROMPT_OPTIONS)


def check_steps(profile: Profile) -> None:
    """See that every step is known and its options are ones that it has.

    Raises:
        ProfileError: with the profile's file and the line of the steps.
    """
    for use in flat(profile.steps):
        kind = step_kind(use)
        for key, value in use.options.items():
            if key not in kind.options:
                known = ", ".join(kind.options) or "none"
                raise ProfileError(f"step {use.use!r} has no option {key!r}; known: {known}", profile.path, use.line)
            if type(value) not in kind.options[key]:  # not isinstance: true is no number here
                expected = " or ".join(each.__name__ for each in kind.options[key])
                message = f"step {use.use!r}: {key!r} is {value!r}, expected {expected}"
                raise ProfileError(message, profile.path, use.line)
        if use.use not in STEPS:
            try:
                _prompt(profile, use)
            except ProfileError as exc:
                if exc.path is not None:
                    raise
                message = f"no step {use.use!r}: neither one of {', '.join(STEPS)} nor a prompt ({exc})"
                raise ProfileError(message, profile.path, use.line) from exc


def flat(steps: Sequence[StepUse | tuple[StepUse, ...]]) -> list[StepUse]:
    """The steps one after another, those side by side too."""
    return [use for step in steps for use in (step if isinstance(step, tuple) else (step,))]


def rewriters(profile: Profile, parts: Parts | None = None) -> list[Rewriter]:
    """The profile's rewriters in order, those that lack something they need left out."""
    from dragoman.rewriters.chain import Together

    bench = _bench(profile, parts or Parts())
    made: list[Rewriter] = []
    for step in _wanted(profile, bench.parts.only):
        inner = [_made(use, bench) for use in (step if isinstance(step, tuple) else (step,))]
        there = [each for each in inner if each is not None]
        if len(there) > 1:
            made.append(Together(there))
        else:
            made += there
    return made


def _made(use: StepUse, bench: _Bench) -> Rewriter | None:
    return step_kind(use).make(bench, use.options)


def _wanted(profile: Profile, only: tuple[str, ...]) -> Sequence[StepUse | tuple[StepUse, ...]]:
    if not only:
        return profile.steps
    known = {use.use: use for use in flat(profile.steps)}
    from dragoman.profile_file import StepUse

    return [known.get(name) or StepUse(name) for name in only]


def _bench(profile: Profile, parts: Parts) -> _Bench:
    house = House(profile.rules, profile.language, parts.vocabulary, profile.limits.figures)
    guards = Guards(house, characters=profile.limits.characters, count=profile.limits.searches)
    llm = parts.llm
    if llm is None and parts.models and profile.rewrite_model:
        llm = open_model(profile.rewrite_model, profile)
    return _Bench(profile, parts, guards, Masking(profile.masking), llm)


def open_model(name: str, profile: Profile) -> LLM:
    """The model of that name on the profile's leash; one that gives its reason where it cannot be opened.

    Raises:
        ProfileError: the name names no model.
    """
    from dragoman.llm.open import open_llm

    try:
        return open_llm(name, seconds=profile.leash, hedge_after=profile.hedge_after)
    except (LLMError, MissingExtraError) as exc:
        return Absent(name, str(exc))
    except ValueError as exc:
        raise ProfileError(f"'models.rewrite': {exc}", profile.path) from exc


def build(profile: Profile, parts: Parts | None = None, **settings: Any) -> Dragoman:
    """A ready `Dragoman`; see `Profile.build`."""
    from dragoman.dragoman import Dragoman, Settings

    parts = parts or Parts()
    writer = parts.writer
    if writer is None and parts.models and profile.answer_model:
        writer = _writer(profile)
    how = Settings(weights=profile.weights, seconds=profile.budget, reserve=profile.reserve)
    return Dragoman(parts.retrievers, rewriters(profile, parts), writer=writer, settings=how, **settings)


def _writer(profile: Profile) -> Writer:
    from dragoman.llm.open import open_writer

    try:
        return open_writer(profile.answer_model)
    except (LLMError, MissingExtraError) as exc:
        return Absent(profile.answer_model, str(exc))
    except ValueError as exc:
        raise ProfileError(f"'models.answer': {exc}", profile.path) from exc


def steps_reference() -> str:
    """The rewriters that a profile may name, as a Markdown table."""
    rows = [f"| `{name}` | {kind.about} | {_options(kind.options)} |" for name, kind in STEPS.items()]
    rows.append(f"| a prompt | a model's reply, by the prompt's file | {_options(PROMPT_OPTIONS)} |")
    return "\n".join(["| step | what it does | options |", "|---|---|---|", *rows])


def _options(options: Mapping[str, tuple[type, ...]]) -> str:
    return ", ".join(f"`{name}`" for name in options)

"""From a profile to a chain: its steps checked, made and put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dragoman.errors import DragomanError, LLMError, MissingExtraError, ProfileError
from dragoman.profile_file import StepUse
from dragoman.protocols import LLM, Rewriter, Writer
from dragoman.rewriters.guard_checks import House
from dragoman.rewriters.guards import Guards
from dragoman.rewriters.masking import Masking
from dragoman.step_table import PROMPT_OPTIONS, STEPS, Absent, Bench, Parts, StepKind, prompt_of, prompted

if TYPE_CHECKING:
    from dragoman.dragoman import Dragoman
    from dragoman.profile import Profile

__all__ = [
    "STEPS",
    "Absent",
    "Parts",
    "build",
    "check_steps",
    "flat",
    "open_model",
    "rewriters",
    "step_kind",
    "steps_reference",
]


def step_kind(use: StepUse) -> StepKind:
    """The row of a step; made up for a prompt.

    Raises:
        PromptError: neither a row nor a prompt.
    """
    if use.use in STEPS:
        return STEPS[use.use]
    return StepKind("a prompt file", prompted(use), PROMPT_OPTIONS)


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
            if expected := kind.options[key].expected(value):
                message = f"step {use.use!r}: {key!r} is {value!r}, expected {expected}"
                raise ProfileError(message, profile.path, use.line)
        if use.use not in STEPS:
            try:
                prompt_of(profile, use)
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


def _made(use: StepUse, bench: Bench) -> Rewriter | None:
    try:
        return step_kind(use).make(bench, use.options)
    except DragomanError:
        raise
    except ValueError as exc:
        raise ProfileError(f"step {use.use!r}: {exc}", bench.profile.path, use.line) from exc


def _wanted(profile: Profile, only: tuple[str, ...]) -> Sequence[StepUse | tuple[StepUse, ...]]:
    if not only:
        return profile.steps
    known = {use.use: use for use in flat(profile.steps)}
    return [known.get(name) or StepUse(name) for name in only]


def _bench(profile: Profile, parts: Parts) -> Bench:
    house = House(profile.rules, profile.language, parts.vocabulary, profile.limits.figures)
    guards = Guards(house, characters=profile.limits.characters, count=profile.limits.searches)
    shared = {} if parts.shared is None else parts.shared
    return Bench(profile, parts, guards, Masking(profile.masking), _rewriting_model(profile, parts), shared)


def _rewriting_model(profile: Profile, parts: Parts) -> LLM | None:
    """The one given, else the profile's; None where no model is wanted."""
    if parts.llm is not None or not parts.models or not profile.rewrite_model:
        return parts.llm
    return open_model(profile.rewrite_model, profile)


def open_model(name: str, profile: Profile) -> LLM:
    """The model of that name on the profile's leash; one that gives its reason where it cannot be opened.

    Args:
        name: the profile's own, or one given instead of it.

    Raises:
        ProfileError: the name names no model.
        CollectionError: it names a recording that cannot be read.
    """
    from dragoman.llm.open import open_llm

    try:
        return open_llm(name, seconds=profile.leash, hedge_after=profile.hedge_after)
    except (LLMError, MissingExtraError) as exc:
        return Absent(name, str(exc))
    except ValueError as exc:
        if name != profile.rewrite_model:
            raise ProfileError(f"the model given: {exc}") from exc
        raise ProfileError(f"'models.rewrite': {exc}", profile.path) from exc


def build(profile: Profile, parts: Parts | None = None, **settings: Any) -> Dragoman:
    """A ready `Dragoman`; see `Profile.build`."""
    from dragoman.dragoman import Dragoman, Settings

    parts = parts or Parts()
    llm = _rewriting_model(profile, parts)
    if llm is not parts.llm:  # opened here, so closed with the hall
        from dragoman.llm.open import Held

        parts = replace(parts, llm=llm)
        settings["owns"] = (*settings.get("owns", ()), Held(llm))
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


def _options(options: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in options)

"""Arms by name: which steps in which order, under which weights, fused how.

On the command line an arm is `STEP`, `STEP+STEP+...` or `NAME=STEP+...`. A step is whatever a profile
may name, or one of

    raw            nothing at all: the question as asked, words and meaning fused by plain RRF
    fused          the same, fused as the profile says: what fusion gives before any rewriting
    local          the profile's own steps, without a model
    cascade        the profile's own steps, with its model
    replay:FILE    recorded searches, by question id or text
    run:FILE       another system's TREC run, in place of everything

An entry that ends in `.toml` is a file of arms, which may set weights and fusion too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.dragoman import Dragoman, Settings
from dragoman.errors import DragomanError, ProfileError, RetrievalError
from dragoman.evaluate.recorded import Ids, Recorded, RunFile, read_searches
from dragoman.evaluate.run import RAW, Arm
from dragoman.fusion import FUSIONS
from dragoman.llm.open import warm
from dragoman.profile import Profile
from dragoman.profile_file import StepUse, retrievers_of
from dragoman.profile_keys import BY_LENGTH
from dragoman.profile_steps import STEPS, Parts, check_steps, flat, rewriters
from dragoman.protocols import LLM, Retriever, Rewriter
from dragoman.tomlfile import REQUIRED, Key, Section, TomlFile
from dragoman.types import Search

CONCURRENCY = 8  # questions under way at once where a model is waited for
REPLAY, RUN = "replay:", "run:"
OWN = ("local", "cascade")
FUSED = "fused"
NOTHING = (RAW, FUSED)  # names that stand for no step
# The baseline that the field knows: BM25 and one embedding of the question, RRF, nothing weighed.
PLAIN: Mapping[str, Any] = {"retrievers": {"meaning": 1.0, "headings": 0.0, "headings_meaning": 0.0}}
KEYS: Mapping[str, Key | Section] = {
    "arm": Section(
        "an arm each",
        {
            "name": Key("text", "its name in figures and conditions", REQUIRED),
            "steps": Key("texts", "its steps in order", []),
            "fusion": Key("text", "how rankings become one list", "standardised", choices=tuple(FUSIONS)),
            "reserve": Key("integer", "place below which the question's own best hit is not pushed", None, least=0),
            "weights": Section(
                "weights instead of the profile's",
                {
                    "question": Key("number", "the question as asked", None, least=0.001),
                    "asked": Key("number", "the question beside a rewritten one", None, least=0.0),
                    "query": Key("number", "the rewritten question", None, least=0.001),
                    "origins": Key("numbers", "step -> factor on its searches", {}, least=0.0),
                    "retrievers": Key(
                        "numbers",
                        "retriever -> factor on its rankings, or one by length",
                        {},
                        least=0.0,
                        inner=BY_LENGTH,
                    ),
                },
            ),
        },
        many=True,
    )
}


class ArmError(DragomanError, ValueError):
    """An arm that cannot be read or made."""


@dataclass(frozen=True, slots=True)
class Spec:
    """An arm as it was asked for.

    Attributes:
        weights: names of `Weights` -> values instead of the profile's.
        reference, asked: as `Arm` has them; see `references`.
    """

    name: str
    steps: tuple[str, ...]
    fusion: str = "standardised"
    reserve: int | None = None
    weights: Mapping[str, Any] = field(default_factory=dict, hash=False)
    reference: str = ""
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """What arms are made of.

    Attributes:
        parts: the vocabulary and the model.
        ids: the questions that recordings may be asked for.
        engine: retrievers for one arm, which share nothing that speeds up with another arm's: what an
            engine keeps of a question would make the second arm that asks it look quicker. Absent:
            nothing is searched.
    """

    profile: Profile
    parts: Parts
    ids: Ids
    concurrency: int = CONCURRENCY
    engine: Callable[[], Sequence[Retriever]] | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """An arm ready to run, and the hall it runs in (None for a run file)."""

    arm: Arm
    hall: Dragoman | None

    @property
    def missing(self) -> tuple[str, ...]:
        """The steps that had to be left out."""
        return self.arm.missing


def read_specs(texts: Sequence[str]) -> tuple[Spec, ...]:
    """The arms asked for, `raw` first whether it was asked for or not.

    Raises:
        ArmError: an empty entry, or two arms of one name.
        ProfileError: a file of arms that cannot be read.
    """
    specs: list[Spec] = []
    for entry in (part.strip() for text in texts for part in text.split(",")):
        if not entry:
            raise ArmError("--arms holds an empty name; write arms with commas between, as raw,rules,rules+lexicon")
        specs += _file(Path(entry)) if entry.endswith(".toml") and "=" not in entry else [_spec(entry)]
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArmError(f"two arms are called {twice[0]!r}; give one another name, as other={twice[0]}")
    if RAW not in names:
        specs.append(_spec(RAW))
    return tuple(sorted(specs, key=lambda spec: spec.name != RAW))


def _spec(entry: str) -> Spec:
    name, equals, given = entry.partition("=")
    if ":" in name:  # the sign belongs to a file's name
        name, equals, given = entry, "", ""
    steps = tuple(step.strip() for step in (given if equals else entry).split("+"))
    if not name.strip() or not all(steps):
        raise ArmError(f"{entry!r} is no arm; expected steps with a plus between, as rules+lexicon, or NAME=STEPS")
    name, steps = name.strip(), tuple(step for step in steps if step not in NOTHING)
    return Spec(name, steps, "rrf", 0, PLAIN) if name == RAW and not steps else Spec(name, steps)


def _file(path: Path) -> list[Spec]:
    file = TomlFile(path)
    rows = file.read(KEYS)["arm"]
    if not rows:
        raise file.fail("no arm in this file; expected [[arm]] tables with name and steps")
    return [
        Spec(
            row["name"],
            tuple(step for step in row["steps"] if step not in NOTHING),
            row["fusion"],
            row["reserve"],
            _weights(file, i, row),
        )
        for i, row in enumerate(rows)
    ]


def _weights(file: TomlFile, i: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """The weights that an arm sets; a retriever's may be by length, as in a profile."""
    weights = {key: value for key, value in row["weights"].items() if value not in (None, {})}
    if "retrievers" in weights:
        weights["retrievers"] = retrievers_of(file, weights["retrievers"], ("arm", i, "weights", "retrievers"))
    return weights


def is_run(spec: Spec) -> bool:
    """Whether the arm is another system's run."""
    return any(step.startswith(RUN) for step in spec.steps)


def is_recorded(spec: Spec) -> bool:
    """Whether the arm says what was recorded for certain questions, and nothing for others."""
    return any(step.startswith(REPLAY) for step in spec.steps)


def make(spec: Spec, bench: Bench, depth: int) -> Made:
    """An arm ready to run.

    Raises:
        ArmError: a step that is not known, or a run file among other steps.
        CollectionError: a recording or a run that cannot be read.
    """
    if is_run(spec):
        if len(spec.steps) > 1:
            raise ArmError(f"arm {spec.name!r}: a run stands alone; it is already the end of every step")
        return Made(Arm(spec.name, RunFile(Path(spec.steps[0].removeprefix(RUN)), bench.ids)), None)
    if spec.name == RAW and spec.steps:
        raise ArmError("the arm 'raw' rewrites nothing; it may be a run of another system, and no other step")
    retrievers = tuple(bench.engine()) if bench.engine else ()
    bench = replace(bench, parts=replace(bench.parts, retrievers=retrievers))
    steps: list[Rewriter] = []
    missing: list[str] = []
    for name in spec.steps:
        made = _steps(name, spec, bench)
        steps += made
        if not made:
            missing.append(name)
    hall = Dragoman(retrievers, steps, settings=_settings(spec, bench.profile))
    waits = bench.parts.llm is not None and any(name == OWN[1] or not _is_local(name) for name in spec.steps)
    arm = Arm(
        spec.name,
        lambda question: hall.asearch(question, depth),
        hall.arewrite,
        bench.concurrency if waits else 1,
        partial(_warm, retrievers, bench.parts.llm if waits else None),
        spec.reference,
        tuple(missing),
        spec.asked,
    )
    return Made(arm, hall)


async def _warm(retrievers: Sequence[Retriever], llm: LLM | None) -> None:
    """Load what an arm's first question would load; a retriever that fails will say so when it is asked."""
    if llm is not None:
        await warm(llm)
    for retriever in retrievers:
        try:
            given = retriever(Search("a first search"), 1, {})
            if inspect.isawaitable(given):
                await given
        except RetrievalError:
            continue


def _is_local(step: str) -> bool:
    return step in STEPS or step == OWN[0] or step.startswith(REPLAY)


def _steps(name: str, spec: Spec, bench: Bench) -> list[Rewriter]:
    """A step's rewriters; none where the profile lacks what it needs."""
    if name.startswith(REPLAY):
        return [Recorded(read_searches(Path(name.removeprefix(REPLAY))), bench.ids)]
    if name in OWN:
        with_model = name == OWN[1]
        parts = bench.parts if with_model else replace(bench.parts, llm=None, models=False)
        return rewriters(bench.profile, parts)
    alone = replace(bench.profile, steps=(_use(bench.profile, name),))
    try:
        check_steps(alone)
    except ProfileError as error:
        known = ", ".join([*NOTHING, *STEPS, *OWN, REPLAY + "FILE", RUN + "FILE"])
        raise ArmError(f"arm {spec.name!r}: no step {name!r}; known: {known}, and the prompts ({error})") from error
    return rewriters(alone, bench.parts)


def _use(profile: Profile, name: str) -> StepUse:
    """The step as the profile uses it, with its options; plain where it does not."""
    return next((use for use in flat(profile.steps) if use.use == name), StepUse(name))


def _settings(spec: Spec, profile: Profile) -> Settings:
    weights = profile.weights
    given = dict(spec.weights)
    for name in ("origins", "retrievers"):
        if name in given:
            given[name] = {**getattr(weights, name), **given[name]}
    return Settings(
        weights=replace(weights, **given),
        fuse=FUSIONS[spec.fusion],
        seconds=profile.budget,
        reserve=profile.reserve if spec.reserve is None else spec.reserve,
    )

"""The rows of the effect table: which collection, which sides, which arms, and what is wanted of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench.learned import OTHERS, from_jurisdictions
from dragoman.evaluate import ArmResult, Asked, Evaluation
from dragoman.profile import Profile, load_profile

Side: TypeAlias = tuple[str, Callable[[Asked], bool]]
LEARNED_ON = ("alberta", "california", "illinois", "massachusetts", "newjersey")  # the first five by name


@dataclass(frozen=True, slots=True)
class Floor:
    """What is wanted of an arm: all of these that are given.

    Attributes:
        mean: nDCG@10 at least.
        gain: of raw's nDCG@10 at least, as .1 for ten per cent more.
        above: the interval lies above this.
        harm: at most this share of questions loses more than .1.
    """

    mean: float | None = None
    gain: float | None = None
    above: float | None = None
    harm: float | None = None

    def say(self, arm: ArmResult, evaluation: Evaluation) -> str:
        """What is wanted, each with `met` or how much is missing."""
        raw, against = evaluation.raw.mean(), arm.comparison
        wanted: list[tuple[str, float]] = []  # what, and how much is missing
        if self.mean is not None:
            wanted.append((f"at least {self.mean:.2f}", self.mean - arm.mean()))
        if self.gain is not None:
            wanted.append((f"+{self.gain:.0%}: {raw * (1 + self.gain):.3f}", raw * (1 + self.gain) - arm.mean()))
        if self.above is not None:
            wanted.append((f"interval above {self.above:g}", self.above - against.low + 1e-9))
        if self.harm is not None:
            wanted.append((f"harm under {self.harm:.0%}", against.harm - self.harm + 1e-9))
        return ", ".join(f"{what} ({f'short by {missing:.3f}' if missing > 0 else 'met'})" for what, missing in wanted)


def everything(_: Asked) -> bool:
    """The only side of a collection that is not divided."""
    return True


def _learned(asked: Asked) -> bool:
    return asked.metadata["jurisdiction"] in LEARNED_ON


def _tested(asked: Asked) -> bool:
    return not _learned(asked)


def default(_data: Path, _kept: Path) -> Profile:
    """The profile that stands when none is named, as it is shipped."""
    return load_profile("default")


@dataclass(frozen=True, slots=True)
class Row:
    """One collection.

    Attributes:
        reader: what its questions are and where they are searched, as the README has it.
        profile: data folder, folder for what is learned -> the profile of its arms.
        without, with_replies: arms as `dragoman evaluate --arms` takes them; FILE is the recording.
        replies: the recording's name; empty for none.
        sides: name and which questions; `judged_side` is the one that what is wanted is held to.
    """

    name: str
    folder: str
    reader: str
    about: str
    profile: Callable[[Path, Path], Profile] = default
    without: str = "local"
    with_replies: str = "replay:FILE+local"
    replies: str = ""
    queries: str = ""
    filters: tuple[str, ...] = ()
    sides: tuple[Side, ...] = (("", everything),)
    judged_side: str = ""
    off_topic: str = ""
    floor: Floor | None = None
    floor_with: Floor | None = None


ROWS = (
    Row(
        "va_code",
        "va_code",
        "chatty questions over a vehicle code",
        "43 chatty questions over a real vehicle code; lexicon and memory are from exam questions of eight other "
        "jurisdictions and the searches recorded for them, none of Virginia's.",
        from_jurisdictions((*LEARNED_ON, *OTHERS)),
        replies="va_code",
        off_topic="va_code/queries.ood.jsonl",
        floor=Floor(mean=0.75),
        floor_with=Floor(mean=0.87),
    ),
    Row(
        "road_permit",
        "road_permit",
        "exam questions, other jurisdictions than learned on",
        "exam questions of nine jurisdictions, each searched inside its own; learned on five, tested on four. The "
        "learning side finds its own questions in the memory.",
        from_jurisdictions(LEARNED_ON),
        replies="road_permit",
        filters=("metadata.jurisdiction",),
        sides=(("learning side", _learned), ("test side", _tested)),
        judged_side="test side",
        floor=Floor(mean=0.86),
        floor_with=Floor(mean=0.92),
    ),
    Row(
        "nfcorpus",
        "nfcorpus",
        "lay health titles over abstracts",
        "lay health titles over medical abstracts, development split; the replies' author knew some titles' topics.",
        replies="nfcorpus",
        floor=Floor(gain=0.10, above=0.0),
        floor_with=Floor(gain=0.15, above=0.0),
    ),
    Row(
        "or_sharc",
        "or_sharc",
        "personal situations over government rules",
        "a personal situation and a question over government rules; the situation often distracts.",
        floor=Floor(above=-0.01),
    ),
    Row(
        "scifact",
        "scifact",
        "claims already in the corpus's words",
        "a guard: claims already in the corpus's words must not get worse.",
        floor=Floor(above=-0.005, harm=0.01),
    ),
)

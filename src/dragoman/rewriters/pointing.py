"""How a language points back at what was said before: its data file, read and compiled once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Pointing:
    """How a language points back; see `data/carry/*.toml`."""

    stands_for: frozenset[str]
    demonstrative: frozenset[str]
    whose: frozenset[str]
    ending: str
    person: frozenset[str]
    points: frozenset[str]
    before_subjects: frozenset[str]
    before_names: frozenset[str]
    definite: frozenset[str]
    empty: frozenset[str]
    opens: re.Pattern[str]
    introduces: re.Pattern[str]
    idle: re.Pattern[str]


@cache
def pointing(language: str) -> Pointing | None:
    """The language's file; None where there is none."""
    file = resources.files("dragoman") / "data" / "carry" / f"{language}.toml"
    if not file.is_file():
        return None
    data = tomllib.loads(file.read_text("utf-8"))
    sets = {
        key: frozenset(words) for key, words in data.items() if key not in ("opens", "introduces", "idle", "ending")
    }
    opens, introduces = (_begins(data[key]) for key in ("opens", "introduces"))
    return Pointing(
        **sets, ending=data["ending"], opens=opens, introduces=introduces, idle=re.compile("|".join(data["idle"]))
    )


def _begins(phrases: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{'|'.join(map(re.escape, phrases))})(?!\w)")

"""What a service is told: which profiles over which indexes, who may ask, and how much."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from dragoman.errors import DragomanError

VARIABLE = "DRAGOMAN_SERVE"  # carries the settings to worker processes
LEVEL = "DRAGOMAN_SERVE_LEVEL"  # and how much they log
KEYS = "DRAGOMAN_API_KEYS"  # keys, separated by spaces or commas
KEYS_FILE = "DRAGOMAN_API_KEYS_FILE"  # a file of keys, one a line; `#` begins a comment
LEAST_KEY = 16  # characters; a shorter one is guessed


class ServiceError(DragomanError):
    """The service cannot be started as it was told to."""


@dataclass(frozen=True, slots=True)
class Table:
    """One profile over one index.

    Attributes:
        profile: a shipped name, or the path of a TOML file.
        index: a directory made by `dragoman index`, or an engine's address; empty: nothing to search, for
            rewriting alone.
        model: the rewriting model instead of the profile's; empty: the profile's.
        embedder: who made an engine's vectors; empty: it is searched by words.
    """

    profile: str
    index: str = ""
    model: str = ""
    embedder: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one asker, and all of them together, may ask.

    Attributes:
        body: bytes of a request.
        body_seconds: from the request's head to the end of its body.
        concurrent: questions at once, in this process; one more is told to come again (503). At twenty
            milliseconds of a processor each, the last of 64 waits little more than a second.
        behind: seconds that this process may run behind; beyond it questions are answered without the model until
            it has caught up; 0: never without.
        per_minute: questions a minute for each key, or for each address where no keys are needed,
            in this process; 0: no limit.
        drain_seconds: that a service which is told to stop waits for what it accepted.
    """

    body: int = 262_144
    body_seconds: float = 10.0
    concurrent: int = 64
    behind: float = 0.05
    per_minute: int = 0
    drain_seconds: int = 30


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a service needs to start; JSON can carry all of it.

    Attributes:
        tables: the profiles, the first of which answers when a request names none.
        origins: of other pages that may ask from a browser; none: only the service's own page.
        feedback: a file that hits which helped are appended to; empty: feedback is not kept.
        proposals: a file that proposed entries and their reviews are appended to; empty: not kept.
        learned: a lexicon file written by `dragoman learn`, to be reviewed; empty: none.
        report: an HTML file made by `dragoman evaluate --report`; empty: none.
        questions: a JSONL file whose `text`s the page offers as examples, beside the profile's own.
        keys: who may ask; none: everybody who reaches the address.
        shared: a directory in which worker processes put their counters; empty: a single process.
    """

    tables: tuple[Table, ...]
    host: str = "127.0.0.1"
    port: int = 8080
    limits: Limits = field(default_factory=Limits)
    origins: tuple[str, ...] = ()
    feedback: str = ""
    proposals: str = ""
    learned: str = ""
    report: str = ""
    questions: str = ""
    keys: tuple[str, ...] = field(default=(), repr=False)
    shared: str = ""

    def __post_init__(self) -> None:
        if not self.tables:
            raise ServiceError("nothing to serve: give at least one --profile")
        if not self.keys and not is_loopback(self.host):
            raise ServiceError(
                f"{self.host} can be reached from other machines and no API key is set; set {KEYS} or {KEYS_FILE}, "
                "or serve on 127.0.0.1"
            )
        short = next((key for key in self.keys if len(key) < LEAST_KEY), None)
        if short is not None:
            raise ServiceError(f"an API key of {len(short)} characters is easily guessed; expected {LEAST_KEY} or more")

    def to_json(self) -> str:
        """As text; the keys are left out, workers read them where this process did."""
        return json.dumps({**asdict(self), "keys": []})

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """What `to_json` wrote, with the keys read again."""
        data = json.loads(text)
        plain = {f.name: data[f.name] for f in fields(cls) if f.name not in ("tables", "limits", "origins", "keys")}
        tables = tuple(Table(**table) for table in data["tables"])
        limits = Limits(**data["limits"])
        return cls(tables, limits=limits, origins=tuple(data["origins"]), keys=read_keys(), **plain)


def pair_up(profiles: Sequence[str], indexes: Sequence[str], model: str = "") -> tuple[Table, ...]:
    """Profiles with their indexes: one for all, or one for each in the same order, or none.

    Raises:
        ServiceError: their numbers do not fit.
    """
    if len(indexes) > 1 and len(indexes) != len(profiles):
        raise ServiceError(
            f"{len(profiles)} profiles and {len(indexes)} indexes; "
            "give one index for all, or one for each profile in the same order"
        )
    shared = indexes[0] if indexes else ""
    each = indexes if len(indexes) == len(profiles) else [shared] * len(profiles)
    return tuple(Table(profile, index, model) for profile, index in zip(profiles, each, strict=True))


def told_apart(names: Sequence[str]) -> None:
    """See that every profile has a name of its own.

    Raises:
        ServiceError: two have the same.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ServiceError(f"two profiles are called {twice!r}; give one another `name`")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_keys() -> tuple[str, ...]:
    """The API keys of the environment and of the file that it names; empty where there are none.

    Raises:
        ServiceError: the file cannot be read.
    """
    keys = os.environ.get(KEYS, "").replace(",", " ").split()
    file = os.environ.get(KEYS_FILE)
    if file:
        try:
            lines = Path(file).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as exc:
            raise ServiceError(f"{KEYS_FILE} names {file}, which cannot be read: {exc}") from exc
        keys += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return tuple(dict.fromkeys(keys))

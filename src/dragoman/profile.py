"""A profile: one TOML file that says who asks, of what, in which words, under which rules.

`load_profile` reads it, every mistake with its file and line; `Profile.build` makes a ready
`Dragoman` of it; `open_dragoman` does both over an index.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dragoman.errors import ProfileError
from dragoman.profile_file import (
    Expected,
    ProfileLimits,
    StepUse,
    examples_of,
    files_of,
    language_of,
    model_of,
    retrievers_of,
    rules_of,
    steps_of,
    store_of,
)
from dragoman.profile_keys import KEYS
from dragoman.rewriters.guard_rules import Rule
from dragoman.rewriters.language import ANY, LanguagePolicy
from dragoman.rewriters.promptfile import Setting
from dragoman.search import Weights
from dragoman.tomlfile import TomlFile

if TYPE_CHECKING:
    from dragoman.dragoman import Dragoman
    from dragoman.profile_steps import Parts
    from dragoman.rewriters.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class Profile:
    """What a profile file says, checked. `profile_keys.KEYS` says what each part means.

    Attributes:
        path: the file; what it names is relative to its folder.
        steps: the rewriters in order; those of an inner tuple run side by side.
        rewrite_model, answer_model: names of models; empty for none.
        memory, cache: files; None: switched off.
    """

    name: str
    path: Path
    about: str = ""
    setting: Setting = field(default_factory=Setting)
    limits: ProfileLimits = field(default_factory=ProfileLimits)
    rules: tuple[Rule, ...] = ()
    lexicons: tuple[Path, ...] = ()
    steps: tuple[StepUse | tuple[StepUse, ...], ...] = ()
    rewrite_model: str = ""
    answer_model: str = ""
    leash: float = 4.0
    hedge_after: float | None = None
    budget: float | None = 10.0
    weights: Weights = field(default_factory=Weights)
    reserve: int = 10
    memory: Path | None = None
    cache: Path | None = None
    masking: tuple[str, ...] = ()
    examples: tuple[Expected, ...] = ()

    @property
    def language(self) -> LanguagePolicy:
        """The question's language, the corpus's, and which of them searches are in."""
        return self.setting.language

    def lexicon(self) -> Lexicon | None:
        """The lexicon files as one, the first before the others; None when there are none.

        Raises:
            LexiconError: a line of one cannot be used.
        """
        from dragoman.rewriters.lexicon import Lexicon

        read = [Lexicon.read(path) for path in self.lexicons]
        return Lexicon.merge(*read) if len(read) > 1 else next(iter(read), None)

    def build(self, parts: Parts | None = None, **settings: Any) -> Dragoman:
        """A ready `Dragoman`.

        Args:
            parts: retrievers, vocabulary, models and only some of the steps; see `profile_steps.Parts`.
            settings: passed on to `Dragoman`, as `listeners`.

        Raises:
            ProfileError: a step's options cannot be used; LexiconError, PromptError alike.
        """
        from dragoman.profile_steps import build

        return build(self, parts, **settings)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """The profile in a file.

        Raises:
            ProfileError: with the file and the line.
        """
        file = TomlFile(path)
        values = file.read(KEYS)
        folder = file.path.parent
        limits = ProfileLimits(**values["limits"])
        language = language_of(file, values["language"])
        weights = {key: value for key, value in values["weights"].items() if key != "reserve"}
        retrievers = {**Weights().retrievers, **retrievers_of(file, weights.pop("retrievers"))}
        code = language.corpus if language.corpus != ANY else "en"
        profile = cls(
            name=values["name"] or file.path.stem,
            path=file.path,
            about=values["about"],
            setting=Setting(values["asker"], values["corpus"], tuple(values["register"]), language),
            limits=limits,
            rules=tuple(rules_of(file, values["guards"])),
            lexicons=tuple(files_of(file, folder, values["lexicon"])),
            steps=tuple(steps_of(file, values["steps"])),
            rewrite_model=model_of(file, values["models"], "rewrite"),
            answer_model=model_of(file, values["models"], "answer"),
            leash=float(values["leash"]["seconds"]),
            hedge_after=values["leash"]["hedge_after"],
            budget=float(values["leash"]["budget"]),
            weights=Weights(**weights, retrievers=retrievers, language=code),
            reserve=values["weights"]["reserve"],
            memory=store_of(file, "memory", values["memory"]),
            cache=store_of(file, "cache", values["cache"]),
            masking=tuple(values["masking"]["kinds"]),
            examples=tuple(examples_of(file, values["examples"])),
        )
        if profile.hedge_after is not None and profile.hedge_after >= profile.leash:
            raise file.fail("'leash.hedge_after' is below 'leash.seconds'; make it shorter", ("leash", "hedge_after"))
        from dragoman.profile_steps import check_steps

        check_steps(profile)
        return profile


def profile_names() -> list[str]:
    """The names of the profiles that are shipped."""
    folder = resources.files("dragoman") / "profiles"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def profile_path(name_or_path: str | Path) -> Path:
    """Where a shipped profile, or the file named, is.

    Raises:
        ProfileError: there is none.
    """
    if str(name_or_path) in profile_names():
        return Path(str(resources.files("dragoman") / "profiles" / f"{name_or_path}.toml"))
    path = Path(name_or_path)
    if not path.is_file():
        shipped = ", ".join(profile_names())
        raise ProfileError(f"no profile {str(name_or_path)!r}; shipped: {shipped}; or give the path of a TOML file")
    return path


def load_profile(name_or_path: str | Path) -> Profile:
    """A shipped profile by its name, or any by its path.

    Raises:
        ProfileError: there is none, or it cannot be used; with the file and the line.
    """
    return Profile.read(profile_path(name_or_path))


async def open_dragoman(
    profile: str | Path | Profile,
    *,
    index: Path | str | None = None,
    model: str | None = None,
    only: str | None = None,
    embed: str | None = None,
    **settings: Any,
) -> Dragoman:
    """A ready `Dragoman` of a profile over an index, its model warmed.

    Args:
        index: a directory made by `dragoman index`, or the address of an engine, as a text
            (`retrievers.engines`); None: nothing to search, for rewriting alone.
        model: the rewriting model, instead of the profile's.
        only: the name of the one step wanted, as `rephrase`.
        embed: the embedder that made an engine's vectors; without it the engine is searched by words.
        settings: passed on to `Dragoman`, as `listeners`; where `DRAGOMAN_TRACE` is set, a `Tracing` joins them.

    Raises:
        ProfileError, IndexStateError: one of them cannot be used.
        RetrievalError: the engine cannot be reached; MissingExtraError: its client is not installed.
    """
    from dragoman import tracing
    from dragoman.llm.open import Held, warm
    from dragoman.profile_steps import Parts, open_model
    from dragoman.retrievers.engines import is_address, open_engine, vocabulary_of

    settings["listeners"] = (*settings.get("listeners", ()), *tracing.from_environment())
    read = profile if isinstance(profile, Profile) else load_profile(profile)
    name = model or read.rewrite_model
    llm = open_model(name, read) if name else None
    parts = Parts(llm=llm, only=(only,) if only else ())
    if isinstance(index, str) and is_address(index):
        engine = open_engine(index, embed=embed)
        parts = replace(parts, retrievers=engine.retrievers, vocabulary=await vocabulary_of(engine))
    elif index is not None:
        from dragoman.retrievers import open_index

        opened = open_index(index)
        parts = replace(parts, retrievers=opened.retrievers, vocabulary=opened.vocabulary)
        settings["owns"] = (opened,)
    if llm is not None:
        settings["owns"] = (*settings.get("owns", ()), Held(llm))
        await warm(llm)
    return read.build(parts, **settings)

"""Every rewriter that a profile may name: one row each, with what makes it and its options.

A prompt needs no row: whatever name is not in the table is looked up among the prompt files.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.errors import LLMUnavailable, ProfileError, RewriteError
from dragoman.protocols import LLM, Prompt, Reply, Retriever, Rewriter, Writer
from dragoman.rewriters.guards import Guards
from dragoman.rewriters.language import ANY
from dragoman.rewriters.masking import Masking
from dragoman.rewriters.promptfile import Example, PromptFile, load_prompt
from dragoman.step_option import Option

if TYPE_CHECKING:
    from dragoman.profile import Profile
    from dragoman.profile_file import StepUse
    from dragoman.rewriters.cache import RewriteCache
    from dragoman.rewriters.memory import Memory
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
        shared: what several halls made with these parts hold together, as the files they keep; the first to be
            closed closes it for all. None: each hall its own.
    """

    retrievers: Sequence[Retriever] = ()
    vocabulary: Vocabulary | None = None
    llm: LLM | None = None
    writer: Writer | None = None
    only: tuple[str, ...] = ()
    models: bool = True
    shared: dict[Hashable, Any] | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """Where steps are made: the profile, the parts, and what several steps share."""

    profile: Profile
    parts: Parts
    guards: Guards
    masking: Masking
    llm: LLM | None
    shared: dict[Hashable, Any]

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made under this key before, else what `make` makes."""
        if key not in self.shared:
            self.shared[key] = make()
        return self.shared[key]


Make: TypeAlias = Callable[[Bench, Mapping[str, Any]], "Rewriter | None"]


@dataclass(frozen=True, slots=True)
class StepKind:
    """A rewriter that a profile may name.

    Attributes:
        about: what it does, for the reference.
        make: the rewriter; None where something that it needs is not there.
        options: name of an option -> what it may hold.
    """

    about: str
    make: Make
    options: Mapping[str, Option] = field(default_factory=dict)


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


def _rules(bench: Bench, options: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.noise import languages
    from dragoman.rewriters.rules import AUTO, Rules

    asked = bench.profile.language.question
    language = options.get("language", AUTO if asked == ANY else asked)
    return Rules(language) if language in (AUTO, *languages()) else None


def _carry(bench: Bench, _: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.carry import Carry
    from dragoman.rewriters.pointing import pointing

    language = bench.profile.language.question
    code = "en" if language == ANY else language
    if pointing(code) is None:
        return None
    return Carry(_weigher(bench.parts.vocabulary), code)


def _weigher(vocabulary: Vocabulary | None) -> Callable[[str], float] | None:
    """How much a word tells in the corpus; one that no document holds half as much as the rarest."""
    if vocabulary is None:
        return None
    return lambda word: vocabulary.idf(word) / (1 if vocabulary.holds(word) else 2)


def _lexicon(bench: Bench, _: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.lexicon import LexiconRewriter

    lexicon, vocabulary = bench.profile.lexicon(), bench.parts.vocabulary
    if lexicon is None:
        return None
    return LexiconRewriter(lexicon, idf=None if vocabulary is None else vocabulary.idf)


def _spelling(bench: Bench, _: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.retrievers.minilm import everyday_words
    from dragoman.rewriters.spelling import Spelling

    vocabulary = bench.parts.vocabulary
    if vocabulary is None:
        return None
    return Spelling(vocabulary, everyday_words() if vocabulary.language == "en" else ())


def _gate(bench: Bench, options: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.gate import Gate

    found = (getattr(retriever, "standing", None) for retriever in bench.parts.retrievers)
    stand = next((each for each in found if each is not None), None)
    if stand is None and bench.parts.vocabulary is None:
        return None
    language = bench.profile.language.question
    off_topic = bool(options.get("off_topic", True))
    return Gate(stand, bench.parts.vocabulary, "en" if language == ANY else language, off_topic=off_topic)


def _feedback(bench: Bench, options: Mapping[str, Any]) -> Rewriter:
    from dragoman.rewriters.feedback import Feedback, FeedbackSettings

    language = bench.profile.language.corpus
    return Feedback(FeedbackSettings(**options), language="en" if language == ANY else language)


def _memory(bench: Bench, options: Mapping[str, Any]) -> Memory | None:
    from dragoman.rewriters.memory import Memory, OfRetriever
    from dragoman.rewriters.memory_store import MemoryStore

    profile = bench.profile
    found = (each for each in bench.parts.retrievers if hasattr(each, "vector") and hasattr(each, "model"))
    embedding: Any = next(found, None)
    if profile.memory is None or embedding is None:
        return None
    language, pooled, path = profile.language.question, bool(options.get("pooled", True)), profile.memory

    def made() -> Memory:
        try:
            store = MemoryStore(path, profile.name)
        except RewriteError as exc:
            raise ProfileError(f"'memory.path': {exc}", profile.path) from exc
        code = "en" if language == ANY else language
        return Memory(store, OfRetriever(embedding), bench.masking or None, language=code, pooled=pooled)

    memory: Memory = bench.once(("memory", pooled), made)
    return memory


def _remember(bench: Bench, options: Mapping[str, Any]) -> Rewriter | None:
    from dragoman.rewriters.memory import Remember

    memory = bench.shared.get(("memory", False)) or _memory(bench, {})
    return Remember(memory, options.get("origins", ("rephrase",))) if memory is not None else None


def _guards(bench: Bench, _: Mapping[str, Any]) -> Rewriter:
    return bench.guards


def prompted(use: StepUse) -> Make:
    """What makes the step of a prompt file."""

    def make(bench: Bench, options: Mapping[str, Any]) -> Rewriter | None:
        from dragoman.rewriters.prompted import Options, Prompted

        if bench.llm is None:
            return None
        prompt = prompt_of(bench.profile, use)
        profile = bench.profile
        shown = [
            Example(example.question, example.reply or {}, example.history or ())
            for example in profile.examples
            if example.show and set(example.reply or ()) == set(prompt.schema["properties"])
        ]
        made = Options(options.get("rules"), tuple(shown), options.get("weight"), bench.masking or None)
        step = Prompted(prompt, bench.llm, profile.setting, bench.guards, made)
        path = profile.cache
        cache = None if path is None else bench.once("cache", lambda: _cache(profile, path))
        if cache is None:
            return step
        from dragoman.rewriters.cache import Cached

        return Cached(step, cache, step.fingerprint)

    return make


def _cache(profile: Profile, path: Path) -> RewriteCache | None:
    from dragoman.rewriters.cache import RewriteCache

    try:
        return RewriteCache.usable(path)
    except RewriteError as exc:
        raise ProfileError(f"'cache.path': {exc}", profile.path) from exc


def prompt_of(profile: Profile, use: StepUse) -> PromptFile:
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


_WEIGHT = Option((int, float), least=0.001)
_COUNT = Option((int,), least=1)
PROMPT_OPTIONS: Mapping[str, Option] = {
    "weight": _WEIGHT,
    "rules": Option((str,)),
    "count": _COUNT,
    "words": _COUNT,
    "characters": _COUNT,
}
STEPS: Mapping[str, StepKind] = {
    "rules": StepKind("noise taken out of the question, without a model", _rules, {"language": Option((str,))}),
    "carry": StepKind(
        "a follow-up made stand-alone by the telling words of the turns before it, without a model", _carry
    ),
    "spelling": StepKind("words that the corpus does not hold put as it spells them", _spelling),
    "gate": StepKind(
        "whether to rewrite at all: greetings and off-topic questions end here, identifiers and questions in the "
        "corpus's own words are settled",
        _gate,
        {"off_topic": Option((bool,))},
    ),
    "memory": StepKind(
        "what was accepted for the nearest past questions, as a search; off unless the profile names a memory",
        _memory,
        {"pooled": Option((bool,))},
    ),
    "remember": StepKind(
        "the model's searches kept for questions like this one; off unless the profile names a memory",
        _remember,
        {"origins": Option((list,))},
    ),
    "lexicon": StepKind("the lexicon enforced on the question and every search", _lexicon),
    "feedback": StepKind(
        "what the first hits of a short question have in common, searched once more",
        _feedback,
        {
            "longest": Option((int,), least=3),  # the telling words of a short question, which are always fed back
            "hits": Option((int,), least=2),
            "words": _COUNT,
            "weight": _WEIGHT,
            "agreement": Option((int, float)),
        },
    ),
    "guards": StepKind("the guards and the profile's rules held over every search, whoever wrote it", _guards),
}

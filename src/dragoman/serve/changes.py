"""Changes of a profile for one request: steps left out, other weights, lexicon entries and guards.

A change never touches the profile: it makes another one beside it. Under changes the model's
replies are those that it gave to the unchanged question a moment ago, so that what moves was moved
by the change.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, Self, TypeAlias

from dragoman.errors import LexiconError, ProfileError
from dragoman.llm.replay import key_of
from dragoman.profile import Profile
from dragoman.profile_file import StepUse
from dragoman.profile_steps import flat
from dragoman.protocols import LLM, Prompt, Reply
from dragoman.rewriters.entries import Entry, keys, parse
from dragoman.rewriters.guard_rules import BadRule, Rule, unsettled
from dragoman.rewriters.lexicon import Lexicon
from dragoman.search import ByLength, Weights

REPLIES_KEPT = 512
PROPOSED = "proposed"  # what records call the file of a proposed lexicon line
Factors: TypeAlias = tuple[tuple[str, float], ...]
Steps: TypeAlias = tuple[StepUse | tuple[StepUse, ...], ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be other than the profile says.

    Attributes:
        steps: only these; None: all of them.
        asked, query: weights of the question as asked and of the rewritten one; None: the profile's.
        origins: factors that replace the profile's of the same name.
        retrievers: likewise; where the profile weighs by a search's length, a factor on that weight.
        lexicon: lines that stand before the profile's entries.
        without: left sides of entries to leave out.
        guards: rules; one with the id of the profile's takes its place.
        without_guards: ids of rules to leave out.
        told: "write": the model's replies are kept; "read": those kept are given again.
    """

    steps: tuple[str, ...] | None = None
    asked: float | None = None
    query: float | None = None
    origins: Factors = ()
    retrievers: Factors = ()
    lexicon: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    guards: tuple[Rule, ...] = ()
    without_guards: tuple[str, ...] = ()
    told: Literal["", "write", "read"] = ""

    def __bool__(self) -> bool:
        return self != _NONE

    def apply(self, profile: Profile, lexicon: Lexicon | None) -> Profile:
        """The profile, whose lexicon is at hand, with the changes.

        Raises:
            ProfileError: a step that it has not, a line or a rule that cannot be used.
        """
        weights = replace(
            profile.weights,
            asked=profile.weights.asked if self.asked is None else self.asked,
            query=profile.weights.query if self.query is None else self.query,
            origins={**profile.weights.origins, **dict(self.origins)},
            retrievers=self._retrievers(profile.weights),
        )
        changed = replace(profile, weights=weights, rules=self._rules(profile.rules), steps=self._steps(profile.steps))
        return Edited.of(changed, self._entries(lexicon))

    def _retrievers(self, weights: Weights) -> dict[str, float | ByLength]:
        changed = dict(weights.retrievers)
        for name, factor in self.retrievers:
            by = weights.of_retriever(name)
            changed[name] = factor
            if isinstance(by, ByLength):
                changed[name] = replace(
                    by, per_word=factor * by.per_word, least=factor * by.least, most=factor * by.most
                )
        return changed

    def _steps(self, steps: Steps) -> Steps:
        if self.steps is None:
            return steps
        known = [use.use for use in flat(steps)]
        unknown = next((name for name in self.steps if name not in known), None)
        if unknown is not None:
            raise ProfileError(f"no step {unknown!r} in this profile; its steps are {', '.join(known) or 'none'}")
        kept: list[StepUse | tuple[StepUse, ...]] = []
        for step in steps:
            wanted = tuple(use for use in flat([step]) if use.use in self.steps)
            kept += [wanted] if len(wanted) > 1 else wanted
        return tuple(kept)

    def _rules(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        put = {rule.id: rule for rule in self.guards}
        kept = [put.pop(rule.id, rule) for rule in rules if rule.id not in self.without_guards]
        changed = (*kept, *put.values())
        if self.guards:
            for rule, wrong in unsettled(changed):
                raise ProfileError(f"guard {rule.id!r} never settles: {wrong}")
        return changed

    def _entries(self, lexicon: Lexicon | None) -> Lexicon | None:
        if not (self.lexicon or self.without):
            return lexicon
        out = {tuple(keys(left)) for left in self.without}
        kept = _without(lexicon.entries if lexicon else (), out)
        proposed = Lexicon(parse("\n".join(self.lexicon), PROPOSED))
        return Lexicon.merge(proposed, Lexicon(kept))


def rule_of(identity: str, pattern: str, replacement: str, reason: str) -> Rule:
    """A guard's rule.

    Raises:
        ProfileError: it cannot be used; the message says why.
    """
    try:
        return Rule(identity, pattern, replacement, reason)
    except BadRule as exc:
        raise ProfileError(str(exc)) from exc


def entry_of(line: str) -> Entry:
    """A single lexicon line.

    Raises:
        LexiconError: it cannot be read, or is not one entry.
    """
    found = list(parse(line, PROPOSED))
    if len(found) != 1:
        raise LexiconError(f"{len(found)} entries in one line; write one, as in 'phone => handheld telephone'")
    Lexicon(found)
    return found[0]


def _without(entries: Iterable[Entry], out: set[tuple[str, ...]]) -> Iterable[Entry]:
    """The entries but for these left sides; of equivalents the others still come for one another."""
    for entry in entries:
        left = tuple(each for each in entry.left if tuple(keys(each)) not in out)
        if len(left) == len(entry.left):
            yield entry
        elif left and entry.explicit:
            yield replace(entry, left=left)
        elif len(left) > 1:
            yield replace(entry, left=left, right=tuple(t for t in entry.right if tuple(keys(t.text)) not in out))


@dataclass(frozen=True, slots=True)
class Edited(Profile):
    """A profile whose lexicon is at hand instead of in its files."""

    at_hand: Lexicon | None = None

    def lexicon(self) -> Lexicon | None:
        """The lexicon at hand."""
        return self.at_hand

    @classmethod
    def of(cls, profile: Profile, lexicon: Lexicon | None) -> Self:
        """The profile with this lexicon."""
        held = {each.name: getattr(profile, each.name) for each in fields(Profile)}
        return cls(**held, at_hand=lexicon)


class Replies:
    """The last replies of a model, for those who ask the same again under changes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Reply] = OrderedDict()

    def get(self, key: str) -> Reply | None:
        """What was replied lately."""
        return self._kept.get(key)

    def put(self, key: str, reply: Reply) -> None:
        """Keep it; the oldest goes."""
        self._kept[key] = reply
        self._kept.move_to_end(key)
        while len(self._kept) > REPLIES_KEPT:
            self._kept.popitem(last=False)


class Told:
    """A model whose replies are kept, and given again where `read`."""

    def __init__(self, llm: LLM, replies: Replies, *, read: bool) -> None:
        self.llm = llm
        self._replies, self._read = replies, read

    @property
    def name(self) -> str:
        """The model's."""
        return self.llm.name

    async def __call__(self, prompt: Prompt) -> Reply:
        """The model's value, or what it was a moment ago.

        Raises:
            LLMError: what the model raised; it is not kept.
        """
        key = key_of(self.name, prompt)
        known = self._replies.get(key) if self._read else None
        if known is not None:
            return known
        reply = await self.llm(prompt)
        self._replies.put(key, reply)
        return reply


_NONE = Changes()

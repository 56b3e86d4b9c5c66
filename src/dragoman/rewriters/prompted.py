"""A model says it again: any prompt file, one model call, its reply held by the guards.

An empty value in a reply that agrees with itself is an answer: off-topic, or unchanged. Whatever
cannot be read, contradicts itself or is turned down by the guards raises.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.errors import LLMRefused, LLMUnreadable, RewriteError, RewriteRejected
from dragoman.llm.schema import misfit
from dragoman.protocols import LLM, Prompt
from dragoman.rewriters.guard_checks import Asked
from dragoman.rewriters.guards import Guards, Kept
from dragoman.rewriters.promptfile import LISTS, Example, PromptFile, Setting, given, load_prompt
from dragoman.telemetry import called
from dragoman.text import words
from dragoman.types import Question, Rewriting, Search, searches_of

Rules: TypeAlias = str | Callable[[Question], str]
Masking: TypeAlias = Callable[[str], str]
_MOST_SHOWN = 2000  # characters of a reply kept in an error


@dataclass(frozen=True, slots=True)
class Options:
    """What a step may change of its prompt.

    Attributes:
        rules: instead of the file's rules; a function of the question where they depend on it.
        examples: shown to the model after the file's own.
        weight: of the searches, or of the added terms; None for the file's.
        masking: what a model must not see, taken out of question and history before it does.
    """

    rules: Rules | None = None
    examples: tuple[Example, ...] = ()
    weight: float | None = None
    masking: Masking | None = None


class Prompted:
    """One model call by a prompt file.

    Args:
        prompt: the name of a shipped prompt, the path of a file, or one already read.
        llm: the model.
        setting: what fills the placeholders.
        guards: what holds the reply; the prompt's own limits go before theirs.
        options: what this step changes of its prompt.

    Raises:
        PromptError: the prompt cannot be used.
    """

    def __init__(
        self,
        prompt: str | Path | PromptFile,
        llm: LLM,
        setting: Setting | None = None,
        guards: Guards | None = None,
        options: Options | None = None,
    ) -> None:
        self.prompt = prompt if isinstance(prompt, PromptFile) else load_prompt(prompt)
        self.name = self.prompt.name
        self.llm = llm
        self.setting = setting or Setting()
        self.guards = guards or Guards()
        self.options = options or Options()
        self._weight = self.prompt.weight if self.options.weight is None else self.options.weight
        self._schema = self.prompt.schema_for(self.setting)
        rules = self.options.rules
        self._rules = None if callable(rules) else self._rules_of(rules)

    def _rules_of(self, rules: str | None) -> str:
        return self.prompt.rules_for(self.setting, rules, self.options.examples)

    async def __call__(self, rewriting: Rewriting) -> Rewriting:
        """The rewriting with what the model gave.

        Raises:
            LLMError: the model did not answer, declined, or its reply is not what was asked for.
            RewriteRejected: the guards turned down all of it.
        """
        history = rewriting.question.history
        if self.prompt.history == "needed" and not history:
            return rewriting.note("not a conversation" if history is None else "the first turn")
        prompt, asked = self.asks(rewriting)
        reply = await called(self.llm, prompt)
        try:
            gate, values = self._read(reply.value)
            noted = rewriting.note(reply.usage)
            return self._take(noted, values, asked) if gate else self._gated(noted, values, asked)
        except RewriteError as error:
            error.notes = (*error.notes, reply.usage)
            raise

    @property
    def fingerprint(self) -> str:
        """What its answers depend on besides the rewriting: model, rules, schema, limits, guards, masking."""
        rules = self.options.rules
        said = getattr(rules, "__qualname__", "") if callable(rules) else self._rules
        house, mask = self.guards.house, self.options.masking
        guarded = (house.rules, house.language, house.figures)
        masked = getattr(mask, "__qualname__", "") or repr(mask)
        held = (self.prompt.limits, self.prompt.on, *guarded, masked, self._weight)
        parts = (self.llm.name, said, json.dumps(self._schema), *held)
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def asks(self, rewriting: Rewriting) -> tuple[Prompt, Asked]:
        """What the model is given for this question, and what its reply is held against."""
        limits = self.prompt.limits
        hide = self.options.masking or (lambda text: text)
        question = hide(rewriting.query)[: limits.question]
        turns: list[tuple[str, str]] = []
        if self.prompt.history != "none" and limits.turns:
            before = (rewriting.question.history or ())[-limits.turns :]
            turns = _latest([(message.role, hide(message.text)) for message in before], limits.history)
        rules = self.options.rules
        text = self._rules_of(rules(rewriting.question)) if callable(rules) else self._rules or ""
        written = given(question, turns)
        prompt = Prompt(self.name, text, written, self._schema, limits.max_tokens, rewriting.question.text)
        return prompt, Asked(question, "\n".join(text for _, text in turns))

    def _read(self, value: Any) -> tuple[bool, list[str]]:
        """The gate and the texts of a reply that fits the schema."""
        prompt = self.prompt
        wrong = misfit(value, self.prompt.schema)  # a model that is a plain function may not have looked
        if wrong:
            raise self._unreadable(wrong, value)
        found = value[prompt.value]
        texts: list[str] = found if prompt.gives in LISTS else [found]
        return value[prompt.gate], [text for text in texts if text.strip()]

    def _unreadable(self, what: str, value: Any) -> LLMUnreadable:
        return LLMUnreadable(f"{self.name}: the reply is not what was asked for: {what}", repr(value)[:_MOST_SHOWN])

    def _gated(self, rewriting: Rewriting, values: Sequence[str], asked: Asked) -> Rewriting:
        """What false in the gate means, unless a value contradicts it."""
        same = {tuple(words(text)) for text in values} <= {tuple(words(asked.text))}
        if self.prompt.when_false == "off_topic":
            if values:
                raise self._unreadable(f"{self.prompt.gate!r} is false, and yet there is a value", values)
            return replace(rewriting, off_topic=True)
        if not same:  # a copy of the question under "unchanged" is what small models write for nothing
            raise self._unreadable(f"{self.prompt.gate!r} is false, and yet there is a value", values)
        return rewriting.note(f"{self.prompt.gate} is false")

    def _take(self, rewriting: Rewriting, values: list[str], asked: Asked) -> Rewriting:
        if not values:
            raise self._unreadable(f"{self.prompt.gate!r} is true, and yet there is no value", values)
        kept = self._held(values, asked)
        if not kept.texts:
            self._turned_down(kept)
        return self._set(rewriting.note(*kept.hits), kept.texts)

    def _held(self, values: list[str], asked: Asked) -> Kept:
        characters, count = self.prompt.limits.characters, self.prompt.limits.count
        if self.prompt.gives == "rewritten":
            return self.guards.rewritten(values[0], asked, max(characters, len(asked.text)))
        if self.prompt.gives == "passage":
            return self.guards.passage(values[0], asked, characters)
        return self.guards.searches(values, asked, count=count, characters=characters)

    def _turned_down(self, kept: Kept) -> None:
        reasons = "; ".join(dict.fromkeys(kept.turned_down))
        error: RewriteError = RewriteRejected(
            f"{self.name}: the guards turned down all {len(kept.turned_down)}: {reasons}"
        )
        if kept.turned_down and all("a refusal" in reason for reason in kept.turned_down):
            error = LLMRefused(f"{self.name}: the model declined in words")
        error.notes = tuple(kept.hits)
        raise error

    def _set(self, rewriting: Rewriting, texts: Sequence[str]) -> Rewriting:
        """Each kind of value where it belongs."""
        weight = self._weight
        if self.prompt.gives == "rewritten":
            return rewriting.rewrite(texts[0])
        if self.prompt.gives == "expanded":
            return _expanded(rewriting, texts, weight)
        if self.prompt.gives == "passage":
            return rewriting.add([Search(texts[0], self.name, weight, on=self.prompt.on)])
        found = [replace(search, on=self.prompt.on) for search in searches_of(texts, self.name, weight)]
        return rewriting.add(found)


def _latest(turns: Sequence[tuple[str, str]], characters: int) -> list[tuple[str, str]]:
    """The latest turns that together have at most so many characters; the oldest of them cut."""
    kept: list[tuple[str, str]] = []
    for role, text in reversed(turns):
        if characters <= 0:
            break
        kept.insert(0, (role, text[:characters]))
        characters -= len(text)
    return kept


def _expanded(rewriting: Rewriting, terms: Sequence[str], weight: float) -> Rewriting:
    """The query with the terms added that it does not hold, each of their words with less weight."""
    said = words(rewriting.query)
    known = set(said)
    new = [term for term in terms if not set(words(term)) <= known]
    if not new:
        return rewriting.note("nothing to add")
    weighted = dict.fromkeys(said, 1.0)
    for word in words(" ".join(new)):
        weighted.setdefault(word, weight)
    return rewriting.expand(f"{rewriting.query} {' '.join(new)}", tuple(weighted.items()))

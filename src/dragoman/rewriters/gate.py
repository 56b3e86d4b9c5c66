"""Whether a question needs rewriting at all, decided without a model.

Four answers, in this order: only a greeting, an identifier (a section number, an error code), off-topic,
already in the corpus's words. The first and third end the rewriting, the others settle it: only steps
with `gated = False` still run. What is usual is measured on the corpus itself (`retrievers/standing.py`);
how far below it a question may lie is a slack, the same for every corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from dragoman.errors import RetrievalError
from dragoman.retrievers.standing import Standing
from dragoman.rewriters.rules import Rules
from dragoman.text import identifiers, stop_words, terms
from dragoman.types import Rewriting
from dragoman.vocabulary import Vocabulary

Stand: TypeAlias = Callable[[str], Standing | None]

GREETING = "only a greeting"
IDENTIFIER = "an identifier"
AT_HOME = "already in the corpus's words"
# A bare keyword ("DDT", "Spain") says too little for its nearness to be trusted alike.
KEYWORD_SLACK = 0.5
_KEYWORD = 2  # words, with nothing but telling words among them
_BESIDE_IDENTIFIER = 2  # telling words that leave a question about an identifier what it is
_CODE_DIGITS = 3  # "b12" and "p53" are words of their field, "46.2-870" and "E1234" are places to look up
_AT_HOME_LEAST = 3  # telling words: fewer are too broad to be called settled


class Gate:
    """The decision as a rewriter.

    Args:
        stand: a text -> its standing towards the corpus, as `EmbeddedIndex.standing` gives it; without
            one, only greetings and identifiers are told.
        vocabulary: the corpus's words; without one, nothing is held to be in its words.
        language: the askers', for stop words and greetings.
        off_topic: False: questions are settled but never turned away.
    """

    def __init__(
        self,
        stand: Stand | None = None,
        vocabulary: Vocabulary | None = None,
        language: str = "en",
        *,
        off_topic: bool = True,
        name: str = "gate",
    ) -> None:
        self.name = name
        self._stand = stand
        self._vocabulary = vocabulary
        self._language = language
        self._stop = stop_words(language)
        self._off_topic = off_topic
        try:
            self._greeting: Callable[[str], bool] = Rules(language).only_noise
        except ValueError:  # no noise file for the language: no greeting is known
            self._greeting = _never

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        """The rewriting, ended, settled or unchanged, with the reason noted."""
        asked, query = rewriting.question.text, rewriting.query
        if self._off_topic and self._greeting(asked):
            return _end(rewriting, GREETING)
        words = terms(query)
        telling = [word for word in words if word not in self._stop]
        if (found := codes(query)) and self._is_about(found, telling):
            return _settle(rewriting, f"{IDENTIFIER}: {', '.join(found)}")
        follows = bool(rewriting.question.history) and query in (asked, rewriting.cleaned)
        try:
            standing = self._stand(query) if self._stand else None
            if self._off_topic and not follows and (why := self._elsewhere(asked, query, standing, words)):
                return _end(rewriting, why)
        except RetrievalError as error:  # the search itself will say so; the gate holds nobody up
            return rewriting.note(f"no gate: {error}")
        if standing and standing.at_home and self._holds_all(telling):
            return _settle(rewriting, f"{AT_HOME} ({standing.near:.2f}, usual {standing.levels.home:.2f})")
        return rewriting

    def _is_about(self, found: list[str], telling: list[str]) -> bool:
        pieces = {piece for code in found for piece in terms(code)}
        return len([word for word in telling if word not in pieces]) <= _BESIDE_IDENTIFIER

    def _elsewhere(self, asked: str, query: str, standing: Standing | None, words: list[str]) -> str:
        """Why the corpus is not about it; empty where it may be. Both as asked and as cleaned it must be so."""
        if standing is None or self._stand is None:
            return ""  # an asker's words that the corpus lacks are why rewriting exists, no sign of another topic
        bare = len(words) <= _KEYWORD and not self._stop.intersection(words)
        slack = KEYWORD_SLACK if bare else 0.0
        if not standing.off_topic(slack):
            return ""
        first = standing if asked == query else self._stand(asked)
        if first is None or not first.off_topic(slack):
            return ""
        near, away = standing.near, standing.elsewhere
        return f"off-topic: {near:.2f} near the corpus, {away:.2f} near what people ask about elsewhere"

    def _holds_all(self, telling: list[str]) -> bool:
        vocabulary = self._vocabulary
        return (
            vocabulary is not None
            and len(set(telling)) >= _AT_HOME_LEAST
            and all(vocabulary.holds(word) for word in telling)
        )


def codes(text: str) -> list[str]:
    """The identifiers of `text` that name one place: section numbers, error codes."""
    return [code for code in identifiers(text) if sum(map(str.isdigit, code)) >= _CODE_DIGITS]


def _never(_: str) -> bool:
    return False


def _end(rewriting: Rewriting, why: str) -> Rewriting:
    return replace(rewriting, off_topic=True).note(why)


def _settle(rewriting: Rewriting, why: str) -> Rewriting:
    return replace(rewriting, settled=why).note(why)

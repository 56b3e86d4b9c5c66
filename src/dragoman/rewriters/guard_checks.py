"""The checks behind the prompt, one function a guard, in the order in which they stand.

Each takes a text and what it is held against, and gives the text, repaired where it can be, with
the reason; or turns it down.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from dragoman.rewriters import replies
from dragoman.rewriters.guard_rules import Rule, Unsettled, settle
from dragoman.rewriters.language import LanguagePolicy, foreign_language, foreign_words
from dragoman.text import fold, stop_words, terms

# A text this many times the limit is an answer, not a search that runs on a little.
ANSWER_TIMES = 3


class Frequencies(Protocol):
    """What the corpus guard asks of a vocabulary."""

    def document_frequency(self, word: str, /) -> int:
        """In how many documents `word` stands."""
        ...

    def suggest(self, word: str, /) -> Sequence[str]:
        """Words of the corpus that `word` may be a misspelling of, best first."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reply is held against: the question as the model saw it, and what was said before it."""

    text: str
    history: str = ""

    @property
    def said(self) -> str:
        """Everything the asker gave."""
        return f"{self.history}\n{self.text}" if self.history else self.text


@dataclass(frozen=True, slots=True)
class House:
    """What a profile allows: its rules, its languages, its corpus's words, and whose figures.

    Attributes:
        figures: "asked": a number that the asker did not give is taken out; "any": numbers stay.
    """

    rules: tuple[Rule, ...] = ()
    language: LanguagePolicy = field(default_factory=LanguagePolicy)
    vocabulary: Frequencies | None = None
    figures: Literal["asked", "any"] = "asked"


@dataclass(frozen=True, slots=True)
class Case:
    """One search under the guards: what was asked, its limit, its tokens and words and numbers."""

    asked: Asked
    characters: int
    tokens: frozenset[str]
    words: frozenset[str]
    figures: frozenset[str]

    @classmethod
    def of(cls, asked: Asked, characters: int, language: str) -> Case:
        """A case from what was asked."""
        said = asked.said
        figures = frozenset(replies.figures(said, language))
        return cls(asked, characters, replies.special(said), spoken(said), figures)


class No(Exception):  # control flow between the checks and the guards
    """A guard turns a search down."""


Check: TypeAlias = Callable[[House, str, Case], tuple[str, str]]


ARTICLE = {
    "refusal": "a refusal",
    "answer": "an answer",
    "instruction": "an instruction",
    "closing": "a closing remark",
    "": "empty",
}


def spoken(text: str) -> frozenset[str]:
    """The words of a text, as they stand between spaces and as an index cuts them."""
    return frozenset(fold(text).split()) | frozenset(terms(text))


def novel(said: str, asked: Asked, language: str) -> str:
    """Why `said` is not about what was asked: none of its telling words kept, or mostly new ones."""
    stop = stop_words(language)
    known, found = set(terms(asked.said)), [word for word in terms(said) if word not in stop]
    telling = {word for word in terms(asked.text) if word not in stop}
    new = [word for word in found if not any(_akin(word, other) for other in known)]
    if telling and found and len(new) == len(found):
        return "it keeps none of the question's words"
    if len(new) > max(3, len(found) // 2):
        return f"{len(new)} of its {len(found)} telling words are new"
    return ""


def _akin(word: str, other: str) -> bool:
    """Whether two words may be one, inflected or misspelt."""
    return word == other or (min(len(word), len(other)) >= 4 and word[:4] == other[:4])


def _shape(_: House, text: str, case: Case) -> tuple[str, str]:
    if len(text) > replies.MOST_CHARACTERS:
        raise No("too long for a search")
    if text.lstrip().startswith(("{", "[{", '["')):
        raise No("JSON, not a search")
    talk = replies.talk(text)
    if talk and replies.talk(case.asked.text) != talk:
        raise No(f"{ARTICLE[talk]}, not a search")
    after = replies.plain(" ".join(replies.lines(text)), case.tokens)
    if not any(letter.isalnum() for letter in after):
        raise No("no words")
    return after, "marks, operators and spaces taken out"


def _tidy(_: House, text: str, __: Case) -> tuple[str, str]:
    return " ".join(text.split()), "spaces taken out"


def _length(_: House, text: str, case: Case) -> tuple[str, str]:
    if len(text) > ANSWER_TIMES * case.characters:
        raise No(f"{len(text)} characters, more than {ANSWER_TIMES} times {case.characters}: an answer, not a search")
    after = replies.cut(text, case.characters)
    if not after:
        raise No(f"one word of more than {case.characters} characters")
    return after, f"cut at {case.characters} characters"


def _language(house: House, text: str, case: Case) -> tuple[str, str]:
    allowed = house.language.allowed
    strange = foreign_words(text, allowed, case.words)
    letters = sum(letter.isalpha() for letter in text)
    if strange and 2 * sum(map(len, strange)) >= letters:
        raise No(f"in a script that {' and '.join(allowed)} has not")
    if strange:
        text = _without_words(text, strange)
    if not text:
        raise No("no words")
    other = foreign_language(text, allowed)
    if other and not foreign_language(case.asked.text, allowed) == other:
        raise No(f"in another language ({other}), expected {' or '.join(allowed)}")
    if other and house.language.translates:
        raise No(f"in the question's language ({other}), expected {' or '.join(allowed)}")
    return text, "words in another script taken out"


def _without_words(text: str, words: Collection[str]) -> str:
    return " ".join(token for token in text.split() if not any(word in token for word in words))


def _content(house: House, text: str, case: Case) -> tuple[str, str]:
    if house.figures == "any":
        return text, ""
    after, out = replies.without_figures(text, case.figures)
    if not any(letter.isalpha() for letter in after):
        raise No(f"nothing but a figure that nobody asked with ({', '.join(out)})" if out else "no words")
    return after, f"a figure that nobody asked with: {', '.join(out)}"


def _corpus(house: House, text: str, _: Case) -> tuple[str, str]:
    vocabulary, language = house.vocabulary, house.language
    if vocabulary is None or (language.question != language.corpus and language.searches != "corpus"):
        return text, ""
    stop = stop_words(language.corpus)
    found = [word for word in terms(text) if word not in stop]
    if any(vocabulary.document_frequency(word) for word in found):
        return text, ""
    repaired = [next(iter(vocabulary.suggest(word)), "") for word in found]
    if not any(repaired):
        raise No("the corpus holds none of its words")
    return " ".join(put or word for put, word in zip(repaired, found, strict=True)), "spelt as the corpus spells it"


def _own(house: House, text: str, case: Case) -> tuple[str, str]:
    """The profile's rules; a text that they make too long loses words from its end until all of them hold."""
    if not house.rules:
        return text, ""
    try:
        tokens = settle(text, house.rules)[0].split()
        while tokens:
            after = " ".join(tokens)
            # A cut that undoes a rule's work ("text message" without its second word) is cut on.
            if len(after) <= case.characters and settle(after, house.rules)[0] == after:
                return after, ""
            tokens.pop()
    except Unsettled as exc:
        raise No(str(exc)) from exc
    raise No("the profile's rules leave nothing of it")


ORDER: tuple[tuple[str, Check], ...] = (
    ("shape", _shape),
    ("length", _length),
    ("language", _language),
    ("content", _content),
    ("corpus", _corpus),
    ("own", _own),
)
PROSE: tuple[tuple[str, Check], ...] = (("language", _language), ("content", _content), ("own", _own))
HOUSE: tuple[tuple[str, Check], ...] = (("shape", _tidy), ("own", _own))

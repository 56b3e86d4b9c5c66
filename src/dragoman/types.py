"""The nouns, in the order of the sentence that builds the house.

A question is rewritten into searches; each search is run on each retriever, giving a ranking;
the rankings are fused into one; its hits are answered from. All frozen; invariants are checked
where a value is made. Ranks start at 1. Times are seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from dragoman.errors import QuestionError
from dragoman.text import sanitize

MAX_QUESTION = 20_000  # characters; a profile may set less
Metadata = Mapping[str, str]


class Outcome(StrEnum):
    """What a step came to. The same word in the value, the log, the metric and the span."""

    REWRITTEN = "rewritten"
    UNCHANGED = "unchanged"
    OFF_TOPIC = "off_topic"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    REJECTED = "rejected"
    FAILED = "failed"

    @property
    def answered(self) -> bool:
        """Whether the step gave an answer, a change or none; False: it did not."""
        return self in _ANSWERED


_ANSWERED = frozenset({Outcome.REWRITTEN, Outcome.UNCHANGED, Outcome.OFF_TOPIC, Outcome.SKIPPED})


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation before the question."""

    role: Literal["user", "assistant"]
    text: str

    def __post_init__(self) -> None:
        if self.role not in ("user", "assistant"):
            raise QuestionError(f"a message's role is 'user' or 'assistant', not {self.role!r}")
        object.__setattr__(self, "text", sanitize(self.text))


@dataclass(frozen=True, slots=True)
class Question:
    """What a person asked.

    Attributes:
        text: the words as asked. Lone surrogates and control characters, which no engine can
            carry, are replaced; nothing else is touched.
        history: the turns before it, oldest first. None: not a conversation; empty: its first turn.
        filters: metadata that every hit must have, `{"state": "Texas"}`.

    Raises:
        QuestionError: there is nothing to ask, or more than `MAX_QUESTION` characters.
    """

    text: str
    history: tuple[Message, ...] | None = None
    filters: Metadata = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise QuestionError(f"a question is text, not {type(self.text).__name__}")
        if len(self.text) > MAX_QUESTION:
            raise QuestionError(
                f"the question has {len(self.text):,} characters, more than {MAX_QUESTION:,}; "
                "ask for the passage you need in a few sentences"
            )
        object.__setattr__(self, "text", sanitize(self.text))
        if not self.text.strip():
            raise QuestionError("the question is empty; give at least one word")
        if self.history is not None:
            object.__setattr__(self, "history", tuple(self.history))
        object.__setattr__(self, "filters", {str(k): str(v) for k, v in self.filters.items()})

    def __hash__(self) -> int:
        return hash((self.text, self.history, tuple(sorted(self.filters.items()))))


@dataclass(frozen=True, slots=True)
class Search:
    """Words to look for, where they came from and how much they count.

    Attributes:
        text: what an engine that takes only text searches.
        origin: `question`, `rewritten`, `expanded`, or the name of the step that wrote it.
        weight: its share in the fusion against the other searches; above 0.
        terms: words with weights, for engines that can boost terms; they stand for `text` there.
        on: names of the retrievers it is meant for; empty for all of them.
        meaning: what an engine of meaning searches instead of `text`, which words added to it would
            blur; empty: the text.
        vector: stands for `text` where meaning is searched: (dimensions,) of the index's own
            embedder, norm 1; empty: the text is embedded.
    """

    text: str
    origin: str = "question"
    weight: float = 1.0
    terms: tuple[tuple[str, float], ...] = ()
    on: tuple[str, ...] = ()
    meaning: str = ""
    vector: tuple[float, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", sanitize(self.text))
        if not self.text.strip():
            raise ValueError("a search needs text")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"a search's weight is a finite number above 0, not {self.weight}")


@dataclass(frozen=True, slots=True)
class RuleHit:
    """A rule that bit: its id, what it found, what it put there, and where the rule stands.

    Attributes:
        source: file and line of a lexicon entry, or the reason given with a guard.
    """

    rule: str
    found: str
    put: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as its provider counts them."""

    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """The record of one rewriter's turn: before, after, outcome, and why."""

    name: str
    outcome: Outcome
    before: str
    after: tuple[str, ...] = ()
    seconds: float = 0.0
    reason: str = ""
    rules: tuple[RuleHit, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A question on its way: itself, what became of it, the searches so far and every step.

    Attributes:
        rewritten: the question with its noise out, or made stand-alone; None where no step did.
        cleaned: the question with only courtesy and filler taken out, which says the same; by meaning
            it is searched in place of the question. None where there is none.
        expanded: the query with related words added; None where no step did.
        terms: the query's words with weights, for engines that can boost terms; empty: all alike.
        searches: what steps added, best first; the question's own searches are not among them.
        off_topic: a step held that the corpus cannot answer this; no further step runs.
        settled: why no further rewriting is wanted ("already in the corpus's words"); only steps
            with `gated = False` still run. Empty while rewriting goes on.
        notes: what the running step wants in its record (`note`); the chain moves it there.
    """

    question: Question
    rewritten: str | None = None
    cleaned: str | None = None
    expanded: str | None = None
    terms: tuple[tuple[str, float], ...] = ()
    searches: tuple[Search, ...] = ()
    off_topic: bool = False
    settled: str = ""
    steps: tuple[Step, ...] = ()
    notes: tuple[RuleHit | Usage | str, ...] = ()

    @classmethod
    def of(cls, question: Question | str) -> Rewriting:
        """A rewriting that has not begun."""
        return cls(question if isinstance(question, Question) else Question(question))

    @property
    def query(self) -> str:
        """What every later step reads, search too: the latest expanded, else rewritten, else the question."""
        if self.expanded is not None:
            return self.expanded
        return self.rewritten if self.rewritten is not None else self.question.text

    def rewrite(self, text: str) -> Rewriting:
        """With `text` as what later steps read; the same value where it changes nothing or is empty."""
        if text == self.query or not text.strip():
            return self
        return replace(self, rewritten=text, expanded=None, terms=())

    def clean(self, text: str) -> Rewriting:
        """As `rewrite`, where `text` says all that the query says, without its noise."""
        cleaned = self.rewrite(text)
        # what another step made of the question need not say what was asked
        return replace(cleaned, cleaned=text) if cleaned is not self and self.query == self.question.text else cleaned

    def expand(self, text: str, terms: tuple[tuple[str, float], ...] = ()) -> Rewriting:
        """With `text` as the expanded query; the same value where it changes nothing or is empty."""
        if (text == self.query and terms == self.terms) or not text.strip():
            return self
        return replace(self, expanded=text, terms=terms)

    def add(self, searches: Iterable[Search]) -> Rewriting:
        """With more searches, those already there (same text, terms and retrievers) left out."""
        seen = {_same(search) for search in self.searches}
        new: list[Search] = []
        for search in searches:
            key = _same(search)
            if key not in seen:
                seen.add(key)
                new.append(search)
        return replace(self, searches=self.searches + tuple(new)) if new else self

    def note(self, *notes: RuleHit | Usage | str) -> Rewriting:
        """With something for the running step's record: rules that bit, tokens, a reason."""
        return replace(self, notes=self.notes + notes) if notes else self

    def __str__(self) -> str:
        return self.query


@dataclass(frozen=True, slots=True)
class Contribution:
    """Why a hit stands where it stands: one search on one retriever put it at `rank`, worth `share`."""

    search: str
    retriever: str
    rank: int
    share: float
    origin: str = "question"


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found. `because` is filled by fusion; its shares add up to the score."""

    doc_id: str
    score: float
    title: str = ""
    text: str = ""
    metadata: Metadata = field(default_factory=dict, hash=False)
    because: tuple[Contribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of one search on one retriever, best first.

    Made from hits in any order: those with a score that is not a finite number above 0 are no hits
    and left out (counted in `dropped`), a doc_id given twice counts once with its best score, and
    equal scores stand as trec_eval puts them, the higher doc_id first.
    """

    search: Search
    retriever: str
    hits: tuple[Hit, ...] = ()
    seconds: float = 0.0
    dropped: int = 0

    def __post_init__(self) -> None:
        if _in_order(self.hits):  # as nearly always: it was made from another ranking, or by a retriever that sorts
            return
        best: dict[str, Hit] = {}
        given = 0
        for hit in self.hits:
            given += 1
            if math.isfinite(hit.score) and hit.score > 0:
                known = best.get(hit.doc_id)
                if known is None or hit.score > known.score:
                    best[hit.doc_id] = hit
        ordered = sorted(best.values(), key=lambda hit: hit.doc_id, reverse=True)
        ordered.sort(key=lambda hit: hit.score, reverse=True)
        object.__setattr__(self, "hits", tuple(ordered))
        object.__setattr__(self, "dropped", self.dropped + given - len(ordered))

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def doc_ids(self) -> tuple[str, ...]:
        """The documents, best first."""
        return tuple(hit.doc_id for hit in self.hits)

    @property
    def scores(self) -> tuple[float, ...]:
        """Their scores, best first."""
        return tuple(hit.score for hit in self.hits)

    def hit(self, rank: int) -> Hit:
        """The hit at this rank, the first at 1."""
        return self.hits[rank - 1]

    def top(self, depth: int) -> Ranking:
        """The first `depth` hits."""
        return self if depth >= len(self.hits) else self._with(hits=self.hits[:depth])

    def under(self, search: Search, seconds: float | None = None) -> Ranking:
        """The same hits as those of `search`."""
        return self._with(search=search, seconds=self.seconds if seconds is None else seconds)

    def _with(self, **changed: object) -> Ranking:
        """A copy whose hits are in order because these are: `replace` would look again, a dozen times a question."""
        made = object.__new__(Ranking)
        for name in ("search", "retriever", "hits", "seconds", "dropped"):
            object.__setattr__(made, name, changed.get(name, getattr(self, name)))
        return made


@dataclass(frozen=True, slots=True)
class Failure:
    """A retriever that did not answer one search."""

    retriever: str
    search: str
    reason: str
    outcome: Outcome = Outcome.FAILED


@dataclass(frozen=True, slots=True)
class Result:
    """Everything between a question and its hits.

    Attributes:
        searches: all that were run, the question's own first.
        hits: the fused list, best first.
        failures: retrievers that did not answer; empty when all did.
    """

    rewriting: Rewriting
    searches: tuple[Search, ...]
    rankings: tuple[Ranking, ...]
    hits: tuple[Hit, ...]
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0

    @property
    def question(self) -> Question:
        """The question as asked."""
        return self.rewriting.question


@dataclass(frozen=True, slots=True)
class Answer:
    """What the hits say.

    Attributes:
        text: with citations as `[doc_id]`; the best passages, quoted, when `quoted`.
        citations: the doc_ids cited, in order of first mention, all of them among the hits.
        found: False when the hits do not hold the answer.
        quoted: no model wrote this; it is the passages themselves.
        removed: citations taken out because no such document was given.
        reason: why there is no model's answer, where there was to be one.
    """

    text: str
    result: Result
    citations: tuple[str, ...] = ()
    found: bool = True
    quoted: bool = False
    removed: int = 0
    reason: str = ""


def _in_order(hits: Sequence[Hit]) -> bool:
    """Whether these are a ranking's hits already: a tuple without doubles, best first, ties by the higher doc_id."""
    if not isinstance(hits, tuple) or len({hit.doc_id for hit in hits}) < len(hits):
        return False
    score, doc_id = math.inf, ""
    for hit in hits:
        # Not a number is in no order, and the last comparison sees infinity, which is no score.
        if not (0 < hit.score < score or (hit.score == score < math.inf and hit.doc_id < doc_id)):
            return False
        score, doc_id = hit.score, hit.doc_id
    return True


def _same(search: Search) -> tuple[object, ...]:
    return search.text.casefold(), search.terms, search.on, search.meaning, search.vector


def searches_of(texts: Sequence[str], origin: str, weight: float = 1.0) -> tuple[Search, ...]:
    """Searches from plain texts, blank ones left out."""
    return tuple(Search(text, origin, weight) for text in texts if text.strip())

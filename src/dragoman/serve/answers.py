"""What answers hold, for OpenAPI and for tests: the records of `dragoman.record` and what the page is told."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class SearchData(BaseModel):
    """Words that were looked for."""

    text: str
    origin: str
    weight: float
    terms: list[tuple[str, float]] = []
    on: list[str] = []


class RuleData(BaseModel):
    """A rule that bit."""

    rule: str
    found: str
    put: str
    source: str


class StepData(BaseModel):
    """The record of one rewriter's turn."""

    name: str
    outcome: str
    seconds: float
    reason: str
    before: str
    after: list[str]
    rules: list[RuleData]
    tokens_in: int
    tokens_out: int


class RewriteAnswer(BaseModel):
    """A question and what became of it."""

    question: str
    query: str
    off_topic: bool
    searches: list[SearchData]
    steps: list[StepData]


class ShareData(BaseModel):
    """Why a hit stands where it stands."""

    search: str
    retriever: str
    rank: int
    share: float
    origin: str


class HitData(BaseModel):
    """A passage found."""

    rank: int
    doc_id: str
    score: float
    title: str
    text: str
    metadata: dict[str, str]
    because: list[ShareData]


class FailureData(BaseModel):
    """A retriever that did not answer one search; the others were fused."""

    retriever: str
    search: str
    outcome: str
    reason: str


class SearchAnswer(RewriteAnswer):
    """Everything between a question and its hits."""

    hits: list[HitData]
    failures: list[FailureData]
    seconds: float


class AskAnswer(SearchAnswer):
    """An answer that cites its hits."""

    answer: str
    citations: list[str]
    found: bool
    quoted: bool
    removed_citations: int
    answer_reason: str


class ExplainAnswer(SearchAnswer):
    """The whole journey: with every ranking, what `raw` gives, and the words' document frequencies."""

    profile: str
    documents: int | None
    rankings: list[dict[str, Any]]
    raw: list[dict[str, Any]]


class FeedbackAnswer(BaseModel):
    """That it is kept."""

    kept: bool


class ProposalAnswer(BaseModel):
    """A proposal and what became of it."""

    id: str
    at: str
    kind: Literal["lexicon", "guard"]
    status: Literal["open", "accepted", "rejected"]
    profile: str
    line: str | None = None
    guard: dict[str, str] | None = None
    without: str | None = None
    without_guard: str | None = None
    replaces: str | None = None
    question: str | None = None
    effect: str = ""
    reason: str = ""
    note: str = ""
    reviewed_at: str | None = None


class ProposalsAnswer(BaseModel):
    """Proposals, the newest first."""

    proposals: list[ProposalAnswer]


class LearnedAnswer(BaseModel):
    """A learned entry with its evidence and where it stands in review."""

    left: str
    lines: list[str]
    status: Literal["learned", "pending", "accepted", "rejected"]
    evidence: list[str]
    examples: list[str]
    remarks: list[str]


class LearnedAnswers(BaseModel):
    """Learned entries, those that wait for a person first."""

    learned: list[LearnedAnswer]


class HealthAnswer(BaseModel):
    """That the process is alive."""

    status: Literal["alive"]


class TableData(BaseModel):
    """A profile that is served, and the breaker of its model."""

    documents: int | None
    breaker: str | None


class ReadyAnswer(BaseModel):
    """Whether the service is ready."""

    ready: bool
    in_flight: int
    profiles: dict[str, TableData]


class ProblemData(BaseModel):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] = []

"""What requests hold. They are read strictly: nothing is coerced, an unknown key is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dragoman.dragoman import DEPTH
from dragoman.types import MAX_QUESTION, Message, Question

MOST_TURNS = 40  # of a history
MOST_DEPTH = 100  # hits of one answer
MOST_LINE = 5_000  # characters of an entry or a guard that a profile has
# Something of it must be seen: neither space nor one of the control characters that `sanitize` takes out.
VISIBLE = r"[^\s\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u205f-\u2064\ufeff]"
QUESTION = "whats the fastest i can go on a residential street with no sign"
Text = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION, pattern=VISIBLE)]
Short = Annotated[str, Field(min_length=1, max_length=200)]
Line = Annotated[str, Field(min_length=1, max_length=500)]
PROPOSABLE = {"line": "string", "guard": "object", "without": "string", "without_guard": "string"}


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)


class Body(BaseModel):
    """A request's body."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Turn(Body):
    """One turn of the conversation before the question."""

    role: Literal["user", "assistant"]
    text: Annotated[str, Field(max_length=MAX_QUESTION)]


class Asking(Body):
    """A question and how it is asked."""

    question: Text = Field(description="What is asked, in the asker's own words.", examples=[QUESTION])
    profile: Short | None = Field(None, description="Which of the service's profiles; the first when left out.")
    history: Annotated[list[Turn], Field(max_length=MOST_TURNS)] | None = Field(
        None, description="The turns before it, oldest first. Null: not a conversation; empty: its first turn."
    )
    filters: dict[Short, Annotated[str, Field(max_length=200)]] = Field(
        default_factory=dict, max_length=20, description="Metadata that every hit must have.", examples=[{}]
    )
    steps: Annotated[list[Short], Field(max_length=50)] | None = Field(
        None, description="Only these of the profile's steps, in the profile's order; empty: the question as it is."
    )

    def asked(self) -> Question:
        """As the hall takes it.

        Raises:
            QuestionError: it cannot be asked.
        """
        history = None if self.history is None else tuple(Message(turn.role, turn.text) for turn in self.history)
        return Question(self.question, history, self.filters)


class RewriteBody(Asking):
    """A question to rewrite."""


class SearchBody(Asking):
    """A question to search."""

    depth: Annotated[int, Field(ge=1, le=MOST_DEPTH, description="How many hits."), WHOLE] = DEPTH


class AskBody(SearchBody):
    """A question to answer."""

    stream: bool = Field(False, description="Answer as server-sent events: `result`, `piece` and `answer`.")


class WeightsBody(Body):
    """How much each search counts, instead of the profile's; what is left out stays."""

    asked: Annotated[float, Field(ge=0, le=100)] | None = None
    query: Annotated[float, Field(gt=0, le=100)] | None = None
    origins: dict[Short, Annotated[float, Field(ge=0, le=100)]] = Field(default_factory=dict, max_length=50)
    retrievers: dict[Short, Annotated[float, Field(ge=0, le=100)]] = Field(default_factory=dict, max_length=50)


class GuardBody(Body):
    """A rule of a profile's own."""

    id: Short
    pattern: Annotated[str, Field(min_length=1, max_length=500)]
    replacement: Annotated[str, Field(max_length=500)] = ""
    reason: Annotated[str, Field(max_length=500)] = ""


class EditsBody(Body):
    """Changes of the profile for this question alone.

    A lexicon line stands before the profile's own; a guard takes the place of the one with its id.
    """

    lexicon: Annotated[list[Line], Field(max_length=50)] = Field(
        default_factory=list, description="Lines in the synonyms format.", examples=[["phone => handheld telephone"]]
    )
    without: Annotated[list[Line], Field(max_length=50)] = Field(
        default_factory=list, description="Left sides of lexicon entries to leave out."
    )
    guards: Annotated[list[GuardBody], Field(max_length=50)] = Field(default_factory=list)
    without_guards: Annotated[list[Short], Field(max_length=50)] = Field(default_factory=list)


class ExplainBody(SearchBody):
    """A question whose whole journey is wanted, under the profile or a changed one."""

    weights: WeightsBody | None = None
    edits: EditsBody | None = None


class FeedbackBody(Body):
    """A hit that helped, or did not."""

    question: Text = Field(examples=[QUESTION])
    doc_id: Annotated[str, Field(min_length=1, max_length=1_000, pattern=VISIBLE)] = Field(examples=["tvc-18-103"])
    helped: bool = Field(True, description="False: it was opened and did not help.")
    rank: Annotated[int, Field(ge=1, le=10_000), WHOLE] | None = Field(None, description="Where it stood.")
    profile: Short | None = None


def _given(name: str, kind: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"type": kind}}}


class ProposalBody(Body):
    """A lexicon line or a guard, proposed, or one that is to go; exactly one of them."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_given(name, kind) for name, kind in PROPOSABLE.items()]})

    line: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(
        None, examples=["phone => handheld telephone"]
    )
    guard: GuardBody | None = None
    without: Annotated[str, Field(min_length=1, max_length=MOST_LINE)] | None = Field(
        None, description="A line of the profile's lexicon, as it stands, to be left out."
    )
    without_guard: Short | None = Field(None, description="The id of a guard to be left out.")
    replaces: Annotated[str, Field(max_length=MOST_LINE)] | None = Field(
        None, description="The line, or guard, as it was."
    )
    question: Text | None = Field(None, description="The question that it was tried on.")
    effect: Annotated[str, Field(max_length=500)] = Field("", description="What moved when it was tried.")
    reason: Annotated[str, Field(max_length=500)] = ""
    profile: Short | None = None


class ReviewBody(Body):
    """What is to become of a proposal."""

    status: Literal["accepted", "rejected", "open"]
    line: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(None, description="The line, changed.")
    guard: GuardBody | None = Field(None, description="The guard, changed.")
    note: Annotated[str, Field(max_length=500)] = ""


class DecisionBody(Body):
    """What is to become of a learned entry."""

    left: Annotated[str, Field(min_length=1, max_length=500)] = Field(description="What the entry looks for.")
    status: Literal["accepted", "rejected", "pending"]
    lines: (
        Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(min_length=1, max_length=50)] | None
    ) = Field(None, description="The entry's lines, changed.")

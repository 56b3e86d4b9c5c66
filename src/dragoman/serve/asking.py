"""The routes that answer questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from starlette.responses import Response, StreamingResponse

from dragoman.record import answer_data, result_data, rewriting_data
from dragoman.rewriters.masking import Masking
from dragoman.serve import events
from dragoman.serve.answers import AskAnswer, ExplainAnswer, FeedbackAnswer, RewriteAnswer, SearchAnswer
from dragoman.serve.bodies import AskBody, Asking, ExplainBody, FeedbackBody, RewriteBody, SearchBody
from dragoman.serve.changes import Changes, rule_of
from dragoman.serve.journey import RAW_DEPTH, journey_data
from dragoman.serve.problems import MEDIA_TYPE, TITLES, Problem
from dragoman.serve.service import Service

QUESTION = "whats the fastest i can go on a residential street with no sign"
FOLLOW_UP = {
    "question": "what if its hands free?",
    "history": [
        {"role": "user", "text": "can i get in trouble for texting at a red light"},
        {"role": "assistant", "text": "Yes, an electronic message may not be read even then."},
    ],
}
router = APIRouter(prefix="/v1")


def service_of(request: Request) -> Service:
    """The service of the application that the request came to."""
    service: Service = request.app.state.service
    return service


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of an operation's problems; those that every operation has are added."""
    shown = sorted({400, 401, 408, 413, 422, 429, 503, *statuses})
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemData"}}}
    return {status: {"description": TITLES[status], "content": content} for status in shown}


def answers(model: type, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of an operation's answers."""
    return {200: {"model": model, "description": "Answered"}, **problems(*statuses)}


def said(data: Mapping[str, Any]) -> Response:
    """Data as JSON."""
    return Response(json.dumps(data, ensure_ascii=True, separators=(",", ":")), media_type="application/json")


def shown(summary: str, value: Mapping[str, Any]) -> Any:
    """An example for OpenAPI."""
    return {"summary": summary, "value": value}


PLAIN = shown("A learner driver's question", {"question": QUESTION})
RAW = shown("The question as it is, nothing rewritten", {"question": QUESTION, "steps": [], "depth": 5})
TALK = shown("A follow-up with its history", FOLLOW_UP)
EDITED = {"question": "can i use my phone at a red light", "edits": {"lexicon": ["phone => handheld telephone"]}}


@router.post("/rewrite", responses=answers(RewriteAnswer, 500), response_class=Response)
async def rewrite(
    request: Request, body: Annotated[RewriteBody, Body(openapi_examples={"plain": PLAIN, "follow-up": TALK})]
) -> Response:
    """The question with its noise out, and the searches that it becomes."""
    desk = service_of(request).desk(body.profile)
    hall = await desk.changed(_steps_only(body))
    return said(rewriting_data(await hall.arewrite(body.asked())))


@router.post("/search", responses=answers(SearchAnswer, 409, 500, 502), response_class=Response)
async def search(
    request: Request,
    body: Annotated[SearchBody, Body(openapi_examples={"plain": PLAIN, "raw": RAW, "follow-up": TALK})],
) -> Response:
    """Rewritten, searched, fused. A step that failed is named in `steps`, a retriever that failed in `failures`."""
    desk = service_of(request).desk(body.profile)
    desk.searching()
    hall = await desk.changed(_steps_only(body))
    return said(result_data(await hall.asearch(body.asked(), body.depth)))


_ASKED = answers(AskAnswer, 409, 500, 502)
_ASKED[200] = {
    "model": AskAnswer,
    "description": "The answer; with `stream`, the events `result`, `piece` (many) and `answer`",
    "content": {events.MEDIA_TYPE: {"schema": events.SCHEMA}},
}
STREAMED = shown("Answered piece by piece", {"question": QUESTION, "stream": True})


@router.post("/ask", responses=_ASKED, response_class=Response)
async def ask(
    request: Request, body: Annotated[AskBody, Body(openapi_examples={"plain": PLAIN, "streamed": STREAMED})]
) -> Response:
    """An answer that cites its hits; without a model, or when it fails, the best passages, quoted."""
    desk = service_of(request).desk(body.profile)
    desk.searching()
    hall = await desk.changed(_steps_only(body))
    if not body.stream:
        return said(answer_data(await hall.aask(body.asked(), body.depth)))
    parts = hall.afollow(body.asked(), body.depth)
    first = await anext(parts)  # what fails here still has its status
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events.following(first, parts), headers=headers, media_type=events.MEDIA_TYPE)


@router.post("/explain", responses=answers(ExplainAnswer, 409, 500, 502), response_class=Response)
async def explain(
    request: Request, body: Annotated[ExplainBody, Body(openapi_examples={"plain": PLAIN, "edited": shown("", EDITED)})]
) -> Response:
    """The whole journey, under the profile as it is or changed for this question alone."""
    desk = service_of(request).desk(body.profile)
    desk.searching()
    hall = await desk.changed(changes_of(body))
    asked = body.asked()
    result = await hall.asearch(asked, body.depth)
    raw = await desk.raw.asearch(asked, RAW_DEPTH)
    return said(journey_data(desk, result, raw.hits))


@router.post("/feedback", responses=answers(FeedbackAnswer, 404, 409, 500), response_class=Response)
async def feedback(request: Request, body: FeedbackBody) -> Response:
    """Keep that a hit helped, for `dragoman learn`."""
    service = service_of(request)
    if service.clicks is None:
        raise Problem(409, "this service keeps no feedback; start it with --feedback FILE")
    desk = service.desk(body.profile)
    masked = Masking(desk.profile.masking)(body.question)
    if desk.corpus is not None and not await asyncio.to_thread(desk.corpus.holds, body.doc_id):
        raise Problem(404, f"the index of {desk.name!r} has no document {body.doc_id[:80]!r}")
    row = {"question": masked, "doc_id": body.doc_id, "rank": body.rank, "profile": desk.name}
    await asyncio.to_thread(service.clicks.keep, row, body.helped)
    service.metrics.count("dragoman_feedback_total", helped=str(body.helped).lower())
    return said({"kept": True})


def _steps_only(body: Asking) -> Changes:
    return Changes(steps=None if body.steps is None else tuple(body.steps))


def changes_of(body: ExplainBody) -> Changes:
    """What the request wants other than the profile says.

    Raises:
        ProfileError: a guard that cannot be used.
    """
    steps = None if body.steps is None else tuple(body.steps)
    weights, edits = body.weights, body.edits
    plain = steps is None and weights is None and edits is None
    return Changes(
        steps,
        asked=weights.asked if weights else None,
        query=weights.query if weights else None,
        origins=tuple(weights.origins.items()) if weights else (),
        retrievers=tuple(weights.retrievers.items()) if weights else (),
        lexicon=tuple(edits.lexicon) if edits else (),
        without=tuple(edits.without) if edits else (),
        guards=tuple(rule_of(g.id, g.pattern, g.replacement, g.reason) for g in edits.guards) if edits else (),
        without_guards=tuple(edits.without_guards) if edits else (),
        told="write" if plain else "read",
    )

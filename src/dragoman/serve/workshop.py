"""The routes of the page: what is served here, the lexicon, proposals and their reviews, the effect report."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as FromPath
from starlette.responses import Response

from dragoman.learn import Status
from dragoman.rewriters.entries import keys
from dragoman.rewriters.guard_rules import Rule
from dragoman.rewriters.masking import Masking
from dragoman.search import ByLength, Weights
from dragoman.serve.answers import LearnedAnswer, LearnedAnswers, ProposalAnswer, ProposalsAnswer
from dragoman.serve.asking import answers, problems, said, service_of
from dragoman.serve.bodies import PROPOSABLE, DecisionBody, ProposalBody, ReviewBody
from dragoman.serve.changes import entry_of
from dragoman.serve.desk import Desk
from dragoman.serve.learned import LearnedFile
from dragoman.serve.problems import MEDIA_TYPE, Problem
from dragoman.serve.proposals import GUARD, LEXICON, Proposals, changes_of
from dragoman.serve.service import Service

EXAMPLES_A_KIND = 6
MOST_ENTRIES = 50
PROBLEM = {"$ref": "#/components/schemas/ProblemData"}
OPEN: Mapping[str, Any] = {"security": []}  # of OpenAPI: no key is needed, whatever the service has
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
router = APIRouter()


@router.get("/v1/profiles", responses=problems(), response_class=Response)
async def profiles(request: Request) -> Response:
    """What is served here: profiles with their steps, weights, guards and example questions, and what is kept."""
    service = service_of(request)
    settings = service.settings
    data = {
        "profiles": [await asyncio.to_thread(_profile_data, desk) for desk in service.desks.values()],
        "examples": await asyncio.to_thread(_collection_examples, settings.questions),
        "keeps": {
            "feedback": bool(settings.feedback),
            "proposals": bool(settings.proposals),
            "learned": bool(settings.learned),
            "report": bool(settings.report),
        },
    }
    return said(data)


def _profile_data(desk: Desk) -> dict[str, Any]:
    profile, settings = desk.profile, desk.hall.settings
    weights = settings.weights
    return {
        "name": desk.name,
        "about": profile.about,
        "asker": profile.setting.asker,
        "corpus": profile.setting.corpus,
        "documents": desk.corpus.documents if desk.corpus else None,
        "language": {"question": profile.language.question, "corpus": profile.language.corpus},
        "steps": list(desk.steps),
        "retrievers": [retriever.name for retriever in desk.hall.retrievers],
        "model": desk.llm.name if desk.llm else None,
        "writer": desk.hall.writer.name if desk.hall.writer else None,
        "lexicon": len(desk.lexicon) if desk.lexicon else 0,
        "weights": {
            "asked": weights.asked,
            "query": weights.query,
            "origins": dict(weights.origins),
            "retrievers": {r.name: _weight(weights, r.name) for r in desk.hall.retrievers},
        },
        "guards": [_guard(rule) for rule in profile.rules],
        "examples": [_example(e.question, e.history) for e in profile.examples],
    }


def _weight(weights: Weights, retriever: str) -> float | None:
    """What a retriever counts; None where that goes by the length of each search."""
    weight = weights.of_retriever(retriever)
    return None if isinstance(weight, ByLength) else weight


def _guard(rule: Rule) -> dict[str, str]:
    return {"id": rule.id, "pattern": rule.pattern, "replacement": rule.replacement, "reason": rule.reason}


def _example(question: str, history: Any, kind: str = "") -> dict[str, Any]:
    turns = None if history is None else [{"role": role, "text": text} for role, text in history]
    return {"question": question, "history": turns, "kind": kind}


def _collection_examples(file: str) -> list[dict[str, Any]]:
    """The first questions of each kind in a collection's `queries.jsonl`; none where no file is named."""
    if not file:
        return []
    found: dict[str, list[dict[str, Any]]] = {}
    with Path(file).open(encoding="utf-8") as lines:
        for line in filter(str.strip, lines):
            row = json.loads(line)
            about = row.get("metadata") or {}
            kind = str(about.get("kind", ""))
            turns = [(turn["role"], turn["text"]) for turn in about.get("history") or ()]
            found.setdefault(kind, []).append(_example(row["text"], turns or None, kind))
    return [example for kind in found.values() for example in kind[:EXAMPLES_A_KIND]]


@router.get("/v1/lexicon", responses=problems(), response_class=Response)
async def lexicon(
    request: Request,
    profile: Annotated[str | None, Query(max_length=200)] = None,
    contains: Annotated[str, Query(max_length=200)] = "",
    source: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    """The profile's lexicon entries that hold these words, or the one at this place (`lexicon.txt:12`)."""
    desk = service_of(request).desk(profile)
    return said(await asyncio.to_thread(_entries, desk, contains, source))


def _entries(desk: Desk, contains: str, source: str) -> dict[str, Any]:
    wanted = keys(contains)
    found: list[dict[str, Any]] = []
    held = desk.lexicon.entries if desk.lexicon else ()
    matching = 0
    for entry in held:
        place = f"{Path(entry.path).name}:{entry.line}"
        if source and place != source:
            continue
        words = set(keys(" ".join((*entry.left, *(term.text for term in entry.right)))))
        if all(any(word.startswith(part) for word in words) for part in wanted):
            matching += 1
            if len(found) < MOST_ENTRIES:
                row = {"line": str(entry), "left": list(entry.left), "source": place, "comment": entry.comment}
                found.append(row)
    return {"entries": found, "matching": matching, "total": len(held)}


@router.get("/v1/proposals", responses=answers(ProposalsAnswer, 409, 500), response_class=Response)
async def proposals(request: Request) -> Response:
    """Every proposal with what became of it, the newest first."""
    return said({"proposals": await asyncio.to_thread(_journal(service_of(request)).all)})


@router.post("/v1/proposals", responses=answers(ProposalAnswer, 409, 500), response_class=Response)
async def propose(request: Request, body: ProposalBody) -> Response:
    """Keep a lexicon line or a guard, or that one is to go, for review; it is tried before it is kept."""
    service = service_of(request)
    journal, desk = _journal(service), service.desk(body.profile)
    row = body.model_dump(exclude_none=True)
    given = [name for name in PROPOSABLE if name in row]
    if len(given) != 1:
        raise Problem(422, f"a proposal is one of {', '.join(PROPOSABLE)}; found {', '.join(given) or 'none'}")
    await asyncio.to_thread(_try, desk, row)
    if body.question is not None:
        row["question"] = Masking(desk.profile.masking)(body.question)
    row |= {"kind": GUARD if "guard" in given[0] else LEXICON, "profile": desk.name}
    return said(await asyncio.to_thread(journal.propose, row))


def _try(desk: Desk, row: Mapping[str, Any]) -> None:
    """Make the profile as it is proposed.

    Raises:
        ProfileError: it cannot be made.
        Problem: 422, what is to go is not there.
    """
    changes = changes_of(row)
    if "without" in row:
        line = str(entry_of(row["without"]))
        if not any(str(entry) == line for entry in (desk.lexicon.entries if desk.lexicon else ())):
            raise Problem(422, f"the lexicon of {desk.name!r} has no line {line[:80]!r}; give it as it stands")
    if "without_guard" in row and not any(rule.id == row["without_guard"] for rule in desk.profile.rules):
        raise Problem(422, f"{desk.name!r} has no guard {row['without_guard']!r}")
    changes.apply(desk.profile, desk.lexicon)


@router.post("/v1/proposals/{identity}", responses=answers(ProposalAnswer, 404, 409, 500), response_class=Response)
async def review(request: Request, identity: Annotated[str, FromPath(max_length=40)], body: ReviewBody) -> Response:
    """Accept, change or reject a proposal."""
    service = service_of(request)
    journal = _journal(service)
    held = await asyncio.to_thread(journal.find, identity)
    if held is None:
        raise Problem(404, f"there is no proposal {identity!r}")
    row = body.model_dump(exclude_none=True)
    for part in ("line", "guard"):
        if part in row and part not in held:
            raise Problem(422, f"the proposal {identity!r} has no {part} to change")
        if part in row:
            await asyncio.to_thread(_try, service.desk(held["profile"]), {**held, **row})
    reviewed = await asyncio.to_thread(journal.review, identity, row)
    return said(reviewed or held)


@router.get(
    "/v1/accepted",
    responses={**problems(409, 500), 200: {"content": {"text/plain": {}}, "description": "Lines of a file"}},
    response_class=Response,
)
async def accepted(request: Request, kind: Literal["lexicon", "guard"] = "lexicon") -> Response:
    """The accepted lexicon entries, or guards, as a file's text, each under its reason and what is to go for it."""
    journal = _journal(service_of(request))
    text = await asyncio.to_thread(journal.guards if kind == GUARD else journal.lexicon)
    return Response(text, media_type="text/plain; charset=utf-8")


@router.get("/v1/learned", responses=answers(LearnedAnswers, 409, 500), response_class=Response)
async def learned(request: Request) -> Response:
    """What `dragoman learn` learned, entry by entry, with its evidence."""
    return said({"learned": await asyncio.to_thread(_learned(service_of(request)).all)})


@router.post("/v1/learned", responses=answers(LearnedAnswer, 404, 409, 500), response_class=Response)
async def decide(request: Request, body: DecisionBody) -> Response:
    """Accept, change or reject a learned entry; it is in force when the service is started again."""
    file = _learned(service_of(request))
    if not await asyncio.to_thread(file.holds, body.left):
        raise Problem(404, f"no learned entry looks for {body.left[:80]!r}")
    return said(await asyncio.to_thread(file.decide, body.left, Status(body.status), body.lines))


@router.get(
    "/report",
    responses={
        200: {"content": {"text/html": {}}, "description": "The report"},
        404: {"content": {MEDIA_TYPE: {"schema": PROBLEM}}, "description": "None is shown here"},
    },
    response_class=Response,
    openapi_extra=dict(OPEN),
)
async def report(request: Request) -> Response:
    """The report of `dragoman evaluate`."""
    file = service_of(request).settings.report
    if not file:
        raise Problem(404, "no report is shown here; start the service with --report FILE.html")
    text = await asyncio.to_thread(Path(file).read_text, "utf-8")
    return Response(text, headers={"Content-Security-Policy": REPORT_POLICY}, media_type="text/html; charset=utf-8")


def _journal(service: Service) -> Proposals:
    if service.proposals is None:
        raise Problem(409, "this service keeps no proposals; start it with --proposals FILE")
    return service.proposals


def _learned(service: Service) -> LearnedFile:
    if service.learned is None:
        raise Problem(409, "this service has no learned lexicon to review; start it with --learned FILE")
    return service.learned

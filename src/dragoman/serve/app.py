"""The ASGI application: routes, problems, the door, and what opens and closes with it."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from fastapi import FastAPI, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

import dragoman
from dragoman.serve import asking, metrics, page, workshop
from dragoman.serve.answers import HealthAnswer, ProblemData, ReadyAnswer
from dragoman.serve.door import Door
from dragoman.serve.draining import told_to_stop
from dragoman.serve.problems import handle_problems
from dragoman.serve.service import Service
from dragoman.serve.settings import LEVEL, VARIABLE, Settings

Responses: TypeAlias = dict[int | str, dict[str, Any]]
ABOUT = "Says a question in the words a corpus uses, searches, and shows why each hit is there."


def make_app(settings: Settings) -> FastAPI:
    """An application that opens the settings' profiles when it starts and closes them when it ends.

    Raises:
        ProfileError, IndexStateError: when it starts, one of them cannot be used.
    """
    service = Service.of(settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await service.open()
        try:
            with told_to_stop(service.counter.drain):
                yield
        finally:
            await service.close()

    app = FastAPI(
        title="Dragoman",
        summary=ABOUT,
        version=dragoman.__version__,
        lifespan=life,
        docs_url=None,  # these two pages load their scripts from elsewhere
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # the package tells its own story
    )
    app.state.service = service
    handle_problems(app)
    app.include_router(asking.router)
    app.include_router(workshop.router)
    _add_health(app, service)
    page.add_page(app)
    app.add_middleware(Door, settings=settings, metrics=service.metrics, counter=service.counter)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
        )
    app.openapi = lambda: _described(app, service)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    return app


def worker() -> FastAPI:
    """The application of a worker process, from the settings that its parent left in the environment."""
    logging.basicConfig(level=int(os.environ.get(LEVEL, logging.WARNING)), format="%(name)s: %(message)s")
    return make_app(Settings.from_json(os.environ[VARIABLE]))


def _add_health(app: FastAPI, service: Service) -> None:
    alive: Responses = {200: {"model": HealthAnswer, "description": "The process is alive"}}
    ready: Responses = {
        200: {"model": ReadyAnswer, "description": "Every profile is open"},
        503: {"model": ReadyAnswer, "description": "Not open yet, or stopping"},
    }
    counted: Responses = {200: {"content": {"text/plain": {}}, "description": "Counters in Prometheus's text format"}}

    @app.get("/healthz", responses=alive, response_class=Response, openapi_extra=dict(workshop.OPEN))
    async def healthz() -> Response:
        """Whether the process is alive."""
        return asking.said({"status": "alive"})

    @app.get("/readyz", responses=ready, response_class=Response, openapi_extra=dict(workshop.OPEN))
    async def readyz() -> Response:
        """Whether the service can be asked, and the breaker of each profile's model."""
        state = service.state()
        response = asking.said(state)
        response.status_code = 200 if state["ready"] else 503
        return response

    @app.get("/metrics", responses=counted, response_class=Response, openapi_extra=dict(workshop.OPEN))
    async def counters(_: Request) -> Response:
        """What was counted, in this worker and those beside it."""
        service.state()
        return Response(service.metrics.text(), media_type=metrics.MEDIA_TYPE)


def _described(app: FastAPI, service: Service) -> dict[str, Any]:
    """OpenAPI with what FastAPI does not know: the problems' shape, the keys, and the names served here."""
    if app.openapi_schema is None:
        schema = type(app).openapi(app)
        schemas = schema["components"]["schemas"]
        schemas["ProblemData"] = ProblemData.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        _name_profiles(schemas, service)
        lexicon = schema["paths"]["/v1/lexicon"]["get"]["parameters"]
        next(each for each in lexicon if each["name"] == "profile")["schema"] = {"enum": list(service.desks)}
        if service.settings.keys:
            schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"key": []}]
    return app.openapi_schema or {}


def _name_profiles(schemas: dict[str, Any], service: Service) -> None:
    """Say which profiles, and which steps, there are."""
    profiles = list(service.desks)
    each = [set(desk.steps) for desk in service.desks.values()]
    steps = sorted(set.intersection(*each)) if each else []  # what every profile has; /v1/profiles tells the rest
    for body in schemas.values():
        held = body.get("properties", {})
        if "additionalProperties" in body and "profile" in held:
            held["profile"]["anyOf"][0] = {"enum": profiles, "type": "string"}
            if "steps" in held and steps:
                held["steps"]["anyOf"][0]["items"] = {"enum": steps, "type": "string"}

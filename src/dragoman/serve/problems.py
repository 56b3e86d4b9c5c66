"""Errors as `application/problem+json` (RFC 9457): what was found, what was expected, what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from dragoman.errors import DragomanError, ProfileError, QuestionError, RetrievalError
from dragoman.telemetry import log

MEDIA_TYPE = "application/problem+json"
TITLES: Mapping[int, str] = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "Not from here",
    404: "There is nothing here",
    405: "Not in this way",
    408: "The request did not arrive in time",
    409: "Not set up here",
    413: "The request is too large",
    422: "The question cannot be asked",
    429: "Too many questions",
    500: "A defect in the service",
    502: "No retriever answered",
    503: "Too much at once",
}


@dataclass(eq=False)  # not frozen: whoever raises it writes its traceback
class Problem(Exception):
    """An answer that is a problem.

    Attributes:
        status: of HTTP.
        detail: what was found, what was expected, what to do.
        headers: sent with it, as `Retry-After`.
        errors: places in the body that are wrong: a JSON pointer and what is wrong there.
    """

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    errors: Sequence[Mapping[str, str]] = ()

    def data(self) -> dict[str, Any]:
        """The body."""
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": TITLES.get(self.status, "The request failed"),
            "status": self.status,
            "detail": self.detail,
        }
        return {**body, "errors": list(self.errors)} if self.errors else body

    def response(self) -> Response:
        """The whole answer."""
        text = json.dumps(self.data(), ensure_ascii=True)  # a lone surrogate of the request's cannot be sent as it is
        return Response(text, self.status, dict(self.headers), MEDIA_TYPE)


def problem_of(error: Exception) -> Problem:
    """What an error of the package comes to over HTTP."""
    if isinstance(error, ProfileError):
        path = error.path
        return Problem(422, str(error) if path is None else str(error).replace(str(path), path.name, 1))
    if isinstance(error, QuestionError):
        return Problem(422, str(error))
    if isinstance(error, RetrievalError):
        return Problem(502, str(error))
    return Problem(500, str(error))


def handle_problems(app: FastAPI) -> None:
    """Let every error leave `app` as a problem."""

    async def raised(_: Request, error: Exception) -> Response:
        return (error if isinstance(error, Problem) else problem_of(error)).response()

    async def http(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise TypeError(f"expected an HTTPException, found {type(error).__name__}")
        headers = dict(error.headers or {})
        if error.status_code == 405:
            template = template_of(app, request.url.path)
            methods = app.openapi()["paths"].get(template, {})
            headers["Allow"] = ", ".join(sorted(map(str.upper, methods))) or headers.get("Allow", "")
        return Problem(error.status_code, str(error.detail), headers).response()

    async def invalid(_: Request, error: Exception) -> Response:
        if not isinstance(error, RequestValidationError):
            raise TypeError(f"expected a RequestValidationError, found {type(error).__name__}")
        return _invalid(error).response()

    async def defect(_: Request, error: Exception) -> Response:
        log.error("a request met a defect: %s", type(error).__name__)  # the traceback goes up to the server's log
        return Problem(500, "the service met a defect; its log says more").response()

    app.add_exception_handler(Problem, raised)
    app.add_exception_handler(DragomanError, raised)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, defect)


def template_of(app: FastAPI, path: str) -> str | None:
    """The path of OpenAPI that a request's is one of, `/v1/proposals/{identity}`; None where there is none."""
    return next((template for template in app.openapi()["paths"] if _compiled(template).match(path)), None)


@cache  # by the service's own templates, a few dozen
def _compiled(template: str) -> re.Pattern[str]:
    return compile_path(template)[0]


def _invalid(error: RequestValidationError) -> Problem:
    """Where the request is wrong and why; nothing of what it held is said back."""
    found = [{"pointer": _pointer(each["loc"]), "detail": str(each["msg"])} for each in error.errors()]
    unreadable = any(each["type"] == "json_invalid" for each in error.errors())
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{first['pointer'] or 'the body'}: {first['detail']}{more}; /openapi.json says what is expected"
    return Problem(400 if unreadable else 422, detail, errors=found)


def _pointer(place: Sequence[Any]) -> str:
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in place[1:]]
    return "#/" + "/".join(parts) if parts and place[0] == "body" else "/".join(parts)

"""The playground's files, served from memory, with a policy that lets a browser load nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePath

from fastapi import FastAPI, Request
from starlette.responses import Response

from dragoman.serve.problems import Problem

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page: its bytes, what they are, and a tag that changes when they do."""

    content: bytes
    media_type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or that the browser has it already."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def read_files() -> dict[str, File]:
    """Every file of the page by its path, `index.html`, `fonts/...`."""
    found: dict[str, File] = {}
    waiting = [("", resources.files("dragoman.serve") / "page")]
    while waiting:
        prefix, folder = waiting.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                waiting.append((f"{prefix}{entry.name}/", entry))
            elif PurePath(entry.name).suffix in MEDIA_TYPES:
                content = entry.read_bytes()
                tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
                media_type = MEDIA_TYPES[PurePath(entry.name).suffix]
                found[prefix + entry.name] = File(content, media_type, tag)
    return found


def add_page(app: FastAPI) -> None:
    """Serve the page at `/` and its files under `/page/`."""
    files = read_files()

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return files["index.html"].answer(request)

    @app.get("/page/{path:path}", include_in_schema=False)
    async def file(request: Request, path: str) -> Response:
        found = files.get(path)
        if found is None:
            raise Problem(404, f"the page has no file {path[:80]!r}")
        return found.answer(request)

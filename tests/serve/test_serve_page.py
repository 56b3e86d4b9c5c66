"""The page's files: nothing from elsewhere, no script in the markup, a policy that holds it to that."""

from __future__ import annotations

import re

import httpx
import pytest

from dragoman.serve.page import MEDIA_TYPES, read_files

FILES = read_files()
TEXTS = sorted(path for path in FILES if path.endswith((".html", ".css", ".js", ".svg")))
NAMESPACE = "http://www.w3.org/2000/svg"


async def test_the_page_comes_with_a_policy_and_a_tag(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    for held in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert held in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    again = await client.get("/", headers={"if-none-match": page.headers["etag"]})
    assert again.status_code == 304


async def test_every_file_the_page_names_is_there(client: httpx.AsyncClient) -> None:
    named = set(re.findall(r'(?:href|src)="(/page/[^"]+)"', FILES["index.html"].content.decode()))
    assert named
    for path in named:
        assert (await client.get(path)).status_code == 200, path
    for path in ("/page/absent.js", "/page/../app.py", "/page/%2e%2e/app.py"):
        missing = await client.get(path)
        assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("path", [path for path in TEXTS if path.endswith(".js")])
def test_every_module_that_is_imported_is_there(path: str) -> None:
    folder = path.rpartition("/")[0]
    for named in re.findall(r'from "([^"]+)"', FILES[path].content.decode()):
        parts = folder.split("/") if folder else []
        for part in named.split("/"):
            if part == "..":
                parts.pop()
            elif part != ".":
                parts.append(part)
        assert "/".join(parts) in FILES, f"{path} imports {named}"


@pytest.mark.parametrize("path", TEXTS)
def test_a_file_refers_to_nothing_elsewhere(path: str) -> None:
    text = FILES[path].content.decode().replace(NAMESPACE, "")
    assert not re.search(r"https?://|//[a-z0-9-]+\.[a-z]", text)


def test_the_markup_holds_no_script_no_handler_and_no_style() -> None:
    text = FILES["index.html"].content.decode()
    assert re.findall(r"<script\b[^>]*>(.*?)</script>", text, re.DOTALL) == [""]
    assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:", text)


def test_scripts_never_read_markup() -> None:
    for path in TEXTS:
        if path.endswith(".js"):
            text = FILES[path].content.decode()
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)


def test_every_font_has_its_licence_beside_it() -> None:
    fonts = [path for path in FILES if path.endswith(".woff2")]
    assert fonts
    for path in fonts:
        licence = FILES[path.replace(".woff2", "-license.txt")].content.decode()
        assert "SIL Open Font License" in licence
    assert sum(len(FILES[path].content) for path in fonts) < 150_000
    assert {file.media_type for file in FILES.values()} <= set(MEDIA_TYPES.values())

"""Pictures of the page, taken in Chromium from the shipped example, into docs/screenshots.

    python -m bench.screenshots [--out docs/screenshots] [NAME ...]

Needs `apt-get install chromium` (or DRAGOMAN_CHROMIUM naming one). A picture is written only where it
differs, so that renewing them shows in version control what changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import uvicorn

from dragoman import demo
from dragoman.serve.app import make_app
from dragoman.serve.settings import Settings, Table

OUT = Path(__file__).parents[1] / "docs" / "screenshots"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--font-render-hinting=none", "--hide-scrollbars"]
DESK, PHONE = (1280, 900), (390, 844)
QUESTION = "can i get in trouble for texting at a red light"
LEARNED = """\
# status: pending
# learned: 14 questions; device 10 of 14 (0.7 without it), wireless 9 of 14 (0.8)
# e.g. "may you pick up your phone at a red light" -> "handheld wireless communication device"
#= phone => phone, device|0.52, wireless|0.5

# learned: 9 questions; right-of-way 8 of 9 (0.6 without it)
# e.g. "who goes first at a four way stop" -> "right-of-way at intersections"
goes first => goes first, right-of-way|0.8
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A place of the page, what is done there, and how it is looked at."""

    place: str = ""
    size: tuple[int, int] = DESK
    scheme: Literal["light", "dark"] = "light"
    act: Callable[[Any], None] | None = None
    whole: bool = False


def asked(question: str, view: str = "") -> str:
    """The address of a question."""
    return f"{view}?{urlencode({'q': question})}"


def _point(page: Any) -> None:
    """Stop at the board, with a hit in hand."""
    page.locator(".fused .cell").nth(1).focus()
    page.locator('section[aria-label="Ranked and fused"]').evaluate("each => each.scrollIntoView({block: 'center'})")


def _change(page: Any) -> None:
    page.get_by_role("button", name="Try changes").click()
    page.locator(".entry .meta").first.wait_for()
    page.get_by_label("A new lexicon entry").fill("get in trouble => penalty, fine")
    page.get_by_role("button", name="Save as a proposal").wait_for()


def _passages(page: Any) -> None:
    page.locator('section[aria-label="Found"]').evaluate("each => each.scrollIntoView()")


def _review(page: Any) -> None:
    page.get_by_role("button", name="Learned").click()
    page.locator(".review .rule p").first.wait_for()


PICTURES: Mapping[str, Picture] = {
    "home": Picture(),
    "home-dark-phone": Picture(size=PHONE, scheme="dark"),
    "journey": Picture(asked(QUESTION)),
    "journey-dark": Picture(asked(QUESTION), scheme="dark"),
    "journey-phone": Picture(asked(QUESTION), size=PHONE),
    "board": Picture(asked(QUESTION), act=_point),
    "board-dark": Picture(asked(QUESTION), scheme="dark", act=_point),
    "passages": Picture(asked(QUESTION), act=_passages),
    "passages-dark-phone": Picture(asked(QUESTION), size=PHONE, scheme="dark", act=_passages),
    "off-topic": Picture(asked("what is the capital of France")),
    "changes": Picture(asked(QUESTION), act=_change),
    "compare": Picture(asked(QUESTION, "compare"), whole=False),
    "review": Picture("review", act=_review),
}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The service on the shipped example; gives its address."""
    demo.build(folder / "index")
    (folder / "learned.txt").write_text(LEARNED)
    example = demo.example()
    index, model = str(folder / "index"), f"replay:{example / 'replies.jsonl'}"
    settings = Settings(
        (Table(demo.PROFILE, index, model), Table("default", index)),
        feedback=str(folder / "feedback.jsonl"),
        proposals=str(folder / "proposals.jsonl"),
        learned=str(folder / "learned.txt"),
        questions=str(example / "queries.jsonl"),
    )
    server = uvicorn.Server(uvicorn.Config(make_app(settings), port=0, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


def take(page: Any, address: str, picture: Picture) -> bytes:
    """The picture, as PNG."""
    page.goto(f"{address}/#/{picture.place}")
    page.wait_for_load_state("networkidle")
    page.locator("main > *:not(.blank)").first.wait_for()
    if "?q=" in picture.place:
        page.locator(".passage, .versus").first.wait_for()
    if picture.act:
        picture.act(page)
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(400)
    return bytes(page.screenshot(full_page=picture.whole))


def chromium() -> str:
    """The browser's path.

    Raises:
        SystemExit: there is none.
    """
    found = os.environ.get("DRAGOMAN_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not found:
        raise SystemExit("no chromium is installed: apt-get install chromium, or name one in DRAGOMAN_CHROMIUM")
    return found


def main() -> None:
    """Take the pictures that are named, or all of them."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for name in given.names or PICTURES:
            picture = PICTURES[name]
            width, height = picture.size
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=picture.scheme, reduced_motion="reduce"
            )
            content = take(context.new_page(), address, picture)
            context.close()
            file = given.out / f"{name}.png"
            if not file.exists() or file.read_bytes() != content:
                file.write_bytes(content)
            print(f"{file}  {len(content) // 1000} kB")
        browser.close()


if __name__ == "__main__":
    main()

"""The playground in a real browser: where it is, what is looked at, and what the tests of it share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from small_service import FAST

Page: TypeAlias = Any  # playwright's own; the import is optional
Open: TypeAlias = Callable[..., Page]
CHROMIUM = os.environ.get("DRAGOMAN_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium is installed, the page was not tried: apt-get install -y chromium"
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
LEARNED = """\
# status: pending
# learned: 14 questions; device 10 of 14 (0.7 without it)
# e.g. "phone at a red light" -> "handheld device"
#= phone => phone, device|0.52
"""
KEY = "a-key-of-enough-characters"
ASKED = f"?q={FAST.replace(' ', '+')}"
PLACES = ("", ASKED, "?q=what+is+the+capital+of+France", "compare", f"compare{ASKED}", "review", "effect")
REPORT = '<!doctype html><html lang="en"><title>Report</title><main><h1>Does rewriting pay?</h1></main></html>'


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_selector(".stage .passages, .stage .notice")


def stage(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True)

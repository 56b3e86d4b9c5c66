"""The report of `dragoman evaluate` in a real browser: light and dark, wide and on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_service import FAST
from the_page import DESK, PHONE, Page, needs_chromium

from dragoman.evaluate.request import Options, run_evaluate

pytestmark = needs_chromium
ASKED = {
    FAST: "s1",
    "hey do i have to carry my license, thanks": "s2",
    "who stops for a school bus": "s3",
    "texting on the road": "s4",
    "how close behind a fire truck": "s5",
    "what is my street called": "s6",
    "hello, show me the speed limit please": "s1",
}
RAW_AND_REWRITE = [
    {"raw": "hi, what is the speed limit? thanks", "rewrite": "what is the speed limit?"},
    {"raw": "who stops for a school bus", "rewrite": "who stops for a school bus"},
]


def rows(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def reports(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Addresses of a report with judgments, one without, and one of texts."""
    made = tmp_path_factory.mktemp("reports")
    collection = made / "roads"
    collection.mkdir()
    rows(collection / "queries.jsonl", [{"_id": f"q{at}", "text": text} for at, text in enumerate(ASKED)])
    judged = "".join(f"q{at}\t{doc_id}\t1\n" for at, doc_id in enumerate(ASKED.values()))
    (collection / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    (collection / "corpus.jsonl").write_bytes((folder / "corpus.jsonl").read_bytes())
    options: dict[str, Any] = {
        "arms": ("rules", "rules+lexicon", "cascade"),
        "profile": "road-law",
        "model": f"replay:{folder / 'replies.jsonl'}",
    }
    off_topic = rows(made / "off.jsonl", [{"_id": "ood", "text": "what is the capital of France"}])
    texts = rows(made / "texts.jsonl", RAW_AND_REWRITE)
    index = folder / "index"
    asked = {
        "judged": Options(collection, **options, index=index, noise=True, tune=True, off_topic=off_topic),
        "unjudged": Options(collection, **options, index=index, noise=True, unlabelled=True, known_items=10),
        "texts": Options(texts, **options),
    }
    for name, each in asked.items():
        run_evaluate(replace(each, report=made / f"{name}.html"))
    return {name: (made / f"{name}.html").as_uri() for name in asked}


@pytest.fixture
def opened(browser: Any, reports: Mapping[str, str]) -> Iterator[Any]:
    """Open a report with all that it folds away; at the end nothing may have gone wrong or come from elsewhere."""
    wrong: list[str] = []
    contexts: list[Any] = []

    def visit(name: str, viewport: dict[str, int], scheme: str = "light") -> Page:
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: wrong.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: wrong.append(f"uncaught: {error}"))
        page.on("request", lambda asked: None if asked.url == reports[name] else wrong.append(asked.url))
        page.goto(reports[name])
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["judged", "unjudged", "texts"])
def test_axe_finds_nothing_in_a_report(opened: Any, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    for viewport in (DESK, PHONE):
        results = axe.run(opened(name, viewport, scheme))
        assert results.violations_count == 0, f"{name} {viewport}: {results.generate_report()}"


@pytest.mark.parametrize("name", ["judged", "unjudged", "texts"])
def test_a_report_fits_its_window_and_on_a_desk_its_tables_do(opened: Any, name: str) -> None:
    phone = opened(name, PHONE)
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    desk = opened(name, DESK)
    cut = "tables => tables.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel)"
    assert desk.locator(".scroll").evaluate_all(cut) == []


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("judged", ["Difference to raw in nDCG@10", "What each step came to", "Milliseconds a question"]),
        ("unjudged", ["What each step came to", "Milliseconds a question"]),
        ("texts", ["delta", "Milliseconds a question"]),
    ],
)
def test_what_is_known_of_every_arm_is_drawn(opened: Any, name: str, drawn: list[str]) -> None:
    page = opened(name, DESK)
    for heading in drawn:
        part = page.locator("section", has=page.get_by_role("heading", name=heading, exact=True)).first
        assert part.get_by_role("img").count() >= 2, heading

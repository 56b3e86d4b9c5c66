"""The meter over a toy corpus: every figure by hand, and what people and programs read of it."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path

import numpy as np
import pytest
from toy_corpus import HARMFUL, HELPFUL, QUESTIONS, arm, toy

from dragoman.errors import CollectionError
from dragoman.evaluate.data import as_data
from dragoman.evaluate.drawn import TOOK
from dragoman.evaluate.evaluation import Evaluation, Prices, evaluate, extremes, gap_closed
from dragoman.evaluate.files import read_run
from dragoman.evaluate.printed import figures, html_table, took
from dragoman.evaluate.report import page
from dragoman.evaluate.run import run_arm, write_runs

ARM_KEYS = {
    "nDCG@10", "RR@10", "R@100", "Success@5", "delta", "interval", "p", "wins", "ties", "losses", "harm",
    "gap_closed", "unjudged@10", "p50_ms", "p99_ms", "outcomes", "rules", "tokens", "cost", "failed",
}  # fmt: skip


@pytest.fixture
async def found() -> Evaluation:
    return await evaluate(toy(), [arm("helpful", [HELPFUL]), arm(), arm("wrong", [HARMFUL])])


def test_raw_comes_first_and_its_figures_are_hand_computed(found: Evaluation) -> None:
    """q3 shares only "on" with d4 and nothing with others; all four rank their passage first but q1."""
    assert list(found.arms) == ["raw", "helpful", "wrong"]
    raw = found.raw
    # q1 "hello how fast in a residence district": d1 shares in, a, residence, district
    assert raw.values["RR@10"].tolist() == [1, 1, 1, 1]


def test_the_harmful_arm_loses_what_arithmetic_says(found: Evaluation) -> None:
    """q2: d2 has 1/61 from the question; d3 has 2/61 from the wrong search of weight 2: d2 falls to rank 2."""
    wrong = found.arms["wrong"]
    assert wrong.values["nDCG@10"].tolist() == pytest.approx([1, 1 / np.log2(3), 1, 1])
    assert (wrong.comparison.wins, wrong.comparison.ties, wrong.comparison.losses) == (0, 3, 1)
    assert wrong.comparison.harm == 1 / 4
    assert extremes(found, wrong) == ([1], [])


def test_outcomes_rules_and_tokens_are_counted(found: Evaluation) -> None:
    run = found.arms["helpful"].run
    assert run.outcomes == {"says": {"rewritten": 2, "unchanged": 2}}
    assert run.rules == {"said": 2}
    assert (run.usage.tokens_in, run.usage.tokens_out) == (200, 20)


def test_json_holds_exactly_these_names(found: Evaluation) -> None:
    data = as_data(found, Prices(1.0, 5.0))
    assert set(data) == {"collection", "questions", "left_out", "arms", "verdict", "worst", "best"}
    assert data["collection"] == "toy"
    assert data["questions"] == 4
    for row in data["arms"].values():
        assert set(row) == ARM_KEYS
    assert data["arms"]["helpful"]["cost"] == pytest.approx((200 * 1 + 20 * 5) / 1e6)
    assert as_data(found)["arms"]["helpful"]["cost"] is None
    assert json.loads(json.dumps(data)) == data


async def test_worst_and_best_carry_their_trees() -> None:
    data = as_data(await evaluate(toy(), [arm(), arm("wrong", [HARMFUL])]))
    (worst,) = data["worst"]
    assert (worst["id"], worst["arm"], worst["raw"]) == ("q2", "wrong", 1)
    assert worst["searches"] == [QUESTIONS["q2"], "headlamps lighted from sunset"]
    assert worst["hits"][0]["doc_id"] == "d3"
    assert "wrong  rewritten" in worst["explain"]
    assert data["best"] == []


async def test_the_gap_closed_is_measured_against_the_ceiling() -> None:
    asked = {**QUESTIONS, "q1": "headlamps", "q3": "nothing at all"}  # raw finds neither
    ceiling = toy({**QUESTIONS, "q3": "electronic message"})
    helpful = arm("helpful", [type(HELPFUL)({"nothing at all": ("electronic message",)})])
    found = await evaluate(toy(asked), [arm(), helpful], ceiling=ceiling)
    assert found.raw.mean() == pytest.approx(2 / 4)
    assert found.ceiling == pytest.approx(1)
    assert found.arms["helpful"].gap_closed == pytest.approx((3 / 4 - 2 / 4) / (1 - 2 / 4))
    assert found.raw.gap_closed == 0


def test_no_gap_is_closed_where_there_is_none() -> None:
    assert gap_closed(0.8, 0.9, 0.8) is None


async def test_a_ceiling_without_a_judged_question_is_refused() -> None:
    with pytest.raises(CollectionError, match="not in the ceiling, 'q2' first"):
        await evaluate(toy(), [arm()], ceiling=toy({"q1": "x"}))


async def test_a_question_that_fails_scores_nought_and_says_why() -> None:
    found = await evaluate(toy({**QUESTIONS, "q4": "break"}), [arm()])
    assert found.raw.values["nDCG@10"].tolist() == [1, 1, 1, 0]
    assert "asked to break" in found.raw.run.failures["q4"]
    assert as_data(found)["arms"]["raw"]["failed"] == 1


async def test_unjudged_questions_are_listed_and_in_no_mean() -> None:
    found = await evaluate(toy({**QUESTIONS, "q9": "signal"}), [arm()])
    assert found.left_out == ("q9",)
    assert found.ids == ("q1", "q2", "q3", "q4")
    assert "q9" in page(found)


async def test_the_meter_needs_judgments_and_one_raw() -> None:
    with pytest.raises(CollectionError, match="no question has a document judged relevant"):
        await evaluate(toy({"q9": "signal"}), [arm()])
    with pytest.raises(ValueError, match="one of them 'raw'"):
        await evaluate(toy(), [arm("other")])
    with pytest.raises(ValueError, match="different names"):
        await evaluate(toy(), [arm(), arm()])


async def test_a_filter_narrows_each_question_to_its_own_metadata() -> None:
    run = await run_arm(arm(), toy().filtered(["metadata.state"]).questions)
    assert "d4" not in run.run["q1"]
    assert set(run.run["q3"]) <= {"d4", "d5", "d6"}


async def test_progress_counts_to_the_end() -> None:
    seen: list[tuple[str, int, int]] = []
    await evaluate(toy(), [arm()], progress=lambda *args: seen.append(args))
    assert seen == [("raw", i, 4) for i in range(1, 5)]


async def test_run_files_keep_the_order_shown(tmp_path: Path, found: Evaluation) -> None:
    paths = write_runs([each.run for each in found.arms.values()], tmp_path / "runs")
    assert [path.name for path in paths] == ["raw.run", "helpful.run", "wrong.run"]
    read = read_run(paths[2])
    for identity, doc_ids in found.arms["wrong"].run.run.items():
        assert sorted(read[identity], key=lambda d: -read[identity][d]) == list(doc_ids)


class _References(html.parser.HTMLParser):
    """Every tag and attribute that could fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe", "object", "embed", "audio", "video", "source", "base"):
            self.found.append(tag)
        self.found.extend(f"{name}={value}" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset"))


def test_the_report_refers_to_nothing_outside_itself(found: Evaluation) -> None:
    text = page(found)
    seen = _References()
    seen.feed(text)
    assert seen.found == []
    assert not re.search(r"https?://|url\(|@import", text)


def test_the_report_escapes_what_people_wrote(found: Evaluation) -> None:
    import dataclasses

    hostile = dataclasses.replace(found, collection='<script>alert("x")</script>')
    assert "<script" not in page(hostile)


def test_every_plot_says_what_it_shows(found: Evaluation) -> None:
    text = page(found)
    for image in re.findall(r"<svg[^>]*>", text):
        assert "aria-label=" in image or 'aria-hidden="true"' in image
    assert "helpful: 0 won, 4 even, 0 lost" in text
    assert "prefers-color-scheme: dark" in text


def test_no_two_tables_of_a_report_have_one_name(found: Evaluation) -> None:
    text = page(found, [("Noise", html_table({"raw": {"same_query": 1.0}})), ("Off", html_table({"raw": {"held": 1}}))])
    names = re.findall(r'role="region" tabindex="0" aria-label="([^"]+)"', text)
    assert len(set(names)) == len(names) == 4


def test_rules_tokens_and_their_cost_are_said_where_there_are_any(found: Evaluation) -> None:
    used = "200 tokens in, 20 out, cost 0.0003"
    for said in (figures(found, Prices(1.0, 5.0)), page(found, prices=Prices(1.0, 5.0))):
        assert used in said
        assert "said 2" in said
    terminal = figures(found).splitlines()
    assert "  helpful: 200 tokens in, 20 out; said 2" in terminal
    assert not any(line.startswith("  raw") for line in terminal)
    assert "cost" not in page(found)


async def test_nothing_is_said_of_tokens_and_rules_where_there_are_none() -> None:
    bare = await evaluate(toy(), [arm()])
    assert TOOK not in figures(bare)
    assert TOOK not in page(bare)


def test_rules_beyond_the_most_frequent_are_counted() -> None:
    rules = {f"r{at}": 20 - at for at in range(10)}
    assert took({"a": {"rules": rules, "tokens": {"in": 0, "out": 0}}})["a"][1].endswith("r7 13 and 2 more")


def test_an_arm_named_like_a_figure_stays_a_column() -> None:
    drawn = html_table({"rules": {"rules": 1.0, "outcomes": 0.5}, "outcomes": {"rules": 0.5, "outcomes": 1.0}})
    assert re.findall(r'<th scope="col">(\w+)</th>', drawn) == ["arm", "rules", "outcomes"]
    assert "<svg" not in drawn

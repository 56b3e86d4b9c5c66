"""What was made elsewhere joins the comparison: recorded searches and other systems' runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy_corpus import QUESTIONS, hall, toy

from dragoman.errors import CollectionError, LLMUnavailable
from dragoman.evaluate.recorded import Ids, Recorded, RunFile, read_searches
from dragoman.evaluate.synthetic import noisy
from dragoman.types import Outcome, Question, Rewriting


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    path.write_text(
        '{"_id": "q3", "searches": ["electronic message", " "]}\n'
        '{"question": "What is the capital of France", "searches": []}\n'
        '{"_id": "q2", "question": "other words", "searches": ["licence"], "about_corpus": true}\n',
        "utf-8",
    )
    return path


def test_replies_are_found_by_id_and_by_text_whatever_its_case(replies: Path) -> None:
    recorded = Recorded(read_searches(replies), Ids(toy()))
    found = recorded(Rewriting.of(QUESTIONS["q3"]))
    assert [(search.text, search.origin) for search in found.searches] == [("electronic message", "replay")]
    assert [search.text for search in recorded(Rewriting.of("Other Words")).searches] == ["licence"]


def test_no_searches_mean_off_topic_and_no_reply_means_failed(replies: Path) -> None:
    recorded = Recorded(read_searches(replies), Ids(toy()))
    assert recorded(Rewriting.of("what is the capital of france")).off_topic
    with pytest.raises(LLMUnavailable, match="no reply is recorded"):
        recorded(Rewriting.of("never asked"))
    steps = hall([recorded]).rewrite("never asked").steps
    assert [step.outcome for step in steps] == [Outcome.FAILED]


def test_variants_of_a_question_share_its_reply(replies: Path) -> None:
    ids = Ids(toy())
    other = noisy(toy(), seed=4)
    ids.add(other)
    recorded = Recorded(read_searches(replies), ids)
    assert recorded(Rewriting.of(other.questions[2].question)).searches[0].text == "electronic message"


def test_questions_that_differ_by_their_filters_alone_have_their_own_ids() -> None:
    collection = toy({"q1": "the same", "q3": "the same"}).filtered(["metadata.state"])
    ids = Ids(collection)
    assert [ids.of(asked.question) for asked in collection.questions] == ["q1", "q3"]
    assert ids.of(Question("unknown")) is None


@pytest.mark.parametrize("row", ['{"_id": "a"}', '{"searches": ["x"]}', '{"_id": "a", "searches": "x"}'])
def test_a_line_that_records_no_searches_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(row, "utf-8")
    with pytest.raises(CollectionError, match=r'replies.jsonl:1: expected .*"searches"'):
        read_searches(path)


async def test_a_run_answers_with_its_own_lists_ties_as_trec_eval_puts_them(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("q1 Q0 d1 1 0.5 t\nq1 Q0 d2 2 0.5 t\nq1 Q0 d3 3 0.9 t\n", "utf-8")
    run = RunFile(path, Ids(toy()))
    assert [hit.doc_id for hit in (await run(Question(QUESTIONS["q1"]))).hits] == ["d3", "d2", "d1"]
    assert (await run(Question(QUESTIONS["q2"]))).hits == ()

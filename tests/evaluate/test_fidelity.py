"""Text fidelity: token F1 and kept terms by hand, on rows and through arms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from toy_corpus import hall

from dragoman.errors import CollectionError, LLMUnavailable
from dragoman.evaluate.fidelity import fidelity, fidelity_data, kept_terms, read_pairs, token_f1
from dragoman.evaluate.run import Arm
from dragoman.protocols import Rewriter
from dragoman.types import Rewriting


@dataclass(frozen=True)
class Drops:
    """Takes a word out; down for a question that asks for it."""

    word: str
    name: str = "drops"

    def __call__(self, rewriting: Rewriting, /) -> Rewriting:
        if "down" in rewriting.query:
            raise LLMUnavailable("down")
        return rewriting.rewrite(" ".join(w for w in rewriting.query.split() if w != self.word))


def texts(name: str, *steps: Rewriter) -> Arm:
    dragoman = hall(steps)
    return Arm(name, dragoman.asearch, dragoman.arewrite)


def test_token_f1_is_hand_computed() -> None:
    assert token_f1("a b c d", "b c x") == pytest.approx(2 * 2 / (4 + 3))
    assert token_f1("a a", "a") == pytest.approx(2 * 1 / 3)
    assert token_f1("The Cat!", "the cat") == 1
    assert token_f1("", "") == 1
    assert token_f1("", "a") == 0


def test_kept_terms_counts_what_a_person_kept_of_what_was_given() -> None:
    given = "hi please tell me about learner permits in Texas"
    assert kept_terms("learner permit", "learner permits in Texas", given) == pytest.approx(2 / 3)
    assert kept_terms("anything", "wholly other words", given) == 1


async def test_every_row_is_measured_and_clean_ones_must_stay(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"id": "1", "raw": "hello speed limit", "rewrite": "speed limit"}\n'
        '{"id": "1", "raw": "speed limit", "keep": "speed limit"}\n'
        '{"raw": "say hello", "rewrite": "say hello", "history": ["a", "b"]}\n'
        '{"raw": "down", "rewrite": "down"}\n',
        "utf-8",
    )
    pairs = read_pairs(path)
    assert [pair.id for pair in pairs] == ["1", "1", "3", "4"]
    found = await fidelity(pairs, [texts("raw"), texts("drops", Drops("hello"))])
    assert found[1].texts == ("speed limit", "speed limit", "say", "down")
    assert found[0].clean == 1
    assert found[1].clean == pytest.approx(2 / 3)
    data = fidelity_data(found)
    assert data["raw"]["F1"] == pytest.approx((4 / 5 + 3) / 4)
    assert data["drops"]["F1"] == pytest.approx((1 + 1 + 2 / 3 + 1) / 4)
    assert (data["drops"]["wins"], data["drops"]["losses"]) == (1, 1)
    assert data["raw"]["p"] == 1


async def test_without_raws_texts_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"raw": "hello speed", "rewrite": "speed"}\n', "utf-8")
    run_file = Arm("raw", hall().asearch)
    for others in ([], [texts("drops", Drops("hello"))]):
        found = await fidelity(read_pairs(path), [run_file, *others])
        with pytest.raises(CollectionError, match="'raw' is a run file, which holds no texts"):
            fidelity_data(found)


@pytest.mark.parametrize(
    ("row", "said"), [('{"raw": "x"}', "raw"), ('{"raw": " ", "rewrite": "x"}', "not a question"), ("", "no row")]
)
def test_rows_that_cannot_be_read_are_named(tmp_path: Path, row: str, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(row + "\n", "utf-8")
    with pytest.raises(CollectionError, match=said):
        read_pairs(path)

"""The lexicon file: what a person wrote or decided survives learning again, and what waits is not in force."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import LexiconError
from dragoman.learn import Pair, Review, Status, learn, merged, read_review, write_review
from dragoman.learn.file import HEADER, Draft, evidence
from dragoman.rewriters.lexicon import Lexicon


def pairs(word: str = "junker", said: str = "abandoned vehicle", count: int = 8) -> list[Pair]:
    return [Pair(f"{word} case{n}", (said,)) for n in range(count)] + [
        Pair(f"other{n % 2} thing{n}", (f"speed limit{n % 2}",)) for n in range(count)
    ]


def draft(left: str = "phone", word: str = "device", weight: float = 0.5) -> Draft:
    return Draft((left,), ((word, weight),), evidence([(word, 3, 4, 0.5)], 5, '"a" -> "b"'))


def test_with_review_new_entries_wait_and_are_not_in_force(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    assert learn(pairs(), path, review=True).pending >= 1
    assert not Lexicon.read(path).entries
    assert {block.status for block in read_review(path).blocks} == {Status.PENDING}


def test_an_accepted_entry_is_in_force_and_stays_as_the_person_left_it(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    learn(pairs(), path, review=True)
    write_review(read_review(path).decide("junker", Status.ACCEPTED), path)
    path.write_text(path.read_text("utf-8").replace("abandoned|", "abandoned car|"), "utf-8")
    learn(pairs("junker", "abandoned vehicle", 30), path)
    assert "abandoned car" in Lexicon.read(path).apply("my junker").text
    (block,) = [block for block in read_review(path).blocks if block.left == "junker"]
    assert block.status is Status.ACCEPTED
    assert block.evidence[0].startswith("learned: 30 questions")


def test_a_rejected_entry_is_not_proposed_again(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    learn(pairs(), path)
    assert Lexicon.read(path).apply("junker").hits
    write_review(read_review(path).decide("junker", Status.REJECTED), path)
    summary = learn(pairs("junker", "abandoned vehicle", 30), path)
    assert not Lexicon.read(path).apply("junker").hits
    assert "junker" not in summary.added
    assert [block.left for block in read_review(path).of(Status.REJECTED)] == ["junker"]


def test_a_persons_own_entries_remarks_and_order_stay(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    own = "# our own words\ntag, license plate\n\n# Ann looked at this\nwhip => vehicle\n"
    path.write_text(own, "utf-8")
    learn(pairs(), path)
    assert own.strip() in path.read_text("utf-8")
    learn(pairs("whip", "automobile"), path)
    assert "whip => vehicle" in path.read_text("utf-8")
    assert path.read_text("utf-8").count("whip =>") == 1


def test_an_entry_that_no_longer_pays_goes(tmp_path: Path) -> None:
    review = merged(Review(()), [draft("phone"), draft("car")], asking=False)
    after = merged(review, [draft("car")], asking=False)
    assert [block.left for block in after.blocks] == ["car"]


def test_added_drafts_leave_what_was_learned(tmp_path: Path) -> None:
    review = merged(Review(()), [draft("phone")], asking=False)
    after = merged(review, [draft("car"), draft("phone", "handset")], asking=True, anew=False)
    assert "handset" not in str(after)
    assert {block.left: block.status for block in after.blocks} == {
        "phone": Status.LEARNED,
        "car": Status.PENDING,
    }


def test_what_waits_goes_on_waiting_with_what_is_newly_known(tmp_path: Path) -> None:
    review = merged(Review(()), [draft("phone")], asking=True)
    (block,) = merged(review, [draft("phone", "handset")], asking=False).blocks
    assert block.status is Status.PENDING
    assert "handset" in block.lines[0]


def test_the_file_reads_back_to_itself_and_stands_in_the_order_of_left_sides(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    review = merged(Review(()), [draft(left) for left in ("phone", "auto", "mobile home")], asking=False)
    write_review(review.decide("auto", Status.REJECTED), path)
    text = path.read_text("utf-8")
    assert text.startswith(HEADER)
    write_review(read_review(path), path)
    assert path.read_text("utf-8") == text
    assert [block.left for block in read_review(path).blocks] == ["auto", "mobile home", "phone"]


def test_a_draft_without_an_example_keeps_the_one_before() -> None:
    review = merged(Review(()), [draft()], asking=False)
    bare = Draft(("phone",), (("device", 0.6),), evidence([("device", 4, 5, 0.5)], 6))
    (block,) = merged(review, [bare], asking=False).blocks
    assert block.evidence[1] == 'e.g. "a" -> "b"'


def test_forms_that_are_compared_alike_stand_once() -> None:
    forms = Draft(("driver's permit", "drivers permit"), (("instruction permit", 0.5),), evidence([], 3))
    (block,) = merged(Review(()), [forms], asking=False).blocks
    assert len(block.lines) == 1


def test_deciding_is_accepting_rejecting_or_putting_back() -> None:
    review = merged(Review(()), [draft()], asking=True)
    with pytest.raises(LexiconError, match="no entry looks for"):
        review.decide("car", Status.ACCEPTED)
    with pytest.raises(LexiconError, match="no decision"):
        review.decide("phone", Status.OWN)
    assert review.decide("PHONE", Status.ACCEPTED).blocks[0].status.in_force


def test_a_line_that_cannot_be_read_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "l.txt"
    path.write_text("a => b\n\nalone\n", "utf-8")
    with pytest.raises(LexiconError) as caught:
        read_review(path)
    assert caught.value.line == 3


def test_no_file_is_no_blocks(tmp_path: Path) -> None:
    assert read_review(tmp_path / "absent.txt").blocks == ()

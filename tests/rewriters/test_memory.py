"""Memory recalls what was accepted for near questions, learns what near means, forgets on request, and costs little."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.errors import RetrievalError, RewriteError
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts, build
from dragoman.protocols import Retriever
from dragoman.rewriters.chain import Chain
from dragoman.rewriters.memory import FLOOR, Memory, Remember
from dragoman.rewriters.memory_store import MemoryStore, Remembered
from dragoman.rewriters.nearness import MEASURED, Nearness, Shelf
from dragoman.testing import ScriptedModel, check_rewriter
from dragoman.text import stems
from dragoman.types import Message, Outcome, Question, Rewriting, Search

DIMENSIONS = 64


class Bag:
    """A vector of the words of a text: near means words in common."""

    name = "bag"
    local = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> NDArray[np.float32]:
        self.asked.append(text)
        vector = np.full(DIMENSIONS, 0.01, np.float32)
        for stem in stems(text):
            vector[sum(map(ord, stem)) % DIMENSIONS] += 1
        return vector / np.float32(np.linalg.norm(vector))


PAST = [
    ("how far from a fire hydrant do i have to park", ["parking distance feet fire hydrant"]),
    ("what happens if i park at a hydrant", ["parking prohibited fire hydrant", "parking violation fine"]),
    ("do i need a helmet on a motorcycle", ["motorcycle protective helmet required"]),
    ("how fast may i drive near a school", ["school zone maximum speed limit"]),
    ("when do i dim my high beams", ["dim headlights oncoming vehicle feet"]),
]


def memory(path: Path, past: Sequence[tuple[str, Sequence[str]]] = PAST, pooled: bool = True) -> Memory:
    made = Memory(MemoryStore(path / "memory.sqlite"), Bag(), pooled=pooled)
    made.remember(past)
    return made


def recalled(step: Memory, question: str) -> Rewriting:
    given = step(Rewriting.of(question))
    assert isinstance(given, Rewriting)
    return given


def test_it_keeps_the_rewriters_contract(tmp_path: Path) -> None:
    check_rewriter(memory(tmp_path))


def test_a_near_question_brings_its_searches_as_one_weighted_search(tmp_path: Path) -> None:
    (search,) = recalled(memory(tmp_path), "how close to a fire hydrant can i park").searches
    assert search.origin == "memory"
    assert {"parking", "fire", "hydrant"} <= {word for word, _ in search.terms}
    assert np.linalg.norm(search.vector) == pytest.approx(1, abs=1e-5)
    assert FLOOR <= search.weight <= 1


def test_the_record_says_which_past_questions_it_comes_from(tmp_path: Path) -> None:
    step = Chain([memory(tmp_path)])(Rewriting.of("how close to a fire hydrant can i park"))
    assert isinstance(step, Rewriting)
    rules = step.steps[0].rules
    assert rules[0].found == PAST[0][0]
    assert rules[0].put == PAST[0][1][0]
    assert rules[0].source.startswith("nearness 0.")


def test_a_far_question_brings_nothing(tmp_path: Path) -> None:
    rewriting = Rewriting.of("zebra quantum violin")
    assert memory(tmp_path)(rewriting) is rewriting


def test_an_empty_store_brings_nothing(tmp_path: Path) -> None:
    assert not recalled(memory(tmp_path, []), "how far from a hydrant").searches


def test_the_nearer_question_weighs_more(tmp_path: Path) -> None:
    step = memory(tmp_path)
    near = recalled(step, PAST[0][0]).searches[0].weight
    less = recalled(step, "hydrant").searches[0].weight
    assert near > less


def test_beside_a_models_searches_it_weighs_half(tmp_path: Path) -> None:
    step = memory(tmp_path)
    alone = recalled(step, PAST[0][0]).searches[0].weight
    given = step(Rewriting.of(PAST[0][0]).add([Search("hydrant", "rephrase")]))
    assert isinstance(given, Rewriting)
    assert given.searches[1].weight == pytest.approx(alone / 2)


def test_separate_searches_share_the_nearness_of_the_nearest(tmp_path: Path) -> None:
    step = memory(tmp_path, pooled=False)
    question = "how close to a fire hydrant can i park"
    searches = recalled(step, question).searches
    assert searches[0].text == PAST[0][1][0]
    assert sum(search.weight for search in searches) == pytest.approx(step.recall(question)[0].nearness)


def test_a_recalled_search_needs_no_embedding(tmp_path: Path) -> None:
    bag = Bag()
    step = Memory(MemoryStore(tmp_path / "m.sqlite"), bag)
    step.remember(PAST)
    bag.asked.clear()
    recalled(step, "fire hydrant park")
    assert bag.asked == ["fire hydrant park"]


def test_what_is_asked_and_searched_is_masked_before_it_is_kept_or_compared(tmp_path: Path) -> None:
    step = Memory(MemoryStore(tmp_path / "m.sqlite"), Bag(), mask=lambda text: text.replace("bob@x.org", "[email]"))
    step.remember([("i am bob@x.org may i park", ["parking of bob@x.org", "parking"])])
    (entry,) = step.store.rows()
    assert (entry.question, entry.searches) == ("i am [email] may i park", ("parking of [email]", "parking"))


def test_a_follow_up_that_does_not_stand_alone_is_neither_recalled_nor_kept(tmp_path: Path) -> None:
    step = memory(tmp_path)
    follow_up = Rewriting.of(Question(PAST[0][0], (Message("user", "hello"),)))
    assert step(follow_up) is follow_up
    assert Remember(step)(follow_up.add([Search("parking", "rephrase")])).searches  # type: ignore[union-attr]
    assert len(step.store) == len(PAST)
    assert step(follow_up.rewrite(PAST[0][0] + "?")) is not follow_up


def test_accepted_searches_of_the_model_are_remembered_and_others_are_not(tmp_path: Path) -> None:
    step = memory(tmp_path, [])
    said = Rewriting.of("can i ride in the truck bed").add([Search("riding in cargo area", "rephrase")])
    given = Remember(step)(said.add([Search("truck bed", "feedback")]))
    assert isinstance(given, Rewriting)
    assert given.notes == ("remembered",)
    assert [entry.searches for entry in step.store.rows()] == [("riding in cargo area",)]
    assert recalled(step, "can i ride in the truck bed").searches


def test_a_question_known_already_gets_the_new_searches(tmp_path: Path) -> None:
    step = memory(tmp_path)
    assert step.remember([(PAST[0][0].upper(), ["stopping near hydrant"])]) == 1
    assert step.remember([(PAST[0][0].upper(), ["stopping near hydrant"])]) == 0
    assert len(step.store) == len(PAST)
    assert step.recall(PAST[0][0])[0].entry.searches == ("stopping near hydrant",)


def test_what_another_process_remembers_is_recalled_without_reopening(tmp_path: Path) -> None:
    step = memory(tmp_path)
    assert not recalled(step, "zebra crossing").searches
    other = Memory(MemoryStore(tmp_path / "memory.sqlite"), Bag())
    other.remember([("zebra crossing", ["pedestrian crosswalk"])])
    assert recalled(step, "zebra crossing").searches
    other.store.forget(question="zebra crossing")
    assert not recalled(step, "zebra crossing").searches


def _write(path: Path, number: int) -> None:
    step = Memory(MemoryStore(path), Bag())
    for i in range(10):
        step.remember([(f"question {number} {i}", [f"search {number} {i}"])])


def test_many_processes_may_remember_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    writers = [multiprocessing.get_context("spawn").Process(target=_write, args=(path, n)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(MemoryStore(path)) == 30


def test_questions_can_be_taken_out_by_age_and_one_by_one_and_leave_no_trace_in_the_file(tmp_path: Path) -> None:
    step = memory(tmp_path)
    store = step.store
    assert store.forget(question="DO I NEED A HELMET on a motorcycle") == 1
    assert store.forget(before=time.time() - 60) == 0
    assert store.forget(before=time.time() + 1) == len(PAST) - 1
    assert not recalled(step, PAST[0][0]).searches
    store.close()
    held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"hydrant" not in held
    assert b"helmet" not in held


def test_forgetting_says_what_to_forget(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="clear"):
        MemoryStore(tmp_path / "m.sqlite").forget()


def test_profiles_do_not_see_one_anothers_questions(tmp_path: Path) -> None:
    memory(tmp_path)
    other = Memory(MemoryStore(tmp_path / "memory.sqlite", profile="other"), Bag())
    assert not other.recall(PAST[0][0])
    other.remember(PAST[:1])
    assert other.store.clear() == 1
    assert len(MemoryStore(tmp_path / "memory.sqlite")) == len(PAST)


def test_vectors_of_another_model_are_left_alone(tmp_path: Path) -> None:
    memory(tmp_path)
    bag = Bag()
    bag.name = "another"
    assert not Memory(MemoryStore(tmp_path / "memory.sqlite"), bag).recall(PAST[0][0])


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4096)
    assert len(MemoryStore(path)) == 0
    assert [file.name for file in tmp_path.glob("*.damaged-*")]


def test_what_is_no_memory_is_neither_moved_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("fast => speed\n" * 500, "utf-8")
    with pytest.raises(RewriteError, match=r"words\.txt is no memory"):
        MemoryStore(path)
    with pytest.raises(RewriteError, match="is no memory: it is a folder"):
        MemoryStore(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["words.txt"]
    assert path.read_text("utf-8") == "fast => speed\n" * 500


def test_a_file_of_a_later_version_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(RewriteError, match="later version"):
        MemoryStore(path)


def test_a_store_that_fails_costs_the_memory_and_not_the_question(tmp_path: Path) -> None:
    step = memory(tmp_path)
    step.store._db.close()
    after = Chain([step])(Rewriting.of("how far from a hydrant"))
    assert isinstance(after, Rewriting)
    assert after.steps[0].outcome is Outcome.FAILED


def test_an_embedder_that_fails_costs_the_memory_and_not_the_question(tmp_path: Path) -> None:
    class Broken(Bag):
        def __call__(self, text: str) -> NDArray[np.float32]:
            raise RetrievalError("no model")

    memory(tmp_path)
    with pytest.raises(RewriteError, match="no model"):
        Memory(MemoryStore(tmp_path / "memory.sqlite"), Broken()).recall("hydrant")


async def test_an_embedder_that_waits_for_another_machine_does_not_hold_the_loop(tmp_path: Path) -> None:
    bag = Bag()
    step = Memory(MemoryStore(tmp_path / "m.sqlite"), bag)
    step.remember(PAST)
    bag.local = False
    given = step(Rewriting.of(PAST[0][0]))
    assert not isinstance(given, Rewriting)
    assert (await given).searches


def test_what_is_remembered_must_hold_a_vector_for_each_text() -> None:
    with pytest.raises(ValueError, match="2 vectors"):
        Remembered("how", ("speed",), np.zeros((3, 4), np.float32), "bag", 0.0)
    with pytest.raises(ValueError, match="at least one search"):
        Remembered("how", (), np.zeros((1, 4), np.float32), "bag", 0.0)


def test_nearness_is_the_logistic_function_of_its_cosines() -> None:
    nearness = Nearness(1.0, 2.0, 3.0, -1.0)
    assert nearness(np.array([[0.5, 0.25, 0.0]]))[0] == pytest.approx(1 / (1 + np.exp(0.0)))
    assert Nearness().numbers == MEASURED


def shelf_of(pairs: Sequence[tuple[str, str]]) -> Shelf:
    bag, shelf = Bag(), Shelf(DIMENSIONS)
    shelf.extend([Remembered(q, (s,), np.stack([bag(q), bag(s)]), "bag", 0.0) for q, s in pairs])
    return shelf


def test_a_store_whose_near_words_mislead_learns_to_mind_the_searches() -> None:
    rng = np.random.default_rng(1)
    said = [f"topic{t} rule{t}" for t in range(12)]
    # The words of a question say nothing of its topic except the one that its searches hold too.
    pairs = [
        (f"topic{i % 12} filler{rng.integers(4)} noise{rng.integers(4)} chat{rng.integers(4)}", said[i % 12])
        for i in range(120)
    ]
    learned = shelf_of(pairs).learn()
    assert learned != Nearness()
    assert learned.search > MEASURED[1]


def test_three_questions_teach_almost_nothing() -> None:
    assert shelf_of([("a b", "c"), ("d e", "f")]).learn() == Nearness()
    learned = shelf_of([("park car", "parking"), ("drive fast", "speed"), ("helmet ride", "helmet")]).learn()
    assert learned.numbers == pytest.approx(MEASURED, abs=1.0)


def test_growing_one_by_one_comes_to_the_same_as_at_once() -> None:
    pairs = [(f"w{i % 7} v{i % 5} u{i}", f"s{i % 7}") for i in range(60)]
    bag, grown = Bag(), Shelf(DIMENSIONS)
    for question, said in pairs:
        grown.extend([Remembered(question, (said,), np.stack([bag(question), bag(said)]), "bag", 0.0)])
    rows, features = grown.near("w3 v2", bag("w3 v2"))
    others, same = shelf_of(pairs).near("w3 v2", bag("w3 v2"))
    assert set(rows.tolist()) == set(others.tolist())
    at = {row: place for place, row in enumerate(rows.tolist())}
    ordered = features[[at[row] for row in others.tolist()]]
    assert np.abs(ordered - same).max() < 0.1  # means and word weights are brought up to date now and then


def test_ten_thousand_questions_are_looked_through_in_about_a_millisecond(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((10_000, 2, 384)).astype(np.float32) + 0.3
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    words = [f"word{i}" for i in range(2000)]
    texts = [" ".join(rng.choice(words, 8)) for _ in range(10_000)]
    shelf = Shelf(384)
    shelf.extend([Remembered(text, ("a search",), v, "m", 0.0) for text, v in zip(texts, vectors, strict=True)])
    took = []
    for text, pair in zip(texts[:60], vectors[:60], strict=True):
        began = time.perf_counter()
        shelf.near(text, pair[0])
        took.append(time.perf_counter() - began)
    assert min(took) < 0.005  # a busy machine; bench/ measures it
    assert median(took) < 0.1


class Index:
    """A retriever by meaning, as memory sees it."""

    name, model, inline = "meaning", "bag", True

    def __init__(self) -> None:
        self.vector = Bag()


def test_a_profile_that_names_a_memory_recalls_what_its_model_said(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('steps = ["memory", "rephrase", "remember"]\n[memory]\npath = "m.sqlite"\n', "utf-8")
    reply = {"about_corpus": True, "searches": ["parking fire hydrant distance"]}
    question = "how near a hydrant may i park"
    parts = Parts(retrievers=(cast(Retriever, Index()),), llm=ScriptedModel(reply))
    first = build(load_profile(path), parts)
    assert [step.name for step in first.rewrite(question).steps] == ["memory", "rephrase", "remember"]
    without = Parts(retrievers=parts.retrievers, models=False)
    (search,) = build(load_profile(path), without).rewrite(question).searches
    assert (search.origin, search.text) == ("memory", "distance fire hydrant parking")


def test_without_a_path_a_profile_has_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('steps = ["memory", "remember"]\n', "utf-8")
    hall = build(load_profile(path), Parts(retrievers=(cast(Retriever, Index()),)))
    assert not hall.rewrite("how near a hydrant may i park").steps


def test_a_follow_up_with_a_courtesy_in_it_stands_alone_no_more_than_without(tmp_path: Path) -> None:
    step = memory(tmp_path)
    polite = Rewriting.of(Question(f"hi, {PAST[0][0]} please", (Message("user", "hello"),))).clean(PAST[0][0])
    assert step(polite) is polite


def test_questions_embedded_by_another_machine_do_not_wait_for_one_another(tmp_path: Path) -> None:
    memory(tmp_path)
    both = threading.Barrier(2, timeout=20)

    class Slow(Bag):
        def __call__(self, text: str) -> NDArray[np.float32]:
            both.wait()  # passed by two at once alone
            return super().__call__(text)

    step = Memory(MemoryStore(tmp_path / "memory.sqlite"), Slow())
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(step.recall, [PAST[0][0], PAST[2][0]]))
    assert all(found)


async def test_a_hall_closes_its_memory_and_what_keeps_for_it_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('steps = ["memory", "remember"]\n[memory]\npath = "m.sqlite"\n', "utf-8")
    hall = build(load_profile(path), Parts(retrievers=(cast(Retriever, Index()),), models=False))
    first, second = hall.steps
    assert isinstance(second, Remember)
    assert second.memory is first
    hall.retrievers = ()
    await hall.aclose()
    with pytest.raises(RewriteError, match="closed"):
        second.memory.recall("how near a hydrant may i park")

"""The cache answers what was accepted before, stores no failure, and breaks nothing."""

from __future__ import annotations

import asyncio
import inspect
import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dragoman.errors import LLMUnreadable, RewriteError
from dragoman.rewriters.cache import Cached, RewriteCache
from dragoman.rewriters.guard_checks import House
from dragoman.rewriters.guards import Guards
from dragoman.rewriters.language import LanguagePolicy
from dragoman.rewriters.masking import Masking
from dragoman.rewriters.memory_store import MemoryStore
from dragoman.rewriters.prompted import Options, Prompted
from dragoman.rewriters.promptfile import PromptFile, Setting, load_prompt
from dragoman.testing import ScriptedModel
from dragoman.types import Message, Question, Rewriting, Search


@dataclass
class Model:
    """Counts how often it is asked."""

    calls: int = 0
    fails: bool = False
    off_topic: bool = False
    name: str = "rephrase"

    async def __call__(self, rewriting: Rewriting) -> Rewriting:
        self.calls += 1
        await asyncio.sleep(0)
        if self.fails:
            raise LLMUnreadable("no", "text")
        if self.off_topic:
            return replace(rewriting, off_topic=True)
        return rewriting.add([Search("speed limit", self.name, 0.7, (("speed", 2.0),), ("words",))])


async def ask(step: Cached, rewriting: Rewriting) -> Rewriting:
    given = step(rewriting)
    return await given if inspect.isawaitable(given) else given


async def test_a_question_asked_again_needs_no_model_and_gets_the_same(tmp_path: Path) -> None:
    model = Model()
    step = Cached(model, RewriteCache(tmp_path / "c.sqlite"), "f")
    first = await ask(step, Rewriting.of("how fast"))
    again = step(Rewriting.of("how fast"))
    assert isinstance(again, Rewriting)
    assert (again.searches, again.notes) == (first.searches, ("from the cache",))
    assert model.calls == 1


async def test_whatever_the_answer_depends_on_is_in_the_key(tmp_path: Path) -> None:
    model, cache = Model(), RewriteCache(tmp_path / "c.sqlite")
    base = Rewriting.of("how fast")
    for rewriting in (
        base,
        Rewriting.of("how slow"),
        base.rewrite("fast"),
        base.add([Search("x", "y")]),
        Rewriting.of(Question("how fast", history=())),
        Rewriting.of(Question("how fast", history=(Message("user", "hi"),))),
    ):
        await ask(Cached(model, cache, "f"), rewriting)
    await ask(Cached(model, cache, "another fingerprint"), base)
    assert model.calls == 7


async def test_an_off_topic_answer_is_an_answer_and_a_failure_is_not_stored(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "c.sqlite")
    off = Model(off_topic=True)
    assert (await ask(Cached(off, cache, "f"), Rewriting.of("paris"))).off_topic
    assert (await ask(Cached(off, cache, "f"), Rewriting.of("paris"))).off_topic
    assert off.calls == 1
    failing = Model(fails=True)
    for _ in range(2):
        with pytest.raises(LLMUnreadable):
            await ask(Cached(failing, cache, "g"), Rewriting.of("q"))
    assert failing.calls == 2
    assert cache.stats().entries == 1


async def test_it_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "c.sqlite", max_entries=50)
    for number in range(200):
        cache.put(number.to_bytes(2, "big"), {"n": number})
    assert cache.stats().entries <= 55
    assert cache.get((199).to_bytes(2, "big")) == {"n": 199}
    assert cache.get((0).to_bytes(2, "big")) is None


def test_clearing_says_how_much_was_forgotten(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "c.sqlite")
    cache.put(b"k", 1)
    assert cache.clear() == 1
    assert cache.stats().entries == 0


DAMAGED = b"SQLite format 3\x00" + b"\xff" * 4096


def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(DAMAGED)
    cache = RewriteCache(path)
    cache.put(b"k", 1)
    assert cache.get(b"k") == 1
    assert [p.read_bytes() for p in tmp_path.glob("c.sqlite.damaged-*")] == [DAMAGED]


def test_a_damaged_files_log_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    other = RewriteCache(path)
    other.put(b"k", 1)
    other._db.execute("PRAGMA wal_checkpoint")
    log = path.with_name("c.sqlite-wal").read_bytes()
    path.write_bytes(DAMAGED)
    assert RewriteCache(path).get(b"k") is None
    assert [p.read_bytes() for p in tmp_path.glob("c.sqlite.damaged-*-wal")] == [log]


def _another_programs(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE rewrites (source TEXT, target TEXT)")
    db.close()


@pytest.mark.parametrize("begin", [True, False])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_bytes(b'{"question": "how fast"}\n' * 50), "it is no SQLite file"),
        (lambda path: path.write_bytes(b"x, y"), "it is no SQLite file"),
        (_another_programs, "a SQLite file of another kind"),
        (lambda path: MemoryStore(path).close(), "a SQLite file of another kind"),
        (Path.mkdir, "it is a folder"),
    ],
)
def test_what_is_no_cache_is_neither_moved_nor_changed(
    tmp_path: Path, make: Callable[[Path], object], says: str, begin: bool
) -> None:
    path = tmp_path / "mine"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(RewriteError, match=f"mine is no cache: .*{says}"):
        RewriteCache(path, begin=begin)
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("content", "says"), [(DAMAGED, "is damaged"), (b"", "no cache yet"), (None, "no cache yet")])
def test_one_that_is_only_looked_at_is_neither_made_nor_set_aside(
    tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "c.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RewriteError, match=says):
        RewriteCache(path, begin=False)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([] if content is None else [content])


def test_one_that_is_locked_or_cannot_be_made_is_gone_without_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "c.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE rewrites (key BLOB PRIMARY KEY, value TEXT, used REAL)")
    other.execute("BEGIN EXCLUSIVE")
    assert RewriteCache.usable(path) is None
    other.close()
    assert RewriteCache.usable(path / "below a file" / "c.sqlite") is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "locked" in caplog.text
    assert list(tmp_path.iterdir()) == [path]


async def test_an_entry_of_another_shape_is_replaced_not_believed(tmp_path: Path) -> None:
    model, cache = Model(), RewriteCache(tmp_path / "c.sqlite")
    step = Cached(model, cache, "f")
    cache.put(step._key(Rewriting.of("q")), {"searches": "speed limit"})
    assert (await ask(step, Rewriting.of("q"))).searches[0].text == "speed limit"
    assert model.calls == 1


async def test_a_cache_that_fails_costs_nothing_but_its_use(tmp_path: Path) -> None:
    cache = RewriteCache(tmp_path / "c.sqlite")
    cache.close()
    assert (await ask(Cached(Model(), cache, "f"), Rewriting.of("q"))).searches


def _write(path: str, start: int, count: int) -> None:
    cache = RewriteCache(path)
    for number in range(start, start + count):
        cache.put(number.to_bytes(4, "big"), {"n": number})


def test_many_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = str(tmp_path / "c.sqlite")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(path, start * 100, 100)) for start in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert RewriteCache(path).stats().entries == 300


def _write_and_say(path: str, said: str) -> None:
    cache = RewriteCache(path)
    with Path(said).open("a", buffering=1) as file:
        for number in range(1_000_000):
            cache.put(number.to_bytes(4, "big"), {"n": number})
            file.write(f"{number}\n")


def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    path, said = tmp_path / "c.sqlite", tmp_path / "said"
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        said.write_text("")
        worker = context.Process(target=_write_and_say, args=(str(path), str(said)))
        worker.start()
        while not said.read_text():
            time.sleep(0.01)
        time.sleep(0.05)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        acknowledged = [int(line) for line in said.read_text().split("\n")[:-1]]
        cache = RewriteCache(path)
        assert all(cache.get(number.to_bytes(4, "big")) == {"n": number} for number in acknowledged)
        assert not list(tmp_path.glob("*.damaged-*"))
        cache.close()


def test_a_file_of_this_kind_is_what_it_says(tmp_path: Path) -> None:
    RewriteCache(tmp_path / "c.sqlite").put(b"k", [1])
    with sqlite3.connect(tmp_path / "c.sqlite") as db:
        assert db.execute("SELECT value FROM rewrites").fetchall() == [("[1]",)]
    db.close()


def test_a_profiles_guards_and_masking_are_in_the_key_of_what_its_model_said() -> None:
    prompt = load_prompt("rephrase")

    def fingerprint(house: House, prompt: PromptFile = prompt, masking: Masking | None = None) -> str:
        options = Options(masking=masking)
        return Prompted(prompt, ScriptedModel({}), Setting(), Guards(house), options).fingerprint

    whatever = {
        fingerprint(House()),
        fingerprint(House(figures="any")),
        fingerprint(House(language=LanguagePolicy(corpus="de"))),
        fingerprint(House(), replace(prompt, on=("words",))),
        fingerprint(House(), masking=Masking(["email"])),
        fingerprint(House(), masking=Masking(["email", "card"])),
    }
    assert len(whatever) == 6
    assert fingerprint(House(), masking=Masking(["card", "email"])) in whatever

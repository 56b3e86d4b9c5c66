from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from toy_index import Corpus, Rows

from dragoman.errors import CollectionError, IndexStateError, MissingExtraError
from dragoman.retrievers import EmbeddedIndex, build_index, open_index
from dragoman.retrievers.embedded import layout, vectors
from dragoman.retrievers.embedders import Named
from dragoman.types import Search


def words(index: EmbeddedIndex, text: str) -> tuple[str, ...]:
    return index.words(Search(text), 10, {}).doc_ids


def nearest(index: EmbeddedIndex, text: str, depth: int = 3) -> tuple[str, ...]:
    assert index.meaning is not None
    return index.meaning(Search(text), depth, {}).doc_ids


def test_the_summary_says_what_was_done(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> None:
    source = corpus([*signs, {"_id": "blank", "text": "  "}])
    summary = build_index([source], tmp_path / "index", embedder=toy)
    assert (summary.documents, summary.added, summary.skipped, summary.replaced) == (5, 5, 1, 0)
    assert summary.embedder == "callable:bag"
    assert summary.warnings == ("1 documents had neither title nor text and were left out",)
    files = [p for p in (tmp_path / "index" / "generation-1").rglob("*") if p.is_file() and p.suffix != ".lock"]
    assert summary.size == sum(path.stat().st_size for path in files)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert len(index) == 5


def test_progress_ends_at_the_whole(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> None:
    seen: list[tuple[int, int | None]] = []
    rows = [{"_id": str(n), "text": f"passage {n}"} for n in range(1100)]
    build_index([corpus(rows)], tmp_path / "index", embedder=toy, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (1100, 1100)
    assert len(seen) > 2
    assert seen == sorted(seen)


def test_without_an_embedder_the_index_holds_words_only(corpus: Corpus, signs: Rows, tmp_path: Path) -> None:
    summary = build_index([corpus(signs)], tmp_path / "index", embedder=None)
    assert (summary.embedder, summary.warnings) == (None, ())
    with open_index(tmp_path / "index") as index:
        assert index.meaning is index.headings_meaning is None
        assert index.retrievers == (index.words,)


def test_without_the_extra_the_default_is_words_only_and_says_so(
    corpus: Corpus, signs: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dragoman.retrievers import embedders

    monkeypatch.setattr(embedders, "_loaded", {})
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    summary = build_index([corpus(signs)], tmp_path / "index")
    assert summary.embedder is None
    assert "dragoman[meaning]" in summary.warnings[0]


def test_an_embedder_asked_for_by_name_that_is_not_installed_is_an_error(
    corpus: Corpus, signs: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(MissingExtraError, match=r"dragoman\[model2vec\]"):
        build_index([corpus(signs)], tmp_path / "index", embedder="model2vec:some/model")


def test_a_failed_build_leaves_the_old_index_in_use(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> None:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    broken = corpus([{"_id": "x", "text": "new"}, {"_id": "x", "text": "twice"}], "broken.jsonl")
    with pytest.raises(CollectionError, match="already given"):
        build_index([broken], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert len(index) == 5
    assert sorted(p.name for p in (tmp_path / "index").iterdir()) == ["generation-1", "lock", "manifest.json"]


def test_a_corpus_of_blank_documents_is_no_corpus(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="no document with a title or a text"):
        build_index([corpus([{"_id": "a", "text": " "}])], tmp_path / "index", embedder=None)
    with pytest.raises(IndexStateError, match="no finished index"):
        open_index(tmp_path / "index")


def test_a_build_replaces_the_whole_index(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> None:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    build_index([corpus([{"_id": "new", "text": "stop"}])], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert (len(index), words(index, "stop")) == (1, ("new",))


def test_an_open_index_stays_as_it_is_while_another_takes_its_place(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert nearest(index, "stop")
        build_index([corpus([{"_id": "new", "text": "stop"}])], tmp_path / "index", embedder=toy)
        assert words(index, "stop") == ("1",)
        hit = index.document("3")
        assert hit is not None
        assert hit.title == "Speed cameras"


def test_added_documents_are_found_beside_the_earlier_ones(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    summary = build_index([corpus([{"_id": "6", "text": "a zebra"}])], tmp_path / "index", embedder=toy, add=True)
    assert (summary.documents, summary.added, summary.replaced) == (6, 1, 0)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert (words(index, "zebra"), words(index, "stopping")) == (("6",), ("1",))
        assert nearest(index, "zebra")[0] == "6"
        assert nearest(index, "stop sign")[0] == "1"
        assert index.vocabulary.document_frequency("zebra") == 1
        assert index.vocabulary.documents == 6


def test_an_added_document_takes_the_place_of_one_with_its_id(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    for text in ("a zebra", "a lynx"):
        summary = build_index([corpus([{"_id": "1", "text": text}])], tmp_path / "index", embedder=toy, add=True)
        assert (summary.documents, summary.added, summary.replaced) == (5, 1, 1)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert words(index, "stopping zebra") == ()
        assert words(index, "lynx") == ("1",)
        assert nearest(index, "lynx")[0] == "1"
        assert nearest(index, "stop sign", 10).count("1") <= 1
        hit = index.document("1")
        assert hit is not None
        assert hit.text == "a lynx"


def test_a_file_added_again_leaves_none_of_its_old_passages(tmp_path: Path, toy: Named) -> None:
    manual = tmp_path / "manual.md"
    manual.write_text("# Manual\n\n## Lamps\n\nLamps shine.\n\n## Horns\n\nHorns sound.\n")
    build_index([manual], tmp_path / "index", embedder=toy)
    manual.write_text("# Manual\n\n## Lamps\n\nLamps are lit.\n")
    summary = build_index([manual], tmp_path / "index", embedder=toy, add=True)
    assert (summary.documents, summary.replaced) == (1, 2)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert (words(index, "horns"), words(index, "lamps")) == ((), ("manual.md#lamps",))
        assert "manual.md#horns" not in nearest(index, "horns sound", 10)


def test_adding_where_there_is_no_index_builds_one(corpus: Corpus, signs: Rows, tmp_path: Path) -> None:
    assert build_index([corpus(signs)], tmp_path / "new", embedder=None, add=True).documents == 5


def test_adding_to_words_only_stays_words_only(corpus: Corpus, signs: Rows, tmp_path: Path) -> None:
    build_index([corpus(signs)], tmp_path / "index", embedder=None)
    summary = build_index([corpus([{"_id": "6", "text": "zebra"}])], tmp_path / "index", add=True)
    assert (summary.documents, summary.embedder) == (6, None)


def test_adding_with_another_embedder_or_language_is_refused(
    corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named
) -> None:
    source = corpus(signs)
    build_index([source], tmp_path / "index", embedder=toy)
    other = Named("callable:other", lambda texts: toy(texts)[:, :32])
    with pytest.raises(IndexStateError, match="built with the embedder 'callable:bag'"):
        build_index([source], tmp_path / "index", embedder=other, add=True)
    with pytest.raises(IndexStateError, match="in 'en', not in 'de'"):
        build_index([source], tmp_path / "index", embedder=toy, language="de", add=True)
    with pytest.raises(IndexStateError, match="built with the embedder 'callable:bag'"):
        build_index([source], tmp_path / "index", embedder=None, add=True)


def test_the_graph_grows_when_documents_are_added(
    corpus: Corpus, tmp_path: Path, toy: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(vectors, "EXACT_UP_TO", 10)
    build_index([corpus([{"_id": str(n), "text": f"word{n}"} for n in range(20)])], tmp_path / "index", embedder=toy)
    for n in range(20, 30):
        build_index([corpus([{"_id": str(n), "text": f"word{n}"}])], tmp_path / "index", embedder=toy, add=True)
    with open_index(tmp_path / "index", embedder=toy) as index:
        assert index.meaning is not None
        for n in (0, 19, 20, 29):
            best = index.meaning(Search(f"word{n}"), 30, {})
            assert str(n) in [hit.doc_id for hit in best.hits if hit.score == best.hits[0].score]


def test_two_builders_do_not_collide(corpus: Corpus, signs: Rows, tmp_path: Path) -> None:
    source = corpus(signs)
    with (
        layout.writing(tmp_path / "index"),
        pytest.raises(IndexStateError, match="another builder"),
    ):
        build_index([source], tmp_path / "index", embedder=None)
    assert build_index([source], tmp_path / "index", embedder=None).documents == 5


def test_a_folder_that_holds_something_else_is_left_alone(corpus: Corpus, signs: Rows, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("dear")
    with pytest.raises(IndexStateError, match=r"not an index: it holds 'letter\.txt'"):
        build_index([corpus(signs)], home, embedder=None)
    assert [p.name for p in home.iterdir()] == ["letter.txt"]


def _build_slowly(source: Path, out: Path, add: bool) -> None:
    build_index([source], out, embedder=None, add=add)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked process")
def test_a_build_killed_at_any_moment_leaves_the_old_index_or_the_new_one(
    corpus: Corpus, tmp_path: Path, add: bool
) -> None:
    out = tmp_path / "index"
    build_index([corpus([{"_id": "old", "text": "stop here"}])], out, embedder=None)
    source = corpus([{"_id": f"new{n}", "text": f"stop {n} " * 20} for n in range(200)], "new.jsonl")
    moments = random.Random(7)
    context = multiprocessing.get_context("spawn")
    for _ in range(3):
        builder = context.Process(target=_build_slowly, args=(source, out, add))
        builder.start()
        assert builder.pid is not None
        time.sleep(moments.uniform(0.2, 1.2))
        os.kill(builder.pid, signal.SIGKILL)
        builder.join()
        with open_index(out) as index:
            index.verify()
            assert len(index) in ((1, 201) if add else (1, 200))
            assert len(words(index, "stop")) in (1, 10)
    build_index([source], out, embedder=None)
    assert len([p for p in out.iterdir() if p.name.startswith("generation-")]) == 1


def test_leftovers_of_a_killed_build_are_cleared_by_the_next(corpus: Corpus, signs: Rows, tmp_path: Path) -> None:
    out = tmp_path / "index"
    build_index([corpus(signs)], out, embedder=None)
    shutil.copytree(out / "generation-1", out / "generation-7")
    (out / "manifest.json.part").write_text("{")
    build_index([corpus(signs)], out, embedder=None)
    assert sorted(p.name for p in out.iterdir()) == ["generation-2", "lock", "manifest.json"]


def test_a_build_is_the_same_whenever_it_is_made(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for out in (first, second):
        build_index([corpus(signs)], out, embedder=toy)
    files = [json.loads((out / "manifest.json").read_text())["files"] for out in (first, second)]
    for name in ("passages.jsonl", "vectors.f16", "vectors.owners.npy", "vocabulary.jsonl"):
        assert files[0][name] == files[1][name]


def test_progress_is_told_all_the_way_where_a_document_has_several_windows(
    corpus: Corpus, tmp_path: Path, toy: Named
) -> None:
    rows = [{"_id": f"d{n}", "title": "", "text": "speed camera. " * 120} for n in range(400)]
    told: list[int] = []
    build_index([corpus(rows)], tmp_path / "index", embedder=toy, progress=lambda done, _: told.append(done))
    assert len(told) >= 400 // 64
    assert told == sorted(told)

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_index import Corpus, Rows

from dragoman.errors import IndexStateError, RetrievalError
from dragoman.retrievers import build_index, open_index
from dragoman.retrievers.embedded import layout
from dragoman.retrievers.embedders import Named
from dragoman.types import Search


@pytest.fixture
def built(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> Path:
    build_index([corpus(signs)], tmp_path / "index", embedder=toy)
    return tmp_path / "index"


def test_no_index_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="no such index; build it with `dragoman index") as caught:
        open_index(tmp_path / "nowhere")
    assert caught.value.path == tmp_path / "nowhere"


def test_an_empty_folder_holds_no_finished_index(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="holds no finished index"):
        open_index(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "[" * 100_000, "null", '{"format": "new"}', '{"format": 1}', "\udcff"]
)
def test_a_damaged_manifest_is_told(built: Path, toy: Named, content: str) -> None:
    (built / "manifest.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(IndexStateError, match="build the index again"):
        open_index(built, embedder=toy)


@pytest.mark.parametrize(("found", "age"), [(0, "an older"), (99, "another")])
def test_another_format_is_told(built: Path, toy: Named, found: int, age: str) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    (built / "manifest.json").write_text(json.dumps({**manifest, "format": found}))
    with pytest.raises(IndexStateError, match=f"made by {age} version of dragoman"):
        open_index(built, embedder=toy)


def test_every_file_missing_cut_or_changed_is_told(built: Path, toy: Named) -> None:
    files = [p for p in (built / "generation-1").rglob("*") if p.is_file() and p.suffix != ".lock"]
    assert len(files) > 8
    damages: tuple[Callable[[bytes], bytes | None], ...] = (
        lambda content: None,
        lambda content: content[:-1],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    )
    for path in files:
        content = path.read_bytes()
        for damage in damages:
            path.unlink(missing_ok=True)
            if content and (damaged := damage(content)) is not None:
                path.write_bytes(damaged)
            with pytest.raises(IndexStateError, match=rf"damaged: .*{path.name}.*build the index again"):
                open_index(built, embedder=toy)
        path.write_bytes(content)
    open_index(built, embedder=toy).close()


def test_another_embedder_is_told(built: Path, toy: Named) -> None:
    with pytest.raises(IndexStateError, match=r"built with the embedder 'callable:bag', not with one 'callable:other'"):
        open_index(built, embedder=Named("callable:other", toy))
    with pytest.raises(IndexStateError, match="not with one 'default'"):
        open_index(built, embedder="default")


def test_an_index_of_a_callable_needs_it_again(built: Path) -> None:
    with pytest.raises(IndexStateError, match="give the same as `embedder`"):
        open_index(built)


def test_an_index_of_older_weights_is_told(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    manifest["model"] |= {"name": "default", "fingerprint": "0" * 64}
    (built / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(IndexStateError, match="not with one of another version; build the index again"):
        open_index(built)


def test_an_index_of_words_refuses_an_embedder(corpus: Corpus, signs: Rows, tmp_path: Path, toy: Named) -> None:
    build_index([corpus(signs)], tmp_path / "words", embedder=None)
    with pytest.raises(IndexStateError, match="holds words only"):
        open_index(tmp_path / "words", embedder=toy)


def test_another_language_is_told(built: Path, toy: Named) -> None:
    assert open_index(built, embedder=toy, language="en").language == "en"
    with pytest.raises(IndexStateError, match="in 'en', not in 'fr'"):
        open_index(built, embedder=toy, language="fr")


def test_a_document_is_found_by_its_id_and_only_by_it(built: Path, toy: Named) -> None:
    with open_index(built, embedder=toy) as index:
        hit = index.document("law/46.2-870")
        assert hit is not None
        assert (hit.doc_id, hit.title, hit.score) == ("law/46.2-870", "Highways", 0.0)
        assert index.document("law/46.2") is None
        assert index.document("") is None


def test_a_closed_index_fails_as_a_retriever_fails(built: Path, toy: Named) -> None:
    index = open_index(built, embedder=toy)
    index.close()
    index.close()
    with pytest.raises(RetrievalError):
        index.words(Search("speed"), 3, {})


def test_the_retrievers_are_words_and_meaning(built: Path, toy: Named) -> None:
    with open_index(built, embedder=toy) as index:
        assert [r.name for r in index.retrievers] == ["words", "meaning", "headings_meaning"]
        assert all(getattr(r, "inline", False) for r in index.retrievers)


def test_an_open_index_answers_as_it_is_when_another_was_built_in_its_place(
    built: Path, corpus: Corpus, signs: Rows, toy: Named
) -> None:
    with open_index(built, embedder=toy) as before:
        build_index([corpus(list(signs)[:1], "other.jsonl")], built, embedder=toy)
        build_index([corpus(list(signs)[:1], "other.jsonl")], built, embedder=toy)
        assert not list(built.glob("generation-1"))
        assert before.meaning is not None
        assert before.headings_meaning is not None
        assert len(before.meaning(Search("speed"), 50, {})) > 1
        assert len(before.headings_meaning(Search("speed"), 50, {})) > 1
        assert before.vocabulary.documents == len(list(signs))
        before.standing("speed")


CHANGES: tuple[dict[str, object], ...] = (
    {"generation": 5},
    {"generation": "generation-1/../generation-1"},
    {"generation": "\0"},
    {"language": None},
    {"documents": 4},
    {"documents": True},
    {"numbers": "5"},
    {"numbers": 10**18, "documents": 10**18},
    {"replaced": {}},
    {"replaced": [5], "documents": 4},
    {"replaced": [-1], "documents": 4},
    {"files": []},
    {"files": {"words/meta.json": 1}},
    {"files": {"words/meta.json": [float("inf"), 1]}},
    {"files": {"\0": [1, 1]}},
    {"model": {}},
    {"model": []},
    {"model": {"name": 1, "fingerprint": "", "dimensions": 1, "probe": [1.0]}},
    {"model": {"name": "callable:bag", "fingerprint": "", "dimensions": 64, "probe": [1.0]}},
    {"model": {"name": "callable:bag", "fingerprint": "", "dimensions": 1, "probe": [10**400]}},
)


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_manifest_of_wrong_types_or_counts_is_damage(built: Path, toy: Named, change: dict[str, object]) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    (built / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(IndexStateError, match=r"damaged: .*build the index again"):
        open_index(built, embedder=toy)


def test_a_file_is_no_index_and_an_address_of_no_engine_names_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexStateError, match="is a file, not the folder of an index"):
        open_index(tmp_path / "file")
    with pytest.raises(IndexStateError, match=r"^solr://me:\*\*\*@host: no such folder.* sqlite:, postgresql:"):
        open_index("solr://me:hunter2@host")


def test_an_index_that_this_user_may_not_write_to_opens(
    built: Path, toy: Named, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = built / "generation-1" / "words" / ".tantivy-meta.lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()  # no permission would keep out whoever may do everything
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with open_index(built, embedder=toy) as index:
        assert not list((tmp_path / "temporary").iterdir())
        assert index.words(Search("speed limit"), 1, {}).doc_ids == ("2",)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    with pytest.raises(IndexStateError, match=r"words: cannot be opened .* let this user write"):
        open_index(built, embedder=toy)


def test_a_file_that_may_not_be_read_is_not_called_damaged(
    built: Path, toy: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(layout, "_crc", denied)
    with pytest.raises(IndexStateError, match=f"index: {built}/.* may not be read by this user; give it the right to"):
        open_index(built, embedder=toy)


def test_whoever_may_read_one_file_of_an_index_may_read_all(built: Path) -> None:
    files = [p for p in (built / "generation-1").rglob("*") if p.is_file() and p.suffix != ".lock"]
    assert {path.stat().st_mode for path in files} == {(built / "manifest.json").stat().st_mode}

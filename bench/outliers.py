"""The channels of MiniLM's layers that are many times as large as the others.

    python -m bench.outliers

Prints `OUTLIERS` of `minilm_graph.py` and `KNOWN` of `minilm.py`. The model as its package has it runs over
the shipped example; the channels are those whose largest value is more than 2.5 times the median channel's,
each with the factor that brings it down to that. Last, how near vectors in whole numbers come to those in
floating point, on texts of the example that the factors were not found from.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.demo import example
from dragoman.retrievers.minilm import KNOWN, KNOWN_TEXT, MiniLM, weights
from dragoman.retrievers.minilm_graph import LAYERS

Floats: TypeAlias = NDArray[np.float32]
BEYOND = 2.5  # medians
WORTH = 1.1  # smaller factors bring nothing
TEXTS = 60  # questions, and passages, that the factors are found from; as many others are compared


def texts() -> list[str]:
    """Questions and passages of the example, in turns."""
    both = [
        [json.loads(row)["text"] for row in (example() / name).read_text("utf-8").splitlines()[: 2 * TEXTS]]
        for name in ("queries.jsonl", "corpus.jsonl")
    ]
    return [text for pair in zip(*both, strict=True) for text in pair]


def plain(
    content: bytes, model: MiniLM, given: Sequence[str]
) -> Iterator[tuple[list[NDArray[np.float32]], NDArray[np.float32]]]:
    """For each text, what every normalisation gives, (n_tokens, width) each, and the vector in floating point."""
    import onnx
    import onnxruntime

    graph = onnx.load_model_from_string(content)
    normal = [node.output[0] for node in graph.graph.node if node.op_type == "LayerNormalization"]
    graph.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in normal)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    last = session.get_outputs()[0].name
    for text in given:
        ids = model.ids(text)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        *layers, hidden = session.run([*normal, last], feed)
        yield [layer[0] for layer in layers], hidden[0].mean(0)


def factors(largest: Floats) -> Mapping[int, float]:
    """Channel -> factor, of one normalisation's largest values by channel."""
    shares = largest / (BEYOND * np.median(largest))
    return {int(channel): round(float(shares[channel]), 2) for channel in np.flatnonzero(shares > WORTH)}


def main() -> int:
    """Print the table, and how near it comes."""
    model = MiniLM()
    given = texts()
    found = list(plain(weights(), model, given))
    largest = [
        np.max([np.abs(layers[n]).max(0) for layers, _ in found[: 2 * TEXTS]], axis=0) for n in range(2 * LAYERS)
    ]
    for layer in range(LAYERS):
        print(f"    (\n        {factors(largest[2 * layer])},\n        {factors(largest[2 * layer + 1])},\n    ),")
    ((_, known),) = plain(weights(), model, [KNOWN_TEXT])
    print(f"KNOWN = {tuple(round(float(x), 4) for x in (known / np.linalg.norm(known))[: len(KNOWN)])}")
    whole = model(given[2 * TEXTS :])
    real = np.stack([vector for _, vector in found[2 * TEXTS :]])
    cosines = (whole * real).sum(1) / np.linalg.norm(whole, axis=1) / np.linalg.norm(real, axis=1)
    print(f"cosine with floating point, {len(cosines)} other texts: {cosines.mean():.4f}, least {cosines.min():.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

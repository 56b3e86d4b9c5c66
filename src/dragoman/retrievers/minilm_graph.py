"""all-MiniLM-L6-v2 (Reimers and Gurevych 2019; Wang et al. 2020) as a graph that runs in whole numbers.

The package it comes in holds its weights as 8-bit numbers, but its graph turns them into floating point before every
product. Here the same weights stay whole: the attention's and the first feed-forward product by
`DynamicQuantizeMatMul`, the second one, whose input is sparse and wide, block by block by `MatMulNBits`.
A few channels of the layers' outputs are many times as large as the others and would take all of the
eight bits for themselves; they are scaled down and their weights up (Xiao et al. 2023, SmoothQuant), by
factors that `python -m bench.outliers` prints.

A vector's cosine with the one that floating point gives is .999 (`bench.outliers`), rankings by either are
as good, and a question takes a third of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto

Floats: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = tuple[NDArray[np.int8], Floats]  # (n_in, n_out), and a scale for each of n_out

LAYERS, HEADS, WIDTH = 6, 12, 384
_BLOCK = 128
_EPSILON = 1e-12
_OPSET, _IR = 17, 8
CONTRIB = "com.microsoft"

# Channel -> what it is divided by, of what each layer reads and of what stands between its two halves.
OUTLIERS: Sequence[tuple[Mapping[int, float], Mapping[int, float]]] = (
    (
        {63: 1.2, 99: 1.24},
        {63: 2.25, 99: 5.89, 157: 1.17, 267: 1.57, 303: 1.36},
    ),
    (
        {63: 1.12, 99: 1.65, 157: 1.27},
        {63: 1.81, 99: 6.39, 157: 1.48, 223: 1.76, 267: 1.62, 338: 1.28},
    ),
    (
        {63: 1.2, 99: 1.69, 157: 1.17, 223: 1.12},
        {63: 1.51, 99: 5.7, 157: 1.29, 223: 3.06, 338: 1.32},
    ),
    (
        {63: 1.21, 99: 1.94, 157: 1.14},
        {63: 2.01, 99: 6.33, 157: 1.32, 223: 3.7, 338: 1.26},
    ),
    (
        {99: 2.0, 157: 1.31, 338: 1.19},
        {63: 2.12, 99: 5.48, 127: 3.09, 157: 1.49, 223: 3.75, 338: 1.26, 363: 1.2},
    ),
    (
        {99: 2.11, 157: 1.26, 223: 1.11, 338: 1.27},
        {99: 2.94, 127: 1.71, 223: 2.75, 319: 1.87},
    ),
)


class _Graph:
    """Nodes and constants as they are added."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._helper, self._tensors = helper, numpy_helper
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Its name."""
        self._constants.append(self._tensors.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind: str, inputs: Sequence[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        """A node; the name of its first output."""
        self._nodes.append(self._helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def model(self, given: str, result: str) -> ModelProto:
        """The model from a text's token ids, (1, n_tokens), to its vector, (1, WIDTH)."""
        from onnx import TensorProto

        helper = self._helper
        ids = helper.make_tensor_value_info(given, TensorProto.INT64, [1, "tokens"])
        vector = helper.make_tensor_value_info(result, TensorProto.FLOAT, [1, WIDTH])
        graph = helper.make_graph(self._nodes, "minilm", [ids], [vector], self._constants)
        sets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(CONTRIB, 1)]
        model: ModelProto = helper.make_model(graph, opset_imports=sets, ir_version=_IR)
        return model


def rebuilt(content: bytes, *, whole: bool = True) -> bytes:
    """The package's model file -> a model from token ids, (1, n_tokens), to the mean of the last layer, (1, WIDTH).

    Not of length 1. One text at a time: the bits are shared out over all that is given at once.

    Args:
        whole: False: in floating point, for processors whose 8-bit products overflow.
    """
    held, products = _weights(content)
    graph = _Graph()
    even, by_blocks = (_whole, _by_blocks) if whole else (_real, _real)
    x = _embeddings(graph, held)
    graph.constant("thirds", np.array([WIDTH] * 3, np.int64))
    for layer, (before, between) in enumerate(OUTLIERS):
        query, key, value, out, up, down = products[6 * layer : 6 * layer + 6]
        bias = {name: held[f"inner.encoder.layer.{layer}.{name}.bias"] for name in _BIASES}
        joined = (np.concatenate([query[0], key[0], value[0]], 1), np.concatenate([query[1], key[1], value[1]]))
        biases = np.concatenate([bias[f"attention.self.{name}"] for name in ("query", "key", "value")])
        thirds = [f"{name}{layer}" for name in ("query", "key", "value")]
        graph.add("Split", [even(graph, f"qkv{layer}", x, joined, biases, before), "thirds"], *thirds, axis=2)
        attended = graph.add("MultiHeadAttention", thirds, f"attended{layer}", domain=CONTRIB, num_heads=HEADS)
        attended = even(graph, f"out{layer}", attended, out, bias["attention.output.dense"])
        x = _normal(graph, held, f"inner.encoder.layer.{layer}.attention.output", x, attended)
        wide = even(graph, f"up{layer}", x, up, bias["intermediate.dense"], between)
        wide = graph.add("Gelu", [wide], f"gelu{layer}", domain=CONTRIB)
        x = _normal(
            graph,
            held,
            f"inner.encoder.layer.{layer}.output",
            x,
            by_blocks(graph, f"down{layer}", wide, down, bias["output.dense"]),
        )
    graph.add("ReduceMean", [x], "vector", axes=[1], keepdims=0)
    return bytes(graph.model("input_ids", "vector").SerializeToString())


_BIASES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def _weights(content: bytes) -> tuple[dict[str, NDArray[Any]], list[Weights]]:
    """The constants by their names, and the weights of the 36 products in their order."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_model_from_string(content).graph
    held = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    made_from = {node.output[0]: node.input[0] for node in graph.node if node.op_type in ("Cast", "Mul")}
    products: list[Weights] = []
    for node in graph.node:
        if node.op_type == "MatMul":
            name = node.input[1]
            while name in made_from:
                name = made_from[name]
            if name in held:
                products.append((held[name], held[f"{name.removesuffix('_q')}_scale"].reshape(-1)))
    return held, products


def _embeddings(graph: _Graph, held: Mapping[str, NDArray[Any]]) -> str:
    """What the first layer reads: a token's vector, its place's and the first text's, normalised."""
    from onnx import TensorProto

    name = "inner.embeddings"
    places = held[f"{name}.position_embeddings.weight_q"] * held[f"{name}.position_embeddings.weight_scale"]
    graph.constant("words", held[f"{name}.word_embeddings.weight_q"])
    graph.constant("scales", held[f"{name}.word_embeddings.weight_scale"])
    graph.constant("places", (places + held[f"{name}.token_type_embeddings.weight"][0]).astype(np.float32))
    graph.constant("first", np.array([0], np.int64))
    whole = graph.add("Cast", [graph.add("Gather", ["words", "input_ids"], "whole")], "number", to=TensorProto.FLOAT)
    word = graph.add("Mul", [whole, graph.add("Gather", ["scales", "input_ids"], "scale")], "word")
    count = graph.add("Shape", ["input_ids"], "count", start=1, end=2)
    return _normal(graph, held, name, word, graph.add("Slice", ["places", "first", count], "place"))


def _normal(graph: _Graph, held: Mapping[str, NDArray[Any]], name: str, one: str, other: str) -> str:
    """The sum of two, normalised by the layer's own numbers. Faster apart than `SkipLayerNormalization`."""
    scale = graph.constant(f"{name}.scale", held[f"{name}.LayerNorm.weight"])
    shift = graph.constant(f"{name}.shift", held[f"{name}.LayerNorm.bias"])
    total = graph.add("Add", [one, other], f"{name}.sum")
    return graph.add("LayerNormalization", [total, scale, shift], f"{name}.normal", axis=-1, epsilon=_EPSILON)


def _whole(
    graph: _Graph, name: str, x: str, weights: Weights, bias: Floats, outliers: Mapping[int, float] | None = None
) -> str:
    """A product in whole numbers, what it reads scaled by its largest."""
    whole, scales = weights
    if outliers:
        factors = np.ones(len(whole), np.float32)
        factors[list(outliers)] = list(outliers.values())
        real = whole * scales * factors[:, None]
        scales = np.abs(real).max(0) / 127
        whole = np.clip(np.round(real / scales), -127, 127).astype(np.int8)
        x = graph.add("Mul", [x, graph.constant(f"{name}.factors", 1 / factors)], f"{name}.even")
    inputs = [x, graph.constant(f"{name}.weights", whole), graph.constant(f"{name}.scales", scales.astype(np.float32))]
    return graph.add("DynamicQuantizeMatMul", [*inputs, "", graph.constant(f"{name}.bias", bias)], name, domain=CONTRIB)


def _real(
    graph: _Graph, name: str, x: str, weights: Weights, bias: Floats, _: Mapping[int, float] | None = None
) -> str:
    """A product in floating point."""
    real = graph.constant(f"{name}.weights", (weights[0] * weights[1]).astype(np.float32))
    product = graph.add("MatMul", [x, real], f"{name}.product")
    return graph.add("Add", [product, graph.constant(f"{name}.bias", bias)], name)


def _by_blocks(
    graph: _Graph, name: str, x: str, weights: Weights, bias: Floats, _: Mapping[int, float] | None = None
) -> str:
    """A product in whole numbers, each block of what it reads scaled by its own largest."""
    whole, scales = weights
    rows, columns = whole.shape
    blocks = (whole.astype(np.int16) + 128).astype(np.uint8).T.reshape(columns, rows // _BLOCK, _BLOCK)
    inputs = [
        x,
        graph.constant(f"{name}.weights", blocks),
        graph.constant(f"{name}.scales", np.repeat(scales[:, None], rows // _BLOCK, 1).astype(np.float32)),
    ]
    return graph.add(
        "MatMulNBits",
        [*inputs, "", "", graph.constant(f"{name}.bias", bias)],
        name,
        domain=CONTRIB,
        K=rows,
        N=columns,
        bits=8,
        block_size=_BLOCK,
        accuracy_level=4,
    )

"""The reference circuits: symbolic circuits in JSON with known outputs and counts, computed by an independent system.

`tests/data/reference/README.md` describes the fields of a file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import symbolic
from explorer.graph import Graph
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    ConstantInitializer,
    ConstantValueLayer,
    DataType,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    HadamardLayer,
    InnerLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    ParameterNode,
    ParameterOp,
    PolynomialLayer,
    SumLayer,
    TensorParameter,
)

FOLDER = Path(__file__).parent / "data" / "reference"

INPUT_LAYERS: Mapping[str, type[InputLayer]] = {
    "Binomial": BinomialLayer,
    "Categorical": CategoricalLayer,
    "ConstantValue": ConstantValueLayer,
    "Embedding": EmbeddingLayer,
    "Gaussian": GaussianLayer,
    "Polynomial": PolynomialLayer,
}
INNER_LAYERS: Mapping[str, type[InnerLayer]] = {"Hadamard": HadamardLayer, "Kronecker": KroneckerLayer, "Sum": SumLayer}
# The files name operators without the ending: `Softmax` is SoftmaxParameter.
OPERATORS: Mapping[str, type[ParameterOp]] = {
    name.removesuffix("Parameter"): getattr(symbolic, name)
    for name in (
        "ClampParameter",
        "ConjugateParameter",
        "ExpParameter",
        "HadamardParameter",
        "KroneckerParameter",
        "LogParameter",
        "LogSoftmaxParameter",
        "MixingWeightParameter",
        "OuterProductParameter",
        "OuterSumParameter",
        "PolynomialDifferentialParameter",
        "ReduceLSEParameter",
        "ReduceProductParameter",
        "ReduceSumParameter",
        "ScaledSigmoidParameter",
        "SigmoidParameter",
        "SoftmaxParameter",
        "SoftplusParameter",
        "SquareParameter",
        "SumParameter",
    )
}


@dataclass(frozen=True)
class Expected:
    """The expected results of a reference circuit: `output` on `x`, and the counts by mode under the handbook preset.

    `output` has the dtype complex128 under complex-lse-sum (complex logs), else float64. A key of `modes` is like
    "optimize=True,fold=False"; its value has `layers`, `folds`, `layers_by_type`; if optimized `matches` and `rounds`.
    """

    name: str
    semiring: str
    output: NDArray[Any]
    output_shape: tuple[int, ...]
    modes: Mapping[str, Mapping[str, Any]]


def reference_paths() -> list[Path]:
    """The files of all reference circuits, sorted by name."""
    return sorted(FOLDER.glob("*.json"))


def load_reference(path: str | Path) -> tuple[Circuit, NDArray[Any] | None, Expected]:
    """The circuit of a file with all leaf values as constants, its input (B, D) or None, and its expected results."""
    data = json.loads(Path(path).read_text())
    circuit = circuit_of(data)
    x = None if data["x"] is None else np.array(data["x"])
    return circuit, x, _expected(data, Path(path).stem)


def circuit_of(data: Mapping[str, Any]) -> Circuit:
    """The circuit in the content of a reference file."""
    leaves = _leaves(data)
    nodes = {row["id"]: _layer(row, leaves) for row in data["layers"]}
    inputs = {row["id"]: tuple(row["inputs"]) for row in data["layers"]}
    return Circuit(Graph(nodes, inputs, tuple(data["outputs"])))


def leaf_value(leaf: int, shape: tuple[int, ...], complex_values: bool) -> NDArray[Any]:
    """The values of a leaf without values in the file."""
    k = np.arange(np.prod(shape, dtype=int))
    value = np.sin(0.9 * (leaf + 1) + 0.37 * k)
    if complex_values:
        value = value + 1j * np.cos(0.5 * (leaf + 1) + 0.23 * k)
    return value.reshape(shape)


def _expected(data: Mapping[str, Any], name: str) -> Expected:
    expected = data["expected"]
    output = np.array(expected["output"], dtype=np.float64)
    shape = tuple(expected["output_shape"])
    if data["semiring"] == "complex-lse-sum":
        output = output[..., 0] + 1j * output[..., 1]
    if output.shape != shape:
        raise ValueError(f"{name}: the expected output has shape {output.shape}; the file states {shape}")
    return Expected(name, data["semiring"], output, shape, expected["modes"])


def _leaves(data: Mapping[str, Any]) -> dict[int, TensorParameter]:
    """One leaf object per leaf id, which may occur several times, as `Leaf` or as `Ref`."""
    rows: dict[int, dict[str, Any]] = {}
    for layer in data["layers"]:
        for row in _parameter_rows(layer):
            if row["op"] in ("Leaf", "Ref"):
                rows[row["leaf"]] = {**rows.get(row["leaf"], {}), **row}
    return {leaf: _leaf(row, data["semiring"]) for leaf, row in rows.items()}


def _parameter_rows(layer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = [row for parameter in layer["params"].values() for row in parameter]
    return rows + (_parameter_rows(layer["observed"]) if "observed" in layer else [])


def _leaf(row: Mapping[str, Any], semiring: str) -> TensorParameter:
    """A `Ref` has neither `dtype` nor `learnable`: its integers are INTEGER, and its constants are not learned."""
    shape = tuple(row["shape"])
    given = row.get("const")
    stated = row.get("dtype")
    if given is None:
        value = leaf_value(row["leaf"], shape, stated == "COMPLEX" or semiring == "complex-lse-sum")
    else:
        value = np.array(given)
        if value.shape == (*shape, 2):  # pairs of real and imaginary parts
            value = value[..., 0] + 1j * value[..., 1]
        whole = value.dtype.kind in "iu" and stated in (None, "INTEGER")
        value = np.broadcast_to(value, shape).astype(np.int64 if whole else np.result_type(value, np.float64))
    if stated == "COMPLEX":
        value = value.astype(np.complex128)
    dtype = {"i": DataType.INTEGER, "f": DataType.REAL, "c": DataType.COMPLEX}[value.dtype.kind]
    learnable = row.get("learnable", given is None) and dtype is not DataType.INTEGER
    return TensorParameter(shape, dtype, learnable, ConstantInitializer(value))


def _layer(row: Mapping[str, Any], leaves: Mapping[int, TensorParameter]) -> Layer:
    given: dict[str, Any] = {"num_output_units": row["out_units"], **row["config"]}
    given |= {name: _parameter(rows, leaves) for name, rows in row["params"].items()}
    kind = row["type"]
    if kind == "Evidence":
        return EvidenceLayer(layer=_observed_layer(row["observed"], leaves), **given)
    if kind in INPUT_LAYERS:
        return INPUT_LAYERS[kind](scope=tuple(row["scope"]), **given)
    return INNER_LAYERS[kind](num_input_units=row["in_units"], arity=row["arity"], **given)


def _observed_layer(row: Mapping[str, Any], leaves: Mapping[int, TensorParameter]) -> InputLayer:
    layer = _layer(row, leaves)
    if not isinstance(layer, InputLayer):
        raise TypeError(f"an evidence layer observes an input layer; found {row['type']}")
    return layer


def _parameter(rows: list[Mapping[str, Any]], leaves: Mapping[int, TensorParameter]) -> ParameterNode:
    nodes: list[ParameterNode] = []
    for row in rows:
        if row["op"] in ("Leaf", "Ref"):
            node: ParameterNode = leaves[row["leaf"]]
        else:
            node = OPERATORS[row["op"]](tuple(nodes[i] for i in row["in"]), **row.get("config", {}))
        if node.shape != tuple(row["shape"]):
            raise ValueError(f"{row['op']} has shape {node.shape}; the file states {row['shape']}")
        nodes.append(node)
    return nodes[-1]

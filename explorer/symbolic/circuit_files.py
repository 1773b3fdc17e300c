"""Circuit files: a circuit as versioned JSON, and back.

Parameter nodes are stored in one table in topological order and layers refer to them by position, so they stay shared.
Classes are found by name among the imported subclasses, so layers and operators from outside the package load as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite, prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from explorer.errors import CircuitError, FileFormatError, look_up
from explorer.files import check_format
from explorer.graph import Graph, config_of, field_names, nested_of, parameters_of, subclasses
from explorer.symbolic.checks import is_abstract
from explorer.symbolic.circuit import Circuit, ColumnValues
from explorer.symbolic.derivation import Argument, Derivation, LeafLabel
from explorer.symbolic.initializers import ConstantInitializer, Initializer
from explorer.symbolic.layers import Layer
from explorer.symbolic.parameters import DataType, ParameterNode, TensorParameter

CIRCUIT_FORMAT = "circuit-explorer circuit"
VERSION = 1
MAX_SIZE, MAX_NUMBERS = 2**24, 2**40
"""The most units, states and so on of a layer of a file, and the most numbers of a parameter."""


def circuit_to_json(circuit: Circuit) -> dict[str, Any]:
    """The circuit as JSON data; the operands of a derived circuit are stored as well, and share its parameters."""
    writer = _Writer()
    body = writer.body(circuit)
    data: dict[str, Any] = {"format": CIRCUIT_FORMAT, "version": VERSION, "parameters": writer.rows, **body}
    if circuit.derivation is not None:
        data["derivation"] = writer.derivation(circuit.derivation)
        data["circuits"] = writer.circuits
    if circuit.columns:
        data["columns"] = list(circuit.columns)
    if circuit.column_values:
        data["column_values"] = [asdict(one) for one in circuit.column_values]
    return data


class _Writer:
    """Writes circuits with one table of parameters, and one of the circuits that others were derived from."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.circuits: list[dict[str, Any]] = []
        self._parameters: dict[ParameterNode, int] = {}
        self._places: dict[Circuit, int] = {}

    def body(self, circuit: Circuit) -> dict[str, Any]:
        """Layers, outputs and labels of a circuit."""
        table = self._parameters
        for _, parameter in circuit.parameters():
            for node in parameter.nodes():
                if node not in table:
                    table[node] = len(self.rows)
                    self.rows.append(_parameter_row(node, table))
        layers: list[dict[str, Any]] = []
        for node, layer in circuit.graph.nodes.items():
            row = {"id": int(node), "inputs": list(map(int, circuit.graph.inputs[node])), **_layer_row(layer, table)}
            if node in circuit.names:
                row["name"] = circuit.names[node]
            layers.append(row)
        leaves = circuit.leaf_names
        labels = [[table[leaf], *label] for leaf, label in circuit.labels.items() if leaf in leaves]
        data = {"layers": layers, "outputs": list(map(int, circuit.outputs))}
        return {**data, "labels": labels} if labels else data

    def derivation(self, derivation: Derivation) -> dict[str, Any]:
        """The row of a derivation, after its operands."""
        return {
            "operator": derivation.operator,
            "arguments": {name: _plain(value) for name, value in derivation.arguments.items()},
            "operands": [self._place(operand) for operand in derivation.operands],
            "origins": [[node, [list(pair) for pair in found]] for node, found in derivation.origins.items()],
        }

    def _place(self, circuit: Circuit) -> int:
        if circuit not in self._places:
            row = self.body(circuit)
            if circuit.derivation is not None:
                row["derivation"] = self.derivation(circuit.derivation)
            self._places[circuit] = len(self.circuits)
            self.circuits.append(row)
        return self._places[circuit]


def circuit_from_json(data: Mapping[str, Any], where: str = "circuit data") -> Circuit:
    """The circuit of JSON data. Raises: FileFormatError, with the reason."""
    check_format(data, CIRCUIT_FORMAT, VERSION, where)
    try:
        table: list[ParameterNode] = []
        for row in data["parameters"]:
            table.append(_read_parameter(row, table))
        circuits: list[Circuit] = []
        for body in data.get("circuits", []):
            circuits.append(_read_body(body, table, circuits))
        return replace(
            _read_body(data, table, circuits),
            columns=tuple(map(str, data.get("columns", []))),
            column_values=tuple(map(_read_values, data.get("column_values", []))),
        )
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        raise FileFormatError(f"{where}: incomplete circuit: {type(error).__name__}: {error}") from error
    except FileFormatError:
        raise
    except CircuitError as error:
        raise FileFormatError(f"{where}: invalid circuit: {error}") from error


def _read_values(data: Mapping[str, Any]) -> ColumnValues:
    zero, unit = float(data["zero"]), float(data["unit"])
    if not (isfinite(zero) and isfinite(unit) and unit > 0):
        raise ValueError(f"a column of numbers needs a finite zero and a positive unit; found {zero} and {unit}")
    return ColumnValues(tuple(map(str, data["labels"])), zero, unit, bool(data.get("is_integer", False)))


def _read_body(data: Mapping[str, Any], table: list[ParameterNode], circuits: Sequence[Circuit]) -> Circuit:
    """A circuit; its operands are among the circuits before it."""
    nodes: dict[int, Layer] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    names: dict[int, str] = {}
    for row in data["layers"]:
        node = _id(row["id"])
        if node in nodes:
            raise ValueError(f"two layers have the id {node}")
        nodes[node] = _read_layer(row, table)
        inputs[node] = tuple(map(_id, row["inputs"]))
        if "name" in row:
            names[node] = str(row["name"])
    graph = Graph(nodes, inputs, tuple(map(_id, data["outputs"])))
    derivation = _read_derivation(data["derivation"], circuits) if "derivation" in data else None
    return Circuit(graph, names, derivation, _read_labels(data.get("labels", []), table))


def _read_derivation(row: Mapping[str, Any], circuits: Sequence[Circuit]) -> Derivation:
    operands = tuple(circuits[_place(place)] for place in row["operands"])
    origins = {_id(node): tuple((_id(a), _id(b)) for a, b in found) for node, found in row["origins"]}
    arguments = {str(name): _argument(value) for name, value in row["arguments"].items()}
    return Derivation(str(row["operator"]), operands, origins, arguments)


def _place(value: object) -> int:
    """A position in a list, which does not count from the end. Raises: ValueError."""
    if _id(value) < 0:
        raise ValueError(f"a position must not be negative; found {value!r}")
    return _id(value)


def _argument(value: Any) -> Argument:
    return tuple(map(_argument, cast("list[Any]", value))) if isinstance(value, list) else value


def _read_labels(rows: Sequence[Any], table: Sequence[ParameterNode]) -> dict[TensorParameter, LeafLabel]:
    found: dict[TensorParameter, LeafLabel] = {}
    for position, name, seed_name in rows:
        leaf = _at(position, table)
        if not isinstance(leaf, TensorParameter):
            raise ValueError(f"parameter {position} is not a leaf; only leaves have labels")
        found[leaf] = LeafLabel(str(name), str(seed_name))
    return found


def _id(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"an id must be an integer; found {value!r}")
    return value


def _at(position: object, table: Sequence[ParameterNode]) -> ParameterNode:
    if type(position) is not int or not 0 <= position < len(table):
        raise IndexError(f"parameter {position!r} is not one of the {len(table)} that come before its use")
    return table[position]


def _parameter_row(node: ParameterNode, table: Mapping[ParameterNode, int]) -> dict[str, Any]:
    config = {name: _plain(value) for name, value in config_of(node).items() if value is not None}
    return {"type": type(node).__name__, "in": [table[operand] for operand in node.operands], **config}


def _read_parameter(row: Mapping[str, Any], table: list[ParameterNode]) -> ParameterNode:
    kind = _get_class(ParameterNode, row["type"], "parameter node")
    config: dict[str, Any] = {name: row[name] for name in field_names(kind, "config") if name in row}
    if issubclass(kind, TensorParameter):
        config["dtype"] = DataType(config["dtype"])
        config["initializer"] = _read_initializer(config["initializer"])
        config["size"] = tuple(config["size"])
        if prod(config["size"]) > MAX_NUMBERS:
            raise ValueError(f"a parameter has {prod(config['size'])} numbers; at most {MAX_NUMBERS} are read")
        return kind(**config)
    return kind(tuple(_at(position, table) for position in row["in"]), **config)


def _layer_row(layer: Layer, table: Mapping[ParameterNode, int]) -> dict[str, Any]:
    row: dict[str, Any] = {"type": type(layer).__name__}
    row |= {name: _plain(value) for name, value in config_of(layer).items()}
    row |= {name: list(getattr(layer, name)) for name in field_names(type(layer), "scope")}
    row |= {name: table[parameter] for name, parameter in parameters_of(layer).items()}
    row |= {name: _layer_row(nested, table) for name, nested in nested_of(layer).items()}
    return row


def _read_layer(row: Mapping[str, Any], table: list[ParameterNode]) -> Layer:
    kind = _get_class(Layer, row["type"], "layer")
    values: dict[str, Any] = {name: row[name] for name in field_names(kind, "config")}
    for name, value in values.items():
        if isinstance(value, int) and value > MAX_SIZE:
            raise ValueError(f"{name} of a {row['type']} is {value}; at most {MAX_SIZE} is read")
    values |= {name: tuple(row[name]) for name in field_names(kind, "scope")}
    values |= {name: _at(row[name], table) for name in field_names(kind, "parameter") if name in row}
    values |= {name: _read_layer(row[name], table) for name in field_names(kind, "nested")}
    return kind(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, DataType):
        return value.value
    if isinstance(value, ConstantInitializer):
        return {"type": type(value).__name__, "dtype": str(value.value.dtype), "value": _plain_array(value.value)}
    if isinstance(value, Initializer):
        return {"type": type(value).__name__, **{name: _plain(field) for name, field in config_of(value).items()}}
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _plain_array(array: Any) -> Any:
    if array.dtype.kind == "c":
        return {"real": array.real.tolist(), "imag": array.imag.tolist()}
    return array.tolist()


def _read_initializer(row: Mapping[str, Any]) -> Initializer:
    kind = _get_class(Initializer, row["type"], "initializer")
    if issubclass(kind, ConstantInitializer):
        return kind(_read_array(row["value"], row.get("dtype")))
    config = {name: row[name] for name in field_names(kind, "config")}
    nested = {
        name: _read_initializer(cast("Mapping[str, Any]", value))
        for name, value in config.items()
        if isinstance(value, Mapping)
    }
    return kind(**config | nested)


def _read_array(value: Any, dtype: str | None) -> NDArray[Any]:
    if not isinstance(value, Mapping):
        return np.array(value, dtype)
    # Not real + 1j * imag, which is NaN where imag is infinite.
    parts = cast("Mapping[str, Any]", value)
    array: Any = np.empty(np.shape(parts["real"]), dtype or np.complex128)
    array.real, array.imag = parts["real"], parts["imag"]
    return array


def _get_class(base: type, name: str, what: str) -> Any:
    """The imported subclass of `base` with this name that is not abstract. Raises: UnknownNameError."""
    kinds = sorted(subclasses(base), key=lambda kind: kind.__name__)
    return look_up(what, name, {kind.__name__: kind for kind in kinds if not is_abstract(kind)})

"""The circuits of the gallery for tests of the tensor level: compiled once and exported once."""

from functools import cache

from torch import Tensor

import explorer
from explorer.backend import TorchCircuit
from explorer.bench.programs import random_inputs
from explorer.templates import gallery
from explorer.tensor import FunctionGraph, from_circuit
from explorer.tensor.torch_io.importing import example_rows

ROWS = 3
"""The number of rows of the graphs."""

SEMIRINGS = {"sos": "sum-product"}
"""Circuits with weights that have no real logarithms."""


@cache
def compile_circuit(name: str) -> TorchCircuit:
    """A circuit of the gallery; leave it as it is."""
    return explorer.record(gallery.load_named(name), semiring=SEMIRINGS.get(name, "lse-sum")).compiled


@cache
def import_circuit(name: str) -> FunctionGraph:
    """A circuit of the gallery as a graph: rewrite a clone of it."""
    return from_circuit(compile_circuit(name), batch_size=ROWS)


def rows(name: str) -> Tensor:
    """Random data that a circuit takes, of the type that its graph has."""
    circuit = compile_circuit(name)
    return random_inputs(circuit, ROWS).to(example_rows(circuit, ROWS).dtype)

"""Arguments of a wrong type are a typed error that says what to pass."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, DataTypeError, ShapeError
from explorer.learning import DataSet, ExpectationMaximization, MaximizationOptions, TrainingOptions, train
from explorer.learning.structures import build_structure
from explorer.learning.tables import infer_columns
from explorer.templates import CategoricalInput, hidden_tree

SYMBOLIC = hidden_tree((-1, 0), CategoricalInput(2), num_latent_states=2)
COMPILED = TorchCompiler().compile(SYMBOLIC)
ROWS = torch.zeros((5, 2), dtype=torch.long)
DATA = DataSet("zeros", ROWS, ROWS)
ONE = TrainingOptions(epochs=1)

UNTYPED: Any = train
HALF: Any = 0.5
TEXT: Any = "a.csv"
CASES: dict[str, tuple[Callable[[], Any], type[CircuitError], str]] = {
    "a symbolic circuit": (lambda: UNTYPED(SYMBOLIC, DATA, ONE), DataTypeError, "found Circuit; compile it with"),
    "a frozen circuit": (lambda: UNTYPED(COMPILED.freeze(), DATA, ONE), DataTypeError, "circuit that was frozen"),
    "em of a file": (lambda: ExpectationMaximization(TEXT), DataTypeError, "of type TorchCircuit; found str"),
    "rows as data": (lambda: UNTYPED(COMPILED, ROWS, ONE), DataTypeError, "data must be of type DataSet; found Tensor"),
    "no options": (lambda: UNTYPED(COMPILED, DATA, {"epochs": 1}), DataTypeError, "must be of type TrainingOptions"),
    "one row": (lambda: DataSet("one", ROWS[0], ROWS), ShapeError, r"training rows of one must .* found \(2,\)"),
    "other columns": (lambda: DataSet("odd", ROWS, ROWS[:, :1]), ShapeError, r"held_out rows of odd .* \(5, 1\)"),
    "half an epoch": (lambda: TrainingOptions(epochs=HALF), DataTypeError, "epochs must be an integer; found 0.5"),
    "a text as a number": (lambda: MaximizationOptions(TEXT), DataTypeError, "pseudo_count must be a number"),
    "a path as a table": (lambda: infer_columns(TEXT), DataTypeError, "found str; read it with read_table"),
    "a path as data": (lambda: build_structure("hclt", TEXT, 2), DataTypeError, "read it with load_source"),
    "a file as values": (lambda: COMPILED.load_leaf_state(TEXT), DataTypeError, r"pass the leaf_state\(\)"),
}


@pytest.mark.parametrize("name", CASES)
def test_an_argument_of_a_wrong_type_is_a_typed_error(name: str) -> None:
    call, kind, message = CASES[name]
    with pytest.raises(kind, match=message):
        call()

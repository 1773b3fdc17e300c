"""The first law at level 3: the reference circuits have their values as programs, and the bits of their graphs."""

from pathlib import Path

import numpy as np
import pytest
import torch

import explorer
from tests.levels.modes import compile_circuit, output
from tests.oracle import assert_equals_oracle, constant_leaf_values
from tests.program.programs import assert_computes, graph_of, snapshot_of
from tests.reference import load_reference, reference_paths

QUICK = 1
"""How many of them are tested in each run; `make fuzz` tests all."""
SHORTEST = sorted(reference_paths(), key=lambda path: path.stat().st_size)[:QUICK]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path in SHORTEST else [pytest.mark.fuzz])
        for path in reference_paths()
    ],
)
def test_a_reference_circuit_has_its_output_as_a_program(path: Path):
    circuit, x, expected = load_reference(path)
    compiled = compile_circuit(circuit, expected.semiring)
    given = () if x is None else (torch.from_numpy(np.ascontiguousarray(x)),)
    trace = explorer.record(compiled, given, level="program")
    with torch.no_grad():
        found = trace.compiled(*given).numpy()
        last = snapshot_of(trace)
        assert_computes(last.program, graph_of(last), *given)
    np.testing.assert_allclose(found, output(compiled, x), rtol=1e-9, atol=1e-12)
    assert_equals_oracle(found, expected.semiring, circuit, constant_leaf_values(circuit), x)

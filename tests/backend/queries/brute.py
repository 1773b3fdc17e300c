"""Brute force: the value of a discrete circuit at every assignment by the oracle, and what follows from it."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chisquare

from explorer.symbolic import Circuit, InputLayer, Scope
from tests.oracle import constant_leaf_values, evaluate

Array = NDArray[Any]


@dataclass(frozen=True)
class Table:
    """All assignments (N, D) of a circuit, and its values (N, outputs, classes); `scopes` are those of the outputs."""

    assignments: Array
    values: Array
    scopes: tuple[Scope, ...]

    def mass(self, x: Array, observed: Array, output: int) -> Array:
        """The sum (classes,) of the values of an output over all assignments that agree with the observed entries.

        Only the variables of the output vary: the others are 0, whatever is observed.
        """
        rows, values = self.distinct(output)
        seen = [v for v in self.scopes[output] if observed[v]]
        agrees = (rows[:, seen] == x[seen]).all(1)
        return values[agrees].sum(0)

    def distinct(self, output: int) -> tuple[Array, Array]:
        """The assignments of the variables of an output, where all others are 0, and its values (N, classes)."""
        others = [v for v in range(self.assignments.shape[1]) if v not in self.scopes[output]]
        chosen = (self.assignments[:, others] == 0).all(1)
        return self.assignments[chosen], self.values[chosen, output]


def table_of(circuit: Circuit) -> Table:
    """Every variable has the values of its layers; columns that no layer reads are 0."""
    counts = [1] * circuit.num_variables
    for layer in circuit.layers:
        if isinstance(layer, InputLayer) and layer.scope:
            assert layer.num_values is not None, "brute force needs discrete variables"
            counts[layer.scope[0]] = layer.num_values
    rows = list(product(*map(range, counts)))
    assignments = np.array(rows, dtype=np.int64).reshape(len(rows), len(counts))
    values = evaluate(circuit, constant_leaf_values(circuit), assignments)
    return Table(assignments, values, tuple(circuit.scopes[output] for output in circuit.outputs))


def chi_square_p(samples: Array, assignments: Array, probabilities: Array) -> float:
    """The p-value of samples (S, D) under the probabilities (N,) of the assignments (N, D).

    Assignments expected less than 5 times are counted together. 0 if a sample has probability zero.
    """
    number = {tuple(row): i for i, row in enumerate(assignments.tolist())}
    counts = np.bincount([number[tuple(row)] for row in samples.tolist()], minlength=len(assignments))
    if (counts[probabilities == 0] > 0).any():
        return 0.0
    expected = probabilities * len(samples)
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    kept = wanted > 0
    if kept.sum() < 2:
        return 1.0
    return float(chisquare(observed[kept], wanted[kept]).pvalue)

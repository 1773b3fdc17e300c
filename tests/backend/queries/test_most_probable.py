"""The most probable assignment: exact on deterministic circuits, otherwise with an upper bound."""

import numpy as np
import torch
from hypothesis import given
from scipy.stats import norm

from explorer.backend import queries
from explorer.symbolic import Circuit, CircuitBuilder, GaussianLayer
from tests.backend.queries.brute import table_of
from tests.backend.queries.deciding import leaf
from tests.backend.queries.test_likelihood import DISCRETE, SEEDS, SEMIRINGS
from tests.fuzzing import examples
from tests.levels.modes import MODES, PRESETS, compile_circuit


@given(DISCRETE, SEEDS)
@examples(60)
def test_the_best_assignment_is_between_the_one_found_and_the_bound(circuit: Circuit, seed: int):
    table, random = table_of(circuit), np.random.default_rng(seed)
    root = int(random.integers(len(table.scopes))), int(random.integers(table.values.shape[2]))
    rows, values = table.distinct(root[0])
    logs = np.log(values[:, root[1]] / values[:, root[1]].sum())
    compiled = compile_circuit(circuit, SEMIRINGS[seed % 3], **MODES[seed // 3 % 4], preset=PRESETS[seed // 12 % 2])
    x, mask = rows[random.integers(0, len(rows), 3)], random.random((3, rows.shape[1])) < 0.4
    form = compiled.freeze() if seed % 2 else compiled
    found = queries.most_probable(form, torch.from_numpy(x), torch.from_numpy(mask), root=root)
    number = {tuple(row): i for i, row in enumerate(rows.tolist())}
    for i, (row, observed) in enumerate(zip(x, mask, strict=True)):
        assignment = found.assignment[i].numpy()
        assert (assignment[observed] == row[observed]).all()
        np.testing.assert_allclose(found.log_probability[i], logs[number[tuple(assignment)]], rtol=1e-9, atol=1e-9)
        best = logs[(rows[:, observed] == row[observed]).all(1)].max()
        assert found.log_probability[i] - 1e-9 <= best <= found.log_bound[i] + 1e-9
        if found.is_exact[i]:
            np.testing.assert_allclose(found.log_probability[i], best, rtol=0, atol=1e-8)


def test_real_variables_have_the_modes_of_their_units():
    b = CircuitBuilder()
    normal = GaussianLayer(scope=(0,), num_output_units=2, mean=leaf([1.0, 3.0]), stddev=leaf([0.5, 1.0]))
    single = compile_circuit(b.build(b.sum(b.add(normal), num_units=1, weight=leaf([[0.0, 2.0]]))))
    found = queries.most_probable(single)
    assert bool(found.is_exact.all())
    assert found.assignment.tolist() == [[3.0]]
    np.testing.assert_allclose(found.log_probability.item(), norm.logpdf(0.0))
    b = CircuitBuilder()
    both = compile_circuit(b.build(b.sum(b.add(normal), num_units=1, weight=leaf([[1.0, 1.0]]))))
    found = queries.most_probable(both)
    assert found.assignment.tolist() == [[1.0]]
    assert not bool(found.is_exact.any())
    points = np.linspace(0.0, 4.0, 401)
    best = np.log(0.5 * norm.pdf(points, 1.0, 0.5) + 0.5 * norm.pdf(points, 3.0, 1.0)).max()
    assert found.log_probability.item() <= best <= found.log_bound.item()

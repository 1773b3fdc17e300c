"""Logic circuits, which are deterministic and have many zeros: exact assignments, models only, entropy by structure."""

import numpy as np
import pytest
import torch

from explorer.backend import queries
from explorer.backend.queries import information
from explorer.errors import ValueRangeError
from explorer.templates.logic import build_circuit
from tests.backend.queries.brute import chi_square_p, table_of
from tests.fuzzing import seeded
from tests.levels.modes import MODES, compile_circuit
from tests.templates.logic.compiling import random_clauses, search


@seeded(30)
def test_a_logic_circuit_has_exact_answers(seed: int, monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 6))
    weights = {v: random.uniform(0.3, 2.0) for v in range(-count, count + 1) if v}
    symbolic = build_circuit(search(random_clauses(random, count), count), weights=weights)
    table = table_of(symbolic)
    rows, p = table.assignments, table.values[:, 0, 0]
    circuit = compile_circuit(symbolic, **MODES[seed % 4])
    generator = torch.Generator().manual_seed(seed)
    if p.sum() == 0:  # no model: nothing is probable
        for call in (queries.entropy, queries.most_probable, lambda c: queries.sample(c, 1)):
            with pytest.raises(ValueRangeError):
                call(circuit)
        return
    p = p / p.sum()
    mask = random.random(rows.shape) < 0.5
    mask[p == 0] = False
    for known in (None, bool(symbolic.is_deterministic)):
        found = queries.most_probable(circuit, torch.from_numpy(rows), torch.from_numpy(mask), is_deterministic=known)
        assert bool(found.is_exact.all())
        best = [p[(rows[:, m] == row[m]).all(1)].max() for row, m in zip(rows, mask, strict=True)]
        np.testing.assert_allclose(found.log_probability.exp(), best, rtol=1e-9)
    assert chi_square_p(queries.sample(circuit, 300, generator=generator).numpy(), rows, p) > 1e-5
    impossible = rows[p == 0]
    if len(impossible):
        everything = torch.ones(rows.shape[1], dtype=torch.bool)
        with pytest.raises(ValueRangeError, match="row 0 has probability zero"):
            queries.sample(circuit, 1, torch.from_numpy(impossible), everything)
    wanted = -(p[p > 0] * np.log(p[p > 0])).sum()
    np.testing.assert_allclose(queries.entropy(circuit).item(), wanted, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(information, "MAX_ASSIGNMENTS", 0)
    np.testing.assert_allclose(queries.entropy(circuit).item(), wanted, rtol=1e-9, atol=1e-12)

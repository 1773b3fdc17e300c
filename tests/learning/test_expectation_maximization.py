"""Expectation-maximization never lowers the likelihood, is the same in every mode, and refuses what it cannot learn."""

from itertools import pairwise

import torch
from hypothesis import given

from explorer.compiler import TorchCompiler
from explorer.learning import ExpectationMaximization
from tests.fuzzing import examples
from tests.learning.random_models import models

STEPS = 4


def learn(circuit, rows, steps=STEPS, options=None, **mode):
    """The circuit after some steps, and the log-likelihood before each and after the last."""
    compiled = TorchCompiler(**mode).compile(circuit).double()
    em = ExpectationMaximization(compiled, options)
    found = []
    for _ in range(steps):
        counts, total = em.expect(rows)
        em.maximize(counts)
        found.append(total)
    return compiled, [*found, compiled(rows).sum().item()]


@examples(60)
@given(model=models())
def test_a_step_never_lowers_the_likelihood(model):
    circuit, rows = model
    _, found = learn(circuit, rows)
    assert all(after >= before - 1e-7 * abs(before) for before, after in pairwise(found)), found


@examples(30)
@given(model=models())
def test_the_values_are_the_same_in_every_mode(model):
    circuit, rows = model
    expected, _ = learn(circuit, rows, steps=2, optimize=False, fold=False)
    for optimize, fold, preset in ((True, True, "default"), (True, False, "handbook"), (False, True, "default")):
        found, _ = learn(circuit, rows, steps=2, optimize=optimize, fold=fold, preset=preset)
        torch.testing.assert_close(found(rows), expected(rows), rtol=1e-8, atol=1e-8)
        # Logarithms of what is nearly zero differ most: they are compared as far as they matter.
        for name, value in expected.leaf_state().items():
            torch.testing.assert_close(found.leaf_state()[name], value, rtol=1e-5, atol=1e-5, msg=name)

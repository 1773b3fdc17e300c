"""The terms that a layer describes are those that it computes: their sum, and the inputs of each."""

from functools import partial

import torch
from hypothesis import given

from explorer.backend import MAX_PRODUCT, TorchInnerLayer
from explorer.backend.layers import ReachedUnits
from explorer.backend.queries.stages import prepare, stages_of
from explorer.backend.queries.upward import LSE, evaluate_stages, inputs_of, observed_leaf
from explorer.symbolic import Circuit
from tests.backend.queries.test_likelihood import DISCRETE, SEEDS
from tests.fuzzing import examples
from tests.levels.modes import MODES, PRESETS, compile_circuit

assert_near = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-9)  # sums of positive terms


@given(DISCRETE, SEEDS)
@examples(60)
def test_the_terms_of_a_unit_add_up_to_it_and_read_the_inputs_that_they_name(circuit: Circuit, seed: int):
    compiled = compile_circuit(circuit, **MODES[seed % 4], preset=PRESETS[seed // 4 % 2])
    stages = stages_of(compiled)
    values = prepare(stages, LSE)
    x = torch.zeros((2, compiled.num_variables), dtype=torch.long)
    observed = torch.tensor([[False], [True]]).expand(x.shape)
    with torch.no_grad():
        activations = evaluate_stages(stages, values, observed_leaf(values, x, observed))
        for position, stage in enumerate(stages.stages):
            layer = stage.layer
            if not isinstance(layer, TorchInnerLayer):
                continue
            inputs, parameters = inputs_of(stages, position, activations), values.prepared[stage.id]
            folds, rows, units = (activations[position] == activations[position]).nonzero(as_tuple=True)
            at = ReachedUnits(folds, rows, units)
            logs = layer.log_terms(inputs, at, parameters)
            assert logs.shape[1] == layer.num_terms
            torch.testing.assert_close(torch.logsumexp(logs, 1), activations[position][folds, rows, units])
            largest = layer.forward(MAX_PRODUCT, inputs, parameters)
            assert_near(logs.amax(1), largest[folds, rows, units])
            for term in range(layer.num_terms):
                read = layer.term_inputs(at, torch.full_like(units, term))
                below = inputs[folds, :, rows].gather(2, read.clamp(min=0).unsqueeze(2)).squeeze(2)
                log_weight = logs[:, term] - torch.where(read >= 0, below, 0.0).sum(1)
                first = log_weight[rows == 0]  # a weight does not depend on the row
                assert_near(first, log_weight[rows == 1])

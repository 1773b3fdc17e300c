"""A chain computes what its consecutive layers compute, folds like any layer, and is refused if they do not fit."""

from dataclasses import replace

import pytest
import torch

import explorer
from explorer.backend import TorchChainLayer, TorchHadamardLayer, TorchSumLayer, all_parameters, chain_of
from explorer.errors import ShapeError
from explorer.fold import fold_key, fold_layer_group
from explorer.optimize import put_rule_first
from explorer.rewrite import LayerOptPattern
from explorer.templates import load_named

SEMIRINGS = ("lse-sum", "sum-product", "complex-lse-sum")


def fused_by_chains(name, **options):
    compiler = explorer.TorchCompiler(disable=["Candecomp"], **options)
    pattern = LayerOptPattern("Chains", (TorchSumLayer, TorchHadamardLayer))
    put_rule_first(compiler.rules, pattern, "one layer")
    return explorer.record(load_named(name), compiler=compiler)


def chains(trace):
    return [layer for layer in trace.compiled.layers if isinstance(layer, TorchChainLayer)]


def gradients(module):
    """The sum of the sizes of all gradients."""
    return torch.stack([p.grad.abs().sum() for p in module.parameters()]).sum()


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("fold", [False, True])
def test_the_value_and_the_gradient_are_those_of_consecutive_layers(semiring, fold):
    trace = fused_by_chains("digits", semiring=semiring, fold=fold)
    plain = explorer.TorchCompiler(semiring=semiring, optimize=False, fold=False).compile(load_named("digits"))
    x = torch.randint(16, (3, 64))
    assert len(chains(trace)) == (3 if fold else 21)
    found, wanted = trace.compiled(x), plain(x)
    torch.testing.assert_close(found, wanted)
    for value in (found, wanted):
        (value.real if value.is_complex() else value).sum().backward()
    torch.testing.assert_close(gradients(trace.compiled), gradients(plain))
    trace.compiled.eval()
    with torch.no_grad():
        torch.testing.assert_close(trace.compiled(x), wanted.detach())


def test_a_chain_costs_as_much_as_its_layers():
    (chain,) = {layer.num_input_units: layer for layer in chains(fused_by_chains("blackboard", fold=False))}.values()
    assert chain.flops == chain.below.flops + chain.above.flops
    assert chain.transcendentals == chain.above.transcendentals
    assert list(all_parameters(chain)) == ["above.weight"]


def test_chains_fold_only_if_their_layers_would():
    trace = fused_by_chains("digits", fold=False)
    one, two, *_ = [c for c in chains(trace) if c.num_output_units > 1]
    assert fold_key(one) == fold_key(two)
    folded = fold_layer_group([one, two])
    assert isinstance(folded, TorchChainLayer)
    assert (folded.num_folds, folded.below.num_folds, folded.above.num_folds) == (2, 2, 2)
    assert all_parameters(folded)["above.weight"].num_folds == 2
    other = replace(one, below=replace(one.below, arity=one.arity + 1), arity=one.arity + 1)
    assert fold_key(other) != fold_key(one)


def test_layers_that_do_not_fit_are_refused():
    below = TorchHadamardLayer(num_input_units=3, num_output_units=3)
    above = TorchHadamardLayer(num_input_units=3, num_output_units=3, arity=2)
    with pytest.raises(ShapeError, match=r"TorchHadamardLayer .* \(2, 3, 1\) does not fit on TorchHadamardLayer"):
        chain_of(below, above)
    above = replace(above, arity=1)
    chain = chain_of(below, above, above)
    assert (chain.arity, chain.num_input_units, chain.num_output_units) == (2, 3, 3)
    with pytest.raises(ShapeError, match="arity, input and output units must be those of its layers"):
        replace(chain, arity=1)


def test_a_chain_of_one_layer_is_that_layer():
    layer = TorchHadamardLayer(num_input_units=3, num_output_units=3)
    assert chain_of(layer) is layer

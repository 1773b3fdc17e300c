"""Recording with a given compiler."""

import pytest

import explorer
from explorer.backend import TorchHadamardLayer
from explorer.errors import CircuitError
from explorer.rewrite import LayerOptPattern

NESTED = LayerOptPattern("NestedProducts", (TorchHadamardLayer,) * 2, config_patterns=({"arity": 1}, {}))


def own_compiler() -> explorer.TorchCompiler:
    compiler = explorer.TorchCompiler()

    @compiler.rules.fuse.rule(NESTED)
    def drop_product_of_one(compiler, match):
        """A product of one factor is that factor."""
        return (match.entries[1],)

    return compiler


def nested_products() -> explorer.Circuit:
    builder = explorer.CircuitBuilder()
    from explorer.symbolic import CategoricalLayer, Parameterization

    probs = Parameterization()
    coins = [
        builder.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=probs((2, 2))))
        for v in range(2)
    ]
    return builder.build(builder.sum(builder.hadamard(builder.hadamard(*coins)), num_units=1))


def test_the_recorder_listens_to_a_compiler_once():
    compiler = own_compiler()
    trace = explorer.record(nested_products(), compiler=compiler)
    assert "NestedProducts" in {rule.name for rule in trace.rules}
    assert compiler.listeners == ()


def test_custom_rules_apply_and_keep_the_value():
    import torch

    compiler = own_compiler()
    del compiler.rules.fuse.rules["Candecomp"]
    trace = explorer.record(nested_products(), compiler=compiler)
    assert any(rewrite.rule == "NestedProducts" for step in trace.steps for rewrite in step.rewrites)
    assert all(row.ok for row in trace.check(torch.tensor([[0, 1], [1, 1]])))


def test_a_compiler_and_options_do_not_mix():
    with pytest.raises(CircuitError, match="remove seed"):
        explorer.record(nested_products(), compiler=own_compiler(), seed=1)


def test_a_trace_with_custom_rules_reruns_with_a_compiler_that_has_them(tmp_path):
    explorer.record(nested_products(), compiler=own_compiler()).save(tmp_path / "trace.json")
    loaded = explorer.Trace.load(tmp_path / "trace.json")
    with pytest.raises(CircuitError, match="NestedProducts; pass a compiler that has them"):
        explorer.rerun(loaded)
    again = explorer.rerun(loaded, own_compiler())
    assert [str(again.graph_at(i)) for i in range(len(again.steps))] == [
        str(loaded.graph_at(i)) for i in range(len(loaded.steps))
    ]

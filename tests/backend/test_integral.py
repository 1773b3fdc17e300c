"""The integral of a circuit is the sum of its values over all states, in every mode and semiring."""

from itertools import product

import pytest
import torch

from explorer.backend import get_semiring
from explorer.backend.layers import TorchDiscreteLayer
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    CircuitBuilder,
    ConstantInitializer,
    GaussianLayer,
    Parameterization,
    PolynomialLayer,
    TensorParameter,
)
from explorer.templates import gallery


@pytest.mark.parametrize("semiring", ["sum-product", "lse-sum", "complex-lse-sum"])
@pytest.mark.parametrize(("optimize", "fold"), list(product([False, True], repeat=2)))
def test_the_integral_is_the_sum_over_all_states(semiring, optimize, fold):
    circuit = TorchCompiler(semiring=semiring, optimize=optimize, fold=fold).compile(gallery.load_named("near-misses"))
    sizes = [layer.num_values for layer in circuit.layers if isinstance(layer, TorchDiscreteLayer)]
    states = torch.cartesian_prod(*[torch.arange(sizes[0])] * circuit.num_variables)
    with torch.no_grad():
        values = circuit(states)
    total = torch.logsumexp(values, 0) if get_semiring(semiring).is_logarithmic else values.sum(0)
    torch.testing.assert_close(circuit.integral(), total, rtol=1e-5, atol=1e-5)


def inputs_of_every_kind(b):
    soft = Parameterization("softmax")
    scale = TensorParameter((2,), initializer=ConstantInitializer([0.5, 2.0]))
    partition = TensorParameter((2,), initializer=ConstantInitializer([0.0, 1.0]))
    count = b.add(BinomialLayer(scope=(0,), num_output_units=2, total_count=4, probs=Parameterization("sigmoid")((2,))))
    coin = b.add(CategoricalLayer(scope=(1,), num_output_units=2, num_categories=3, probs=soft((2, 3))))
    real = b.add(
        GaussianLayer(scope=(2,), num_output_units=2, mean=scale, stddev=scale, log_partition=partition),
    )
    return count, coin, real


def test_input_layers_integrate_to_what_they_represent():
    b = CircuitBuilder()
    circuit = TorchCompiler().compile(b.build(b.hadamard(*inputs_of_every_kind(b))))
    torch.testing.assert_close(circuit.integral(), torch.tensor([[0.0, 1.0]]), rtol=0, atol=1e-5)


def test_a_layer_without_a_finite_integral_is_refused():
    b = CircuitBuilder()
    coeff = TensorParameter((1, 3), initializer=ConstantInitializer([[1.0, 1.0, 1.0]]))
    circuit = TorchCompiler().compile(
        b.build(b.add(PolynomialLayer(scope=(0,), num_output_units=1, degree=2, coeff=coeff)))
    )
    with pytest.raises(DataTypeError, match="TorchPolynomialLayer has no known integral"):
        circuit.integral()

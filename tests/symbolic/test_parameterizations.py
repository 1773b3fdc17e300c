"""Parameterizations: fresh leaves, and activations by name."""

import pytest
from inline_snapshot import snapshot

from explorer.errors import UnknownNameError
from explorer.symbolic import ACTIVATIONS, Parameterization, TensorParameter, UniformInitializer


def test_a_parameterization_makes_a_new_leaf_each_time():
    make = Parameterization("none", UniformInitializer())
    first, second = make((2,)), make((2,))
    assert first is not second
    assert isinstance(first, TensorParameter)
    assert first.initializer == UniformInitializer()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_each_activation_keeps_the_shape(name):
    assert Parameterization(name)((2, 3)).shape == (2, 3)


def test_activations_by_name():
    assert {name: repr(Parameterization(name)((1, 2))) for name in ACTIVATIONS} == snapshot(
        {
            "none": "TensorParameter(1, 2)",
            "softmax": "SoftmaxParameter(TensorParameter(1, 2), axis=1)",
            "sigmoid": "SigmoidParameter(TensorParameter(1, 2))",
            "softplus": "SoftplusParameter(TensorParameter(1, 2))",
            "positive-clamp": "ClampParameter(TensorParameter(1, 2), vmin=1e-18)",
        }
    )


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"no activation named 'relu'; known are: none, softmax, sigmoid"):
        Parameterization("relu")

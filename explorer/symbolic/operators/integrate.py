"""`integrate`: sum or integrate variables out of a circuit."""

from collections.abc import Iterable

import numpy as np

from explorer.errors import ScopeError, StructureError
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import (
    BinomialLayer,
    CategoricalLayer,
    ConstantValueLayer,
    EmbeddingLayer,
    GaussianLayer,
    InputLayer,
    Layer,
    PolynomialLayer,
)
from explorer.symbolic.operators.assembly import check_operands, replace_inputs, require_decomposable, require_linear
from explorer.symbolic.operators.rules import RuleTable
from explorer.symbolic.parameter_operators import ReduceLSEParameter, ReduceSumParameter
from explorer.symbolic.parameters import ParameterNode, constant
from explorer.symbolic.scope import Scope, make_scope

integrate_rules = RuleTable("integrate")
"""For each type of input layer: a function of a layer that returns its integral over all values of its variables."""


def integrate(circuit: Circuit, variables: Iterable[int] | None = None) -> Circuit:
    """Sum or integrate a circuit over all values of some variables, by default of all.

    Its layers have the ids of `circuit`; an input layer of such a variable is a constant. The other variables remain.
    An output that does not depend on such a variable stays as it is: it is not multiplied by the number of values.
    Raises: StructureError unless the circuit is smooth and decomposable and its inner layers are linear in each input
    (`InnerLayer.multiplies`), or if an input layer has no integral; ScopeError for a variable that the circuit does not
    have.
    Source: Vergari et al. 2021, A Compositional Atlas of Tractable Circuit Operations, sec. 3.
    """
    (circuit,) = check_operands("integrate", (circuit,), 1)
    require_decomposable("integrate", (circuit,))
    wanted = check_variables("integrate", circuit, variables)
    require_linear("integrate", circuit, wanted)

    def replace(layer: InputLayer) -> Layer:
        rule = integrate_rules.find(layer)
        if rule is None:
            raise integrate_rules.missing(type(layer).__name__, layer)
        return rule(layer)

    return replace_inputs(circuit, "integrate", wanted, replace, {"variables": wanted})


def check_variables(operator: str, circuit: Circuit, variables: Iterable[int] | None) -> Scope:
    """The variables as a scope, by default all of the circuit. Raises: ScopeError for one that it does not have."""
    if variables is None:
        return circuit.scope
    wanted = make_scope(variables)
    unknown = [v for v in wanted if v not in circuit.scope]
    if unknown:
        raise ScopeError(f"{operator}: the circuit does not depend on variables {unknown}; it has {circuit.scope}")
    return wanted


def _constant(layer: InputLayer, value: ParameterNode, *, log_space: bool = False) -> ConstantValueLayer:
    return ConstantValueLayer(num_output_units=layer.num_output_units, value=value, log_space=log_space)


@integrate_rules.rule(EmbeddingLayer)
def integrate_embedding(layer: EmbeddingLayer) -> InputLayer:
    """The sum over the states."""
    return _constant(layer, ReduceSumParameter((layer.weight,), axis=1))


@integrate_rules.rule(CategoricalLayer)
def integrate_categorical(layer: CategoricalLayer) -> InputLayer:
    """The sum of the probabilities, which need not be normalized."""
    if layer.logits is not None:
        return _constant(layer, ReduceLSEParameter((layer.logits,), axis=1), log_space=True)
    assert layer.probs is not None
    return _constant(layer, ReduceSumParameter((layer.probs,), axis=1))


@integrate_rules.rule(BinomialLayer)
def integrate_binomial(layer: BinomialLayer) -> InputLayer:
    """One."""
    return _constant(layer, constant(np.zeros(layer.num_output_units)), log_space=True)


@integrate_rules.rule(GaussianLayer)
def integrate_gaussian(layer: GaussianLayer) -> InputLayer:
    """One, or what the density is multiplied by."""
    if layer.log_partition is not None:
        return _constant(layer, layer.log_partition, log_space=True)
    return _constant(layer, constant(np.zeros(layer.num_output_units)), log_space=True)


@integrate_rules.rule(PolynomialLayer)
def integrate_polynomial(layer: PolynomialLayer) -> InputLayer:
    """A polynomial has no finite integral over all real numbers."""
    raise StructureError("the integral of a polynomial over all real numbers is not finite")

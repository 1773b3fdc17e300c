"""Operators on one circuit: `conjugate`, `differentiate`, `integrate` and `evidence`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isnan
from typing import cast

import numpy as np

from explorer.errors import DataTypeError, ScopeError, StructureError, ValueRangeError, located
from explorer.graph import nested_of, parameters_of
from explorer.symbolic import layers as symbolic
from explorer.symbolic.checks import Scope, is_integer, make_scope
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.distributions import (
    ExponentialLayer,
    HistogramLayer,
    LaplaceLayer,
    MultivariateGaussianLayer,
)
from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.layers import (
    BinomialLayer,
    CategoricalLayer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    InputLayer,
    Layer,
    PolynomialLayer,
)
from explorer.symbolic.operators.assembly import (
    Assembly,
    RuleTable,
    check_operands,
    describe,
    replace_inputs,
    replace_layers,
    require_decomposable,
    require_linear,
)
from explorer.symbolic.operators.input_products import is_complex
from explorer.symbolic.parameter_operators import (
    ConjugateParameter,
    PolynomialDifferentialParameter,
    ReduceLSEParameter,
    ReduceSumParameter,
)
from explorer.symbolic.parameters import DataType, ParameterNode, TensorParameter, constant

conjugate_rules = RuleTable("conjugate")
"""For each type of input layer from outside: a function of a layer that returns its complex conjugate.

A built-in layer is a function of its parameters with real coefficients, so conjugating these conjugates its value.
"""


def conjugate(circuit: Circuit) -> Circuit:
    """Return the circuit with the complex conjugates of the values of `circuit`; its layers have the same ids.

    Parameters without complex leaves stay as they are. Raises: StructureError for a layer without a rule.
    """
    (circuit,) = check_operands("conjugate", (circuit,), 1)
    conjugates: dict[ParameterNode, ParameterNode] = {}

    def conjugated(parameter: ParameterNode) -> ParameterNode:
        if parameter not in conjugates:
            conjugates[parameter] = ConjugateParameter((parameter,)) if is_complex(parameter) else parameter
        return conjugates[parameter]

    def of(node: int, layer: Layer) -> Layer:
        if isinstance(layer, InputLayer):
            rule = conjugate_rules.find(layer)
            if rule is not None:
                return rule(layer)
        if type(layer) not in _BUILT_IN and any(map(is_complex, parameters_of(layer).values())):
            raise conjugate_rules.missing(type(layer).__name__, layer)
        values = {name: conjugated(parameter) for name, parameter in parameters_of(layer).items()}
        values |= {name: of(node, nested) for name, nested in nested_of(layer).items()}
        changed = {name: value for name, value in values.items() if value is not getattr(layer, name)}
        return replace(layer, **changed) if changed else layer

    return replace_layers(circuit, "conjugate", of)


_BUILT_IN = frozenset(getattr(symbolic, name) for name in symbolic.__all__)


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


@integrate_rules.rule(HistogramLayer)
def integrate_histogram(layer: HistogramLayer) -> InputLayer:
    """The sum of the probabilities, which need not be normalized."""
    return _constant(layer, ReduceSumParameter((layer.probs,), axis=1))


@integrate_rules.rule(ExponentialLayer)
@integrate_rules.rule(LaplaceLayer)
@integrate_rules.rule(MultivariateGaussianLayer)
def integrate_density(layer: InputLayer) -> InputLayer:
    """One."""
    return _constant(layer, constant(np.zeros(layer.num_output_units)), log_space=True)


@integrate_rules.rule(PolynomialLayer)
def integrate_polynomial(layer: PolynomialLayer) -> InputLayer:
    """A polynomial has no finite integral over all real numbers."""
    raise StructureError("the integral of a polynomial over all real numbers is not finite")


differentiate_rules = RuleTable("differentiate")
"""For each type of input layer: a function of a layer and an order that returns its derivative of that order."""


def differentiate(circuit: Circuit, variables: Iterable[int] | None = None, *, order: int = 1) -> Circuit:
    """Return the partial derivatives of a circuit: for each of its outputs, one per variable, in ascending order.

    To differentiate a product, differentiate the one factor that depends on the variable; the derivative of a sum
    is the sum of derivatives. `order` repeats the derivative with respect to the same variable. Layers that no
    derivative changes are there once.

    Raises: StructureError unless the circuit is smooth and decomposable and its inner layers are linear in each input
    (`InnerLayer.multiplies`), and if an input layer has no derivative: all but `PolynomialLayer`; ScopeError for a
    variable that an output does not depend on; ValueRangeError for order < 1; DataTypeError if it is not an integer.
    """
    (circuit,) = check_operands("differentiate", (circuit,), 1)
    if not is_integer(order):
        raise DataTypeError(f"differentiate: order must be an integer; found {order!r}")
    if order < 1:
        raise ValueRangeError(f"differentiate: order must be at least 1; found {order}")
    require_decomposable("differentiate", (circuit,))
    wanted = check_variables("differentiate", circuit, variables)
    require_linear("differentiate", circuit, wanted)
    for output in circuit.outputs:
        missing = [v for v in wanted if v not in circuit.scopes[output]]
        if missing:
            raise ScopeError(f"differentiate: {describe(circuit, output)} is an output without variables {missing}")
    if not wanted:
        raise ScopeError("differentiate: expected at least one variable; the circuit has none, or none was given")
    derivatives = _Derivatives(circuit, int(order))
    outputs = [derivatives.of(output, v) for output in circuit.outputs for v in wanted]
    return derivatives.assembly.build("differentiate", outputs, {"variables": wanted, "order": int(order)})


class _Derivatives:
    """The layers of the derivatives of a circuit, and the layers of the circuit that they read."""

    def __init__(self, circuit: Circuit, order: int) -> None:
        self.circuit, self.order = circuit, order
        self.assembly = Assembly((circuit,))
        self._placed: dict[tuple[int, int | None], int] = {}

    def of(self, top: int, variable: int) -> int:
        """Return the derivative of a layer with the variable in its scope."""
        scopes, sources_of = self.circuit.scopes, self.circuit.graph.inputs
        waiting: list[tuple[int, int | None]] = [(top, variable)]
        while waiting:
            node, by = waiting[-1]
            # A factor that does not depend on the variable stays as it is.
            needs = [(source, by if by is not None and by in scopes[source] else None) for source in sources_of[node]]
            missing = [need for need in needs if need not in self._placed]
            if missing:
                waiting.extend(reversed(missing))
                continue
            waiting.pop()
            if (node, by) not in self._placed:
                layer = self.circuit.graph.nodes[node]
                if isinstance(layer, InputLayer) and by is not None:
                    layer = self._differentiate_input(node, layer)
                self._placed[node, by] = self.assembly.add(layer, [self._placed[need] for need in needs], [(0, node)])
        return self._placed[top, variable]

    def _differentiate_input(self, node: int, layer: InputLayer) -> InputLayer:
        rule = differentiate_rules.find(layer)
        with located(f"differentiate: {describe(self.circuit, node)}"):
            if rule is None:
                raise differentiate_rules.missing(type(layer).__name__, layer)
            if len(layer.scope) != 1:
                raise StructureError(f"it reads variables {layer.scope}; only univariate layers have derivatives")
            return rule(layer, self.order)


@differentiate_rules.rule(PolynomialLayer)
def differentiate_polynomial(layer: PolynomialLayer, order: int) -> InputLayer:
    """A polynomial of a degree that is lower by the order, or the zero polynomial."""
    return PolynomialLayer(
        scope=layer.scope,
        num_output_units=layer.num_output_units,
        degree=max(layer.degree - order, 0),
        coeff=PolynomialDifferentialParameter((layer.coeff,), order=order),
    )


def evidence(circuit: Circuit, observations: Mapping[int, float]) -> Circuit:
    """Fix some variables of a circuit at these values, by variable; the result does not depend on them any more.

    Its layers have the ids of `circuit`. Layers that read the same variable share one fixed leaf with its value.
    Raises: ScopeError for a variable that the circuit does not have, or if only some variables of an input layer are
    observed; ValueRangeError for a value that the variable cannot have; DataTypeError for a value that is not a number.
    """
    (circuit,) = check_operands("evidence", (circuit,), 1)
    if not isinstance(observations, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DataTypeError(f"evidence: expected a mapping from variables to values, got {observations!r}")
    given = {int(v): _number(v, value) for v, value in observations.items() if is_integer(v)}
    wanted = check_variables("evidence", circuit, observations)
    leaves: dict[tuple[tuple[int, ...], bool], TensorParameter] = {}

    def replace(layer: InputLayer) -> Layer:
        values = [given[v] for v in layer.scope]
        is_discrete = layer.num_values is not None and all(float(value).is_integer() for value in values)
        key = (layer.scope, is_discrete)
        if key not in leaves:
            dtype = DataType.INTEGER if is_discrete else DataType.REAL
            fixed = ConstantInitializer([int(v) for v in values] if is_discrete else [float(v) for v in values])
            leaves[key] = TensorParameter((len(values),), dtype, learnable=False, initializer=fixed)
        return EvidenceLayer(num_output_units=layer.num_output_units, layer=layer, observation=leaves[key])

    arguments = {"variables": wanted, "values": tuple(given[v] for v in wanted)}
    return replace_inputs(circuit, "evidence", wanted, replace, arguments)


def _number(variable: int, value: object) -> int | float:
    if is_integer(value):
        return int(cast("int", value))
    try:
        number = float(cast("float", value)) if not isinstance(value, str | bool) else _refuse(variable, value)
    except (TypeError, ValueError):
        return _refuse(variable, value)
    if isnan(number):
        raise ValueRangeError(f"evidence: the value of variable {variable} is NaN; leave out what is not observed")
    return number


def _refuse(variable: int, value: object) -> float:
    raise DataTypeError(f"evidence: the value of variable {variable} must be a number; found {value!r}")

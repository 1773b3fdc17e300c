"""`differentiate`: partial derivatives of a circuit with respect to its variables."""

from collections.abc import Iterable

from explorer.errors import DataTypeError, ScopeError, StructureError, ValueRangeError, located
from explorer.symbolic.checks import is_integer
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import InputLayer, PolynomialLayer
from explorer.symbolic.operators.assembly import (
    Assembly,
    check_operands,
    describe,
    require_decomposable,
    require_linear,
)
from explorer.symbolic.operators.integrate import check_variables
from explorer.symbolic.operators.rules import RuleTable
from explorer.symbolic.parameter_operators import PolynomialDifferentialParameter

differentiate_rules = RuleTable("differentiate")
"""For each type of input layer: a function of a layer and an order that returns its derivative of that order."""


def differentiate(circuit: Circuit, variables: Iterable[int] | None = None, *, order: int = 1) -> Circuit:
    """Return the partial derivatives of a circuit: for each of its outputs, one per variable, in ascending order.

    The derivative of a product is that of the one factor that depends on the variable, times the others; that of a sum
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
    """The layers of the derivatives of a circuit, and those of the circuit that they read."""

    def __init__(self, circuit: Circuit, order: int) -> None:
        self.circuit, self.order = circuit, order
        self.assembly = Assembly((circuit,))
        self._placed: dict[tuple[int, int | None], int] = {}

    def of(self, top: int, variable: int) -> int:
        """The derivative of a layer, in whose scope the variable is."""
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

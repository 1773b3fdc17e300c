"""Random circuits that split their variables alike, so that they have a product."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    GaussianLayer,
    PolynomialLayer,
    Scope,
)
from tests.strategies import Maker

Tree = int | tuple["Tree", ...]
"""A variable, or a split of variables into two or three parts."""
MAX_UNITS = 4
MANY_VARIABLES = 4


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A random hierarchy of splits of one to six of the variables 0 to 5."""
    count = draw(st.sampled_from([2, 3, 1, 4, 5, 6]))
    parts: list[Tree] = list(draw(st.lists(st.integers(0, 5), min_size=count, max_size=count, unique=True)))
    while len(parts) > 1:
        size = min(draw(st.sampled_from([2, 2, 3])), len(parts))
        parts = [*parts[size:], tuple(parts[:size])]
    return parts[0]


@st.composite
def compatible_circuits(
    draw: st.DrawFn,
    count: int,
    *,
    positive: bool = True,
    complex_leaves: bool = False,
    continuous: bool = True,
    polynomial: bool = False,
    complete: bool = False,
) -> tuple[Circuit, ...]:
    """Circuits over one hierarchy of splits, each with layers of its own: of any type, width, arity and order.

    Some have constants or evidence as factors, and some leave a variable out, unless they are to be `complete`. With
    `polynomial`, all variables are real, and all input layers polynomials. Of more than four variables, discrete ones
    have two states, so that there are at most 81 assignments.
    """
    tree = draw(trees())
    variables = variables_of(tree)
    states = [2] if len(variables) > MANY_VARIABLES else [2, 3]
    kinds = {v: None if polynomial else draw(st.sampled_from([*states, *[None] * continuous])) for v in variables}
    polynomials = tuple(v for v, count in kinds.items() if count is None and (polynomial or draw(st.booleans())))
    found: list[Circuit] = []
    for _ in range(count):
        maker = Maker(draw, "positive" if positive else "any", complex_leaves, smooth=True, rearranged=False)
        maker.random = np.random.default_rng(draw(st.integers(0, 2**16)))
        maker.variables = dict(kinds)
        found.append(Structured(maker, draw, polynomials).circuit(tree, complete=complete))
    return tuple(found)


def variables_of(tree: Tree) -> Scope:
    """The variables of a hierarchy."""
    return (tree,) if isinstance(tree, int) else tuple(v for part in tree for v in variables_of(part))


@dataclass
class Structured:
    """Builds a random circuit over a hierarchy of splits."""

    maker: Maker
    draw: st.DrawFn
    polynomials: Scope
    builder: CircuitBuilder = field(default_factory=CircuitBuilder)

    def circuit(self, tree: Tree, *, complete: bool) -> Circuit:
        """A circuit with one or two outputs of the top split; sometimes without one of the variables."""
        may_drop = not complete and not isinstance(tree, int)
        dropped = self.maker.choose([None, None, None, *variables_of(tree)]) if may_drop else None
        width = self.maker.choose([2, 1, 3])
        root = self.layer(tree, width, dropped)
        assert root is not None
        width = self.builder.width(root)
        outputs = [root]
        if self.maker.chance(4) and width <= MAX_UNITS:
            other = self.layer(tree, width, dropped)
            assert other is not None
            outputs += [other] * (self.builder.width(other) == width)
        return self.builder.build(*outputs)

    def layer(self, tree: Tree, width: int, dropped: int | None) -> int | None:
        """A layer over all variables of a part; None if the part is the dropped variable."""
        if isinstance(tree, int):
            return None if tree == dropped else self.sums(lambda: self.input(tree, width), width)
        return self.sums(lambda: self.product(tree, width, dropped), None)

    def input(self, variable: int, width: int) -> int:
        """An input layer; those of a real variable are all normal densities, or all polynomials."""
        maker = self.maker
        if maker.variables[variable] is not None:
            return self.builder.add(maker.input_layer(variable, width))
        if variable in self.polynomials:
            degree = maker.choose([1, 0, 2])
            coeff = maker.parameter((width, degree + 1), maker.weight_kind())
            return self.builder.add(
                PolynomialLayer(scope=(variable,), num_output_units=width, degree=degree, coeff=coeff)
            )
        mean, stddev = maker.parameter((width,), "any"), maker.stddev((width,))
        log_partition = maker.log_partition((width,)) if maker.chance(2) else None
        return self.builder.add(
            GaussianLayer(
                scope=(variable,), num_output_units=width, mean=mean, stddev=stddev, log_partition=log_partition
            )
        )

    def product(self, tree: tuple[Tree, ...], width: int, dropped: int | None) -> int:
        parts = self.draw(st.permutations(tree))
        factors = [node for part in parts if (node := self.layer(part, width, dropped)) is not None]
        if self.maker.chance(5):
            factors.append(self.constant(self.builder.width(factors[0])))
        widths = [self.builder.width(node) for node in factors]
        if len(set(widths)) > 1:
            factors = [
                node if n == width else self.sum((node,), width) for node, n in zip(factors, widths, strict=True)
            ]
            widths = [width] * len(factors)
        if widths[0] ** len(factors) <= MAX_UNITS and self.maker.chance(2):
            return self.builder.kronecker(*factors)
        return self.builder.hadamard(*factors)

    def constant(self, width: int) -> int:
        state, self.maker.nodes = self.maker.nodes, {}
        self.maker.inputs, self.maker.scopes, self.maker.degrees = {}, {}, {}
        layer = self.maker.nodes[self.maker.add_input(None, width)]
        self.maker.nodes = state
        return self.builder.add(layer)

    def sums(self, make: Callable[[], int], width: int | None) -> int:
        """Nothing, a sum, or a sum of a sum over one or two of such layers."""
        node = make()
        for _ in range(self.maker.choose([1, 0, 2])):
            inputs = [node]
            if self.maker.chance(3):
                other = make()
                if self.builder.width(other) == self.builder.width(node):
                    inputs.append(other)
            node = self.sum(inputs, width or self.maker.choose([2, 1, 3]))
        return node

    def sum(self, inputs: Sequence[int], units: int) -> int:
        below = self.builder.width(inputs[0])
        mixing = len(inputs) > 1 and units == below and self.maker.chance(2)
        weight = self.maker.sum_weight(units, len(inputs), below, mixing)
        return self.builder.sum(*inputs, num_units=units, weight=weight)

"""The factors of products, and which factor of one is multiplied with which factor of another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import HadamardLayer, KroneckerLayer
from explorer.symbolic.operators.units import PairUnits
from explorer.symbolic.scope import Scope

ProductLayer = HadamardLayer | KroneckerLayer

Role = tuple[int | None, int | None]
"""A left and a right factor that are multiplied, or a left and a right axis; None: there is none on that side."""


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of a layer: their ids and scopes, and the units of the layer as axes of these sizes.

    Each factor of a Kronecker product has an axis of its own; otherwise all have the only one.
    """

    nodes: tuple[int, ...]
    scopes: tuple[Scope, ...]
    axes: tuple[int, ...]
    is_kronecker: bool

    def axis_of(self, factor: int | None) -> int | None:
        """The axis that a factor has; None for none."""
        return factor if factor is None or self.is_kronecker else 0

    def sharing(self, scope: Iterable[int]) -> int:
        """Number of factors that depend on one of these variables."""
        wanted = set(scope)
        return sum(not wanted.isdisjoint(own) for own in self.scopes)


def factors_of(circuit: Circuit, node: int) -> Factors:
    """The factors of a product; any other layer is its own only factor."""
    layer, inputs = circuit.graph.nodes[node], circuit.graph.inputs[node]
    if not isinstance(layer, ProductLayer):
        return whole(circuit, node)
    is_kronecker = isinstance(layer, KroneckerLayer)
    axes = (layer.num_input_units,) * (layer.arity if is_kronecker else 1)
    return Factors(inputs, tuple(circuit.scopes[source] for source in inputs), axes, is_kronecker)


def whole(circuit: Circuit, node: int) -> Factors:
    """A layer as its own only factor."""
    return Factors((node,), (circuit.scopes[node],), (circuit.graph.nodes[node].num_output_units,), False)


def match_factors(left: Factors, right: Factors) -> list[Role] | None:
    """The pairs of factors that depend on the same variables; constants are paired in order. None: they do not fit."""
    partners = [
        [j for j, other in enumerate(right.scopes) if not set(scope).isdisjoint(other)] for scope in left.scopes
    ]
    shared = [j for found in partners for j in found]
    if any(len(found) > 1 for found in partners) or len(set(shared)) < len(shared):
        return None
    constants = [j for j, scope in enumerate(right.scopes) if not scope]
    groups: list[Role] = []
    for scope, found in zip(left.scopes, partners, strict=True):
        partner = found[0] if found else constants.pop(0) if constants and not scope else None
        groups.append((len(groups), partner))
    taken = {j for _, j in groups}
    return groups + [(None, j) for j in range(len(right.nodes)) if j not in taken]


def split_text(scopes: Sequence[Scope]) -> str:
    """A split of variables for an error: `(0, 1) | (2,)`."""
    return " | ".join(map(str, scopes))


def kronecker_units(groups: Sequence[Role], units: Sequence[PairUnits]) -> PairUnits:
    """The units of a Kronecker product of products of these units, in the order of its inputs."""
    left_sizes = {i: one.left for (i, _), one in zip(groups, units, strict=True) if i is not None}
    right_sizes = {j: one.right for (_, j), one in zip(groups, units, strict=True) if j is not None}
    left = [(i, k) for i in sorted(left_sizes) for k in range(len(left_sizes[i]))]
    right = [(j, k) for j in sorted(right_sizes) for k in range(len(right_sizes[j]))]
    order: list[int] = []
    for (i, j), one in zip(groups, units, strict=True):
        assert i is not None
        assert j is not None
        split = len(one.left)
        order += [
            left.index((i, axis)) if axis < split else len(left) + right.index((j, axis - split)) for axis in one.order
        ]
    return PairUnits(tuple(left_sizes[i][k] for i, k in left), tuple(right_sizes[j][k] for j, k in right), tuple(order))

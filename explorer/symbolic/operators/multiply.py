"""`multiply`: the product of circuits."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.derivation import Derivation
from explorer.symbolic.operators.assembly import Origin, check_operands, expand, require_decomposable
from explorer.symbolic.operators.pairs import PairProducts


def multiply(*circuits: Circuit) -> Circuit:
    """Return the product of two or more circuits, itself smooth and decomposable.

    Outputs and units are all combinations, the first circuit varying slowest: with (outputs, units) of (m, K) and
    (n, L), the product has (m*n, K*L). Variables are shared by index; parts of the circuits that depend on disjoint
    variables are multiplied as they are. Leaves are shared with the operands, so no parameter is added. In the product
    of a circuit and itself, or its conjugate if its parameters are real, equal products are computed once. The circuits
    are multiplied from left to right: each must be compatible with the product of those before.

    The weight of a product of sums is the product of their weights, which is zero in single precision below 1e-38
    unless the sums are shattered; use double precision, or `fast()`, where weights below 1e-19 matter.

    Raises: StructureError unless all are smooth and decomposable, if two products split the variables that they share
    differently, or if a pair of layers has no product; the message names the layers. ShapeError
    if a rule of `expand_rules` returns a layer of other units.
    Source: Vergari et al. 2021, A Compositional Atlas of Tractable Circuit Operations, sec. 3.2.
    """
    operands = check_operands("multiply", circuits, 2)
    require_decomposable("multiply", operands)
    expanded = _expand_each_once(operands)
    product = expanded[0]
    origins: dict[int, tuple[Origin, ...]] = {node: ((0, node),) for node in product.graph.nodes}
    for position, factor in enumerate(expanded[1:], start=1):
        pairs = PairProducts(product, factor)
        outputs = [pairs.output(left, right) for left in product.outputs for right in factor.outputs]
        product, before = pairs.assembly.build("multiply", outputs), origins
        origins = {
            node: tuple(o for side, one in found for o in (before[one] if side == 0 else ((position, one),)))
            for node, found in pairs.assembly.origins.items()
        }
    return replace(product, names=_names(operands, origins), derivation=Derivation("multiply", operands, origins))


def _expand_each_once(operands: Sequence[Circuit]) -> list[Circuit]:
    """The circuits without layers from outside; a circuit that is given twice stays one, so that it is squared.

    So does one with the same layers, as the conjugate of a circuit of real parameters has.
    """
    found: list[Circuit] = []
    for position, circuit in enumerate(operands):
        same = (
            known for known, other in zip(found, operands[:position], strict=True) if _has_layers_of(circuit, other)
        )
        found.append(next(same, None) or expand(circuit))
    return found


def _has_layers_of(circuit: Circuit, other: Circuit) -> bool:
    """Whether both have the same layers, not only equal ones, with the same inputs and outputs under the same ids."""
    own, others = circuit.graph, other.graph
    return circuit is other or (
        own.nodes.keys() == others.nodes.keys()
        and own.inputs == others.inputs
        and circuit.outputs == other.outputs
        and all(layer is others.nodes[node] for node, layer in own.nodes.items())
    )


def _names(operands: tuple[Circuit, ...], origins: Mapping[int, Sequence[Origin]]) -> dict[int, str]:
    """Name layers after their factors, `a × b`, or by one name if both are the same; each name once."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for node, found in origins.items():
        parts = [operands[side].names.get(origin) for side, origin in found]
        known = list(dict.fromkeys(part for part in parts if part is not None))
        name = " × ".join(known)
        if known and None not in parts and name not in taken:
            taken.add(name)
            names[node] = name
    return names

"""The factors of products, and which factor of one is multiplied with which factor of another."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from explorer.symbolic.layers import HadamardLayer, KroneckerLayer
from explorer.symbolic.operators.unit_pairs import PairUnits, Side
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


def factors_of(side: Side, node: int) -> Factors:
    """The factors of a product; any other layer is its own only factor."""
    layer, inputs = side.nodes[node], side.inputs[node]
    if not isinstance(layer, ProductLayer):
        return whole(side, node)
    is_kronecker = isinstance(layer, KroneckerLayer)
    axes = (layer.num_input_units,) * (layer.arity if is_kronecker else 1)
    return Factors(inputs, tuple(side.scopes[source] for source in inputs), axes, is_kronecker)


def whole(side: Side, node: int) -> Factors:
    """A layer as its own only factor."""
    return Factors((node,), (side.scopes[node],), (side.nodes[node].num_output_units,), False)


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


@dataclass(frozen=True, slots=True)
class Product:
    """A product of a side, and its factors: the layer's, or different ones with the same product."""

    side: Side
    node: int
    factors: Factors


def regroup(left: Product, right: Product) -> tuple[Factors, Factors] | None:
    """Other factors of two products, which `match_factors` pairs: where one side splits further, its factors are one.

    A factor that overlaps several, at least one of them several too, is replaced by its own factors if it is a
    product of the same type. None: a factor can neither be split nor paired; or the factors of a Kronecker product
    that would become one are not next to each other, or differ in their number of units.
    """
    products = left, right
    while True:
        parts = _overlaps(*(product.factors for product in products))
        tangled = [part for part in parts if len(part[0]) > 1 and len(part[1]) > 1]
        if not tangled:
            break
        opened = tuple(
            _open_nested(product, [at for part in tangled for at in part[number] if _is_opened(products, number, at)])
            for number, product in enumerate(products)
        )
        if opened == products:
            return None
        products = opened
    found = [_group(product, [part[number] for part in parts]) for number, product in enumerate(products)]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _overlaps(left: Factors, right: Factors) -> list[tuple[list[int], list[int]]]:
    """The factors of both sides, by their positions, in sets of those that share variables."""
    found: list[tuple[list[int], list[int]]] = []
    for i, scope in enumerate(left.scopes):
        partners = [j for j, other in enumerate(right.scopes) if not set(scope).isdisjoint(other)]
        if not partners:
            continue
        joined = [part for part in found if not set(part[1]).isdisjoint(partners)]
        found = [part for part in found if part not in joined]
        lefts = [*(at for part in joined for at in part[0]), i]
        found.append((sorted(lefts), sorted({*partners, *(at for part in joined for at in part[1])})))
    return found


def _is_opened(products: Sequence[Product], number: int, at: int) -> bool:
    """Whether the other product splits a factor of the left (0) or right (1) product.

    Of a Kronecker product all factors are opened, so that they have equally many units.
    """
    own, other = products[number].factors, products[1 - number].factors
    return own.is_kronecker or other.sharing(own.scopes[at]) > 1


def _open_nested(product: Product, chosen: Sequence[int]) -> Product:
    """The product with the factors of some of its factors, if these are products of its type."""
    side, factors = product.side, product.factors
    if not isinstance(side.nodes[product.node], ProductLayer) or len(factors.nodes) == 1:
        return product
    nodes: list[int] = []
    axes: list[int] = []
    for at, node in enumerate(factors.nodes):
        is_opened = at in chosen and type(side.nodes[node]) is type(side.nodes[product.node])
        inner = factors_of(side, node) if is_opened else whole(side, node)
        nodes += inner.nodes
        axes += inner.axes if factors.is_kronecker else ()
    if tuple(nodes) == factors.nodes:
        return product
    scopes = tuple(side.scopes[node] for node in nodes)
    return Product(side, product.node, Factors(tuple(nodes), scopes, tuple(axes) or factors.axes, factors.is_kronecker))


def _group(product: Product, sets: Sequence[Sequence[int]]) -> Factors | None:
    """The factors where each set of several is one, at the position of its first; None: they cannot be one."""
    side, factors = product.side, product.factors
    first = {members[0]: members for members in sets if len(members) > 1}
    inside = {at for members in first.values() for at in members}
    if len(inside) == len(factors.nodes) and len(first) == 1:
        return None  # it would be the product itself
    nodes: list[int] = []
    axes: list[int] = []
    for at, node in enumerate(factors.nodes):
        members = first.get(at, [] if at in inside else [at])
        if not members:
            continue
        if len(members) > 1:
            chosen = [factors.nodes[one] for one in members]
            widths = {side.nodes[one].num_output_units for one in chosen}
            if factors.is_kronecker and (len(widths) > 1 or members[-1] - at >= len(members)):
                return None
            node = side.group(product.node, chosen, is_kronecker=factors.is_kronecker)
        nodes.append(node)
        axes.append(prod(factors.axes[one] for one in members) if factors.is_kronecker else 0)
    scopes = tuple(side.scopes[node] for node in nodes)
    return Factors(tuple(nodes), scopes, tuple(axes) if factors.is_kronecker else factors.axes, factors.is_kronecker)


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

"""The factors of products: which factor of one is multiplied with which factor of another, and the order of units."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from explorer.symbolic.checks import Scope, union
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import HadamardLayer, KroneckerLayer, Layer
from explorer.symbolic.operators.assembly import describe


@dataclass(frozen=True, slots=True)
class PairUnits:
    """The order of the units of a product of a left and a right layer.

    The units of each are viewed as axes, of the sizes `left` and `right` (none, if the layer is a copy of the one on
    the other side). The units of the product have all these axes; `order` lists them, where left axes come before right
    ones: the natural order is 0, 1, 2 ... A Kronecker product of products has another one. With `is_half`, it is a
    square: left and right units are the same, and only the pairs (i, j) with i <= j exist.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    order: tuple[int, ...]
    is_half: bool = False

    @staticmethod
    def natural(left: int | None, right: int | None) -> "PairUnits":
        """All pairs of `left` and `right` units, the left one slower; None: there is no layer on that side."""
        sizes = [() if n is None else (n,) for n in (left, right)]
        return PairUnits(sizes[0], sizes[1], tuple(range(len(sizes[0]) + len(sizes[1]))))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of all axes: left, then right."""
        return (*self.left, *self.right)

    @property
    def num_left(self) -> int:
        """Number of left units."""
        return prod(self.left)

    @property
    def num_right(self) -> int:
        """Number of right units."""
        return prod(self.right)

    @property
    def is_natural(self) -> bool:
        """Whether the units are in the natural order; axes of size 1 do not matter."""
        return is_ascending(self.order, self.sizes)

    def simplified(self) -> "PairUnits":
        """The same order with one axis for each side, if it is the natural one."""
        if not self.is_natural:
            return self
        return PairUnits.natural(self.num_left if self.left else None, self.num_right if self.right else None)

    def flipped(self) -> "PairUnits":
        """The same units where left is right."""
        shift = len(self.left)
        order = tuple(axis - shift if axis >= shift else axis + len(self.right) for axis in self.order)
        return PairUnits(self.right, self.left, order)


def is_ascending(order: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a transposition changes nothing: the axes of size above 1 are in order."""
    wide = [axis for axis in order if sizes[axis] > 1]
    return wide == sorted(wide)


class Side:
    """A circuit with groups of factors as layers below products, wherever the other side does not split these."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.nodes: dict[int, Layer] = dict(circuit.graph.nodes)
        self.inputs: dict[int, tuple[int, ...]] = dict(circuit.graph.inputs)
        self.scopes: dict[int, Scope] = dict(circuit.scopes)
        self._groups: dict[tuple[type[Layer], tuple[int, ...]], int] = {}
        self._product_of: dict[int, int] = {}

    def group(self, node: int, factors: Sequence[int], *, is_kronecker: bool) -> int:
        """The layer with the product of some factors of a product; they have equally many units."""
        width = self.nodes[factors[0]].num_output_units
        layer_type = KroneckerLayer if is_kronecker else HadamardLayer
        key = (layer_type, tuple(factors))
        if key not in self._groups:
            count = len(factors)
            units = width**count if is_kronecker else width
            found = max(self.nodes) + 1
            self.nodes[found] = layer_type(num_input_units=width, num_output_units=units, arity=count)
            self.inputs[found] = tuple(factors)
            self.scopes[found] = union(self.scopes[factor] for factor in factors)
            self._product_of[found] = self.origin(node)
            self._groups[key] = found
        return self._groups[key]

    def origin(self, node: int) -> int:
        """The layer of the circuit: of a group of factors, the product that has them."""
        return self._product_of.get(node, node)

    def describe(self, node: int, operand: int) -> str:
        """A layer in words for an error, as `describe`."""
        words = describe(self.circuit, self.origin(node), operand)
        return words if node == self.origin(node) else f"some factors of {words}"


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

"""The products of pairs of layers of two circuits, down to their input layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from explorer.errors import CircuitError, StructureError, located
from explorer.symbolic.checks import Scope
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.layers import (
    HadamardLayer,
    InputLayer,
    KroneckerLayer,
    Layer,
    RearrangeLayer,
    SumLayer,
)
from explorer.symbolic.operators.assembly import Assembly, Origin
from explorer.symbolic.operators.factors import (
    Factors,
    PairUnits,
    Product,
    ProductLayer,
    Role,
    Side,
    factors_of,
    kronecker_units,
    match_factors,
    regroup,
    split_text,
    whole,
)
from explorer.symbolic.operators.input_products import multiply_rules
from explorer.symbolic.operators.product_weights import (
    half_of,
    halved_layers,
    mixes_unit_by_unit,
    natural_order,
    product_weight,
    rearranged_pairs,
    repeated_weight,
    spread,
)
from explorer.symbolic.parameters import ParameterNode


class Pair(NamedTuple):
    """A layer of the left and one of the right circuit; None: the other one as it is.

    With `half`, it is the square of a layer, and units (i, j) with i > j are left out.
    """

    left: int | None
    right: int | None
    half: bool = False


class Both(NamedTuple):
    """A layer of the left and one of the right circuit."""

    left: int
    right: int


class Made(NamedTuple):
    """The layer that computes the product of a pair, and its units."""

    node: int
    units: PairUnits


@dataclass(frozen=True, slots=True)
class Step:
    """The plan for the product of a pair, from the products of other pairs."""

    needs: tuple[Pair, ...]
    make: Callable[[Sequence[Made]], Made]


class PairProducts:
    """The layers of a product of two circuits. Each pair is computed once."""

    def __init__(self, left: Circuit, right: Circuit) -> None:
        self.left = Side(left)
        self.right = self.left if left is right else Side(right)
        self._halved = halved_layers(left) if left is right else frozenset[int]()
        self.assembly = Assembly((left, right))
        self._made: dict[Pair, Made] = {}
        self._open: dict[Pair, Step] = {}

    def output(self, left: int, right: int) -> int:
        """The layer with the products of all units of two layers, in the natural order."""
        pair = Pair(left, right)
        return self._in_natural_order(self._product(pair), self._origins(pair))

    def _product(self, top: Pair) -> Made:
        waiting = [top]
        while waiting:
            pair = waiting[-1]
            if pair in self._made:
                waiting.pop()
                continue
            if pair not in self._open:
                self._open[pair] = self._plan(pair)
            step = self._open[pair]
            missing = [need for need in step.needs if need not in self._made]
            if missing:
                waiting.extend(reversed(missing))
                continue
            made = step.make([self._made[need] for need in step.needs])
            self._made[pair] = made if pair.half else Made(made.node, made.units.simplified())
        return self._made[top]

    # ------------------------------------------------------------------ which rule

    def _plan(self, pair: Pair) -> Step:
        if pair.left is None or pair.right is None:
            return self._plan_copy(pair)
        both = Both(pair.left, pair.right)
        return self._plan_half(both) if pair.half else self._plan_both(both)

    def _plan_both(self, pair: Both) -> Step:
        left, right = self._layers(pair)
        scope, other = self.left.scopes[pair.left], self.right.scopes[pair.right]
        if isinstance(left, InputLayer) and isinstance(right, InputLayer) and self._has_rule(left, right, scope, other):
            return Step((), lambda _: self._multiply_inputs(pair, left, right))
        if set(scope).isdisjoint(other):
            return self._plan_independent(pair)
        if isinstance(left, InputLayer) and isinstance(right, InputLayer):
            with located("multiply"):
                raise self._missing(pair, left, right)
        if isinstance(left, RearrangeLayer) or isinstance(right, RearrangeLayer):
            return self._plan_rearranged(pair)
        if isinstance(left, SumLayer) and isinstance(right, SumLayer):
            return self._plan_sums(pair, left, right, half=False)
        for one, two, flip in ((left, right, False), (right, left, True)):
            if isinstance(one, SumLayer) and not self._fits_into_one_factor(pair, flip=flip):
                return self._plan_sum(pair, one, two, flip=flip)
        for layer in (left, right):
            if not isinstance(layer, ProductLayer | SumLayer | InputLayer):
                name = type(layer).__name__
                raise StructureError(
                    f"multiply: no rule for {self._name(pair)}; express {name} by a built-in layer with "
                    f"@expand_rules.rule({name})"
                )
        return self._plan_products(pair)

    def _has_rule(self, left: InputLayer, right: InputLayer, scope: Scope, other: Scope) -> bool:
        return scope == other and any(multiply_rules.find(*two) for two in ((left, right), (right, left)))

    def _fits_into_one_factor(self, pair: Both, *, flip: bool) -> bool:
        """Whether the other layer is a product, and the sum depends on variables of one factor of it only."""
        one, node = (self.right, pair.right) if flip else (self.left, pair.left)
        two, other = (self.left, pair.left) if flip else (self.right, pair.right)
        if not isinstance(two.nodes[other], ProductLayer):
            return False
        shared = set(one.scopes[node])
        return sum(not shared.isdisjoint(two.scopes[factor]) for factor in two.inputs[other]) == 1

    # ------------------------------------------------------------------ input layers and copies

    def _plan_copy(self, pair: Pair) -> Step:
        side, node = (0, pair.left) if pair.left is not None else (1, pair.right)
        assert node is not None
        one = (self.left, self.right)[side]
        layer = one.nodes[node]
        width = layer.num_output_units
        units = PairUnits.natural(width, None) if side == 0 else PairUnits.natural(None, width)
        sources = one.inputs[node]
        needs = tuple(Pair(source, None) if side == 0 else Pair(None, source) for source in sources)
        return Step(needs, lambda made: self._add(pair, layer, [one.node for one in made], units))

    def _multiply_inputs(self, pair: Both, left: InputLayer, right: InputLayer) -> Made:
        rule = multiply_rules.find(left, right)
        with located(f"multiply: {self._name(pair)}"):
            if rule is not None:
                units = PairUnits.natural(left.num_output_units, right.num_output_units)
                return self._add(pair, rule(left, right), (), units)
            rule = multiply_rules.find(right, left)
            assert rule is not None
            units = PairUnits.natural(right.num_output_units, left.num_output_units).flipped()
            return self._add(pair, rule(right, left), (), units)

    def _missing(self, pair: Both, left: InputLayer, right: InputLayer) -> CircuitError:
        if left.scope != right.scope:
            return StructureError(
                f"{self._name(pair)} share some of their variables {left.scope} and {right.scope}, not all"
            )
        return multiply_rules.missing(self._name(pair), left, right)

    def _plan_independent(self, pair: Both) -> Step:
        """Layers that share no variable: a product of both as they are."""
        return Step(
            (Pair(pair.left, None), Pair(None, pair.right)),
            lambda made: self._join(pair, made, self._natural(pair), [(0, None), (None, 0)]),
        )

    def _plan_rearranged(self, pair: Both) -> Step:
        """A rearrangement of one side of the pairs; the left side first."""
        left, right = self._layers(pair)
        if isinstance(left, RearrangeLayer):
            need = Pair(self.left.inputs[pair.left][0], pair.right)
            layer = rearranged_pairs(left, right.num_output_units, flip=False)
        else:
            assert isinstance(right, RearrangeLayer)
            need = Pair(pair.left, self.right.inputs[pair.right][0])
            layer = rearranged_pairs(right, left.num_output_units, flip=True)
        return Step(
            (need,),
            lambda made: self._add(pair, layer, [self._naturally(need, made[0]).node], self._natural(pair)),
        )

    # ------------------------------------------------------------------ squares with half the units

    def _plan_half(self, pair: Both) -> Step:
        layer = self.left.nodes[pair.left]
        if isinstance(layer, SumLayer):
            return self._plan_sums(pair, layer, layer, half=True)
        units = replace(self._natural(pair), is_half=True)
        width = layer.num_output_units
        if isinstance(layer, HadamardLayer):
            needs = tuple(Pair(source, source, half=True) for source in self.left.inputs[pair.left])
            entries = width * (width + 1) // 2
            square = HadamardLayer(num_input_units=entries, num_output_units=entries, arity=layer.arity)
            return Step(needs, lambda made: self._add(pair, square, [one.node for one in made], units))
        assert isinstance(layer, InputLayer)
        rule = multiply_rules.find(layer, layer)
        assert rule is not None
        return Step((), lambda _: self._add(pair, half_of(rule(layer, layer), width), (), units))

    # ------------------------------------------------------------------ sums

    def _plan_sums(self, pair: Both, left: SumLayer, right: SumLayer, *, half: bool) -> Step:
        """(sum_i v_i x_i) (sum_j w_j y_j) = sum_ij v_i w_j x_i y_j, over all pairs of inputs.

        In the square of a sum, the pairs of inputs (i, j) and (j, i) have the same product, with i and j exchanged.
        """
        above, below = self.left.inputs[pair.left], self.right.inputs[pair.right]
        is_square = self.left is self.right and pair.left == pair.right
        once = is_square and left.arity > 1 and not mixes_unit_by_unit(left)
        needs = tuple(Pair(i, j) for k, i in enumerate(above) for j in below[k if once else 0 :])
        if len(needs) == 1 and above == below and above[0] in self._halved:
            needs = (Pair(above[0], above[0], half=True),)

        def make(made: Sequence[Made]) -> Made:
            made = self._alike(needs, made)
            weight = product_weight(left, right, made[0].units, once=once, half=half)
            return self._add_sum(pair, weight, made, replace(self._natural(pair), is_half=half))

        return Step(needs, make)

    def _plan_sum(self, pair: Both, one: SumLayer, other: Layer, *, flip: bool) -> Step:
        """(sum_i w_i x_i) y = sum_i w_i (x_i y); with `flip` the sum is the right layer."""
        if flip:
            needs = tuple(Pair(pair.left, source) for source in self.right.inputs[pair.right])
        else:
            needs = tuple(Pair(source, pair.right) for source in self.left.inputs[pair.left])

        def make(made: Sequence[Made]) -> Made:
            made = self._alike(needs, made)
            units = made[0].units.flipped() if flip else made[0].units
            weight = repeated_weight(one, other.num_output_units, units)
            natural = self._natural(pair)
            own = PairUnits(natural.left, natural.right, (1, 0)) if flip else natural
            return self._add_sum(pair, weight, made, own)

        return Step(needs, make)

    def _add_sum(self, pair: Pair | Both, weight: ParameterNode, made: Sequence[Made], units: PairUnits) -> Made:
        width = self.assembly.nodes[made[0].node].num_output_units
        layer = SumLayer(num_input_units=width, num_output_units=weight.shape[0], arity=len(made), weight=weight)
        return self._add(pair, layer, [one.node for one in made], units)

    def _alike(self, pairs: Sequence[Pair], made: Sequence[Made]) -> Sequence[Made]:
        """The layers with their units in one order."""
        if all(one.units == made[0].units for one in made):
            return made
        return [self._naturally(pair, one) for pair, one in zip(pairs, made, strict=True)]

    # ------------------------------------------------------------------ products

    def _plan_products(self, pair: Both) -> Step:
        """A product of products is one of products of factors: of those that depend on the same variables."""
        left, right = factors_of(self.left, pair.left), factors_of(self.right, pair.right)
        in_left = left.sharing(self.right.scopes[pair.right])
        in_right = right.sharing(self.left.scopes[pair.left])
        one, other = self._layers(pair)
        if in_left == 1 and in_right > 1 and isinstance(one, ProductLayer):
            right = whole(self.right, pair.right)
        elif in_right == 1 and in_left > 1 and isinstance(other, ProductLayer):
            left = whole(self.left, pair.left)
        groups = match_factors(left, right)
        if groups is None:
            products = Product(self.left, pair.left, left), Product(self.right, pair.right, right)
            regrouped = regroup(*products)
            if regrouped is None:
                raise StructureError(
                    f"multiply: {self._name(pair)} split the variables that they share differently: "
                    f"{split_text(left.scopes)} and {split_text(right.scopes)}; only compatible circuits have a product"
                    f"{self._limit(pair)}"
                )
            left, right = regrouped
            groups = match_factors(left, right)
            assert groups is not None
        needs = tuple(
            Pair(None if i is None else left.nodes[i], None if j is None else right.nodes[j]) for i, j in groups
        )
        return Step(needs, lambda made: self._make_product(pair, left, right, groups, made))

    def _limit(self, pair: Both) -> str:
        """Advice of an error about products that might be compatible but are not multiplied."""
        is_kronecker = any(isinstance(layer, KroneckerLayer) for layer in self._layers(pair))
        return (
            ", and factors of a KroneckerLayer are multiplied as one only if they are next to each other and have "
            "equally many units"
            if is_kronecker
            else ""
        )

    def _make_product(
        self, pair: Both, left: Factors, right: Factors, groups: Sequence[Role], made: Sequence[Made]
    ) -> Made:
        nodes = [one.node for one in made]
        widths = {self.assembly.nodes[node].num_output_units for node in nodes}
        if len(widths) == 1 and all(i is not None and j is not None for i, j in groups):
            (width,) = widths
            if left.is_kronecker and right.is_kronecker:
                layer = KroneckerLayer(num_input_units=width, num_output_units=width ** len(nodes), arity=len(nodes))
                return self._add(pair, layer, nodes, kronecker_units(groups, [one.units for one in made]))
            if not left.is_kronecker and not right.is_kronecker and all(one.units == made[0].units for one in made):
                layer = HadamardLayer(num_input_units=width, num_output_units=width, arity=len(nodes))
                return self._add(pair, layer, nodes, made[0].units)
        units = PairUnits(left.axes, right.axes, tuple(range(len(left.axes) + len(right.axes))))
        return self._join(pair, made, units, [(left.axis_of(i), right.axis_of(j)) for i, j in groups])

    def _join(self, pair: Pair | Both, made: Sequence[Made], units: PairUnits, roles: Sequence[Role]) -> Made:
        """The products of all combinations of axes; `roles` tells which axes of the result each factor has."""
        widths = {self.assembly.nodes[one.node].num_output_units for one in made}
        if list(roles) == [(0, None), (None, 0)] and len(widths) == 1:
            (width,) = widths
            layer: Layer = KroneckerLayer(num_input_units=width, num_output_units=width**2)
            return self._add(pair, layer, [one.node for one in made], units)
        nodes = [self._spread(pair, one, units, role) for one, role in zip(made, roles, strict=True)]
        width = units.num_left * units.num_right
        layer = HadamardLayer(num_input_units=width, num_output_units=width, arity=len(nodes))
        return self._add(pair, layer, nodes, units)

    def _spread(self, pair: Pair | Both, made: Made, units: PairUnits, role: Role) -> int:
        """The layer that repeats a factor along the axes of the product that it does not have."""
        layer = spread(made.units, role, units)
        return made.node if layer is None else self.assembly.add(layer, [made.node], self._origins(pair))

    # ------------------------------------------------------------------ helpers

    def _in_natural_order(self, made: Made, origins: Sequence[Origin]) -> int:
        layer = natural_order(made.units)
        return made.node if layer is None else self.assembly.add(layer, [made.node], origins)

    def _naturally(self, pair: Pair | Both, made: Made) -> Made:
        return Made(self._in_natural_order(made, self._origins(pair)), self._natural(pair))

    def _natural(self, pair: Pair | Both) -> PairUnits:
        widths = [
            None if node is None else side.nodes[node].num_output_units
            for side, node in ((self.left, pair.left), (self.right, pair.right))
        ]
        return PairUnits.natural(*widths)

    def _add(self, pair: Pair | Both, layer: Layer, inputs: Sequence[int], units: PairUnits) -> Made:
        return Made(self.assembly.add(layer, inputs, self._origins(pair)), units)

    def _origins(self, pair: Pair | Both) -> list[Origin]:
        sides = self.left, self.right
        return [(at, sides[at].origin(node)) for at, node in enumerate(pair[:2]) if node is not None]

    def _name(self, pair: Both) -> str:
        """Both layers in words."""
        return f"{self.left.describe(pair.left, 0)} and {self.right.describe(pair.right, 1)}"

    def _layers(self, pair: Both) -> tuple[Layer, Layer]:
        return self.left.nodes[pair.left], self.right.nodes[pair.right]

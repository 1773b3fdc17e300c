"""A circuit in the form of PyJuice: categorical inputs, products and sums, in which only products are summed.

It needs no PyJuice. Sums of sums, which PyJuice does not have, become one sum with the product of their weights; so
mixing layers take no work of their own. The parameters are evaluated, so that both sides have equal values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import add
from typing import TypeVar

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.errors import LoweringError
from explorer.symbolic import CategoricalLayer, Circuit, HadamardLayer, KroneckerLayer, Layer, SumLayer


@dataclass(frozen=True, eq=False)
class Categorical:
    """K categorical distributions of one variable; `probs` (K, num_categories)."""

    variable: int
    probs: Tensor

    @property
    def num_units(self) -> int:
        """K."""
        return len(self.probs)


@dataclass(frozen=True, eq=False)
class Product:
    """K products: unit k is the product of the units k of the factors.

    If `is_kronecker`, K^H products of all combinations of units, one of each factor; the first one varies slowest.
    """

    factors: tuple["Categorical | WeightedSum", ...]
    is_kronecker: bool = False

    @property
    def num_units(self) -> int:
        """K, or K^H."""
        return prod(one.num_units for one in self.factors) if self.is_kronecker else self.factors[0].num_units

    @property
    def units_read(self) -> Tensor:
        """The units of the factors that each unit is the product of: (units, factors)."""
        units = [torch.arange(one.num_units) for one in self.factors]
        return torch.cartesian_prod(*units) if self.is_kronecker else torch.stack(units, dim=1)


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """Sums over all units of the products; `weight` (units, units of all products, one product after the other)."""

    products: tuple[Product, ...]
    weight: Tensor

    @property
    def num_units(self) -> int:
        """How many sums."""
        return len(self.weight)


Vector = Categorical | Product | WeightedSum
V = TypeVar("V", Categorical, Product, WeightedSum)


@dataclass(frozen=True)
class Structure:
    """All vectors, each after those that it reads; the last one is the root."""

    vectors: Sequence[Vector]

    @property
    def num_edges(self) -> int:
        """The weights of all sums."""
        return sum(one.weight.numel() for one in self.vectors if isinstance(one, WeightedSum))

    def log_values(self, x: Tensor) -> Tensor:
        """The outputs (B, units of the root) for x (B, D), computed slowly and simply, to check others with."""
        found: dict[Vector, Tensor] = {}
        for one in self.vectors:
            match one:
                case Categorical(variable, probs):
                    found[one] = probs.log().T[x[:, variable]]
                case Product(factors):
                    read = zip(factors, one.units_read.T, strict=True)
                    found[one] = reduce(add, (found[factor][:, units] for factor, units in read))
                case WeightedSum(products, weight):
                    terms = torch.cat([found[product] for product in products], dim=1)
                    largest = terms.amax(dim=1, keepdim=True)
                    found[one] = ((terms - largest).exp() @ weight.T).log() + largest
        return found[self.vectors[-1]]


@torch.no_grad()
def structure_of(source: Circuit, values: TorchCircuit, *, fold_inputs: bool) -> Structure:
    """Rewrite a circuit; `values` is `source` compiled without optimization and folding.

    With `fold_inputs`, sums over units of a single variable become distributions of that variable, as in the hidden
    Chow-Liu trees that PyJuice builds itself.
    Raises: LoweringError for a layer or a shape that it does not support.
    """
    return _Rewriting(source, values, fold_inputs).structure


class _Rewriting:
    def __init__(self, source: Circuit, values: TorchCircuit, fold_inputs: bool) -> None:
        self.source = source
        self.fold_inputs = fold_inputs
        self.vectors: list[Vector] = []
        self.terms: dict[int, Mapping[Product, Tensor]] = {}
        self.factors: dict[int, tuple[Categorical | WeightedSum, ...]] = {}
        self.products: dict[int, Product] = {}
        if len(source.outputs) != 1:
            raise LoweringError(f"expected a circuit with one output, got {len(source.outputs)}")
        parameters = values.parameter_values()
        for node, layer in source.graph.nodes.items():
            self._visit(node, layer, {name: value[0] for name, value in parameters[node].items()})
        (root,) = self._factors(source.outputs[0])
        self.structure = Structure(_reachable(self.vectors, root))

    def _visit(self, node: int, layer: Layer, values: Mapping[str, Tensor]) -> None:
        """Rewrite a layer whose inputs have been visited."""
        inputs = self.source.graph.inputs[node]
        match layer:
            case CategoricalLayer() if "probs" in values:
                self.factors[node] = (self._add(Categorical(layer.scope[0], values["probs"])),)
            case HadamardLayer():
                self.factors[node] = tuple(factor for one in inputs for factor in self._factors(one))
            case KroneckerLayer() if all(len(self._factors(one)) == 1 for one in inputs):
                factors = tuple(self._factors(one)[0] for one in inputs)
                self.products[node] = self._add(Product(factors, is_kronecker=True))
            case SumLayer():
                self.terms[node] = self._terms(inputs, values["weight"])
            case _:
                raise LoweringError(
                    f"layer {node}: expected categorical inputs by probabilities, products and sums; got a "
                    f"{type(layer).__name__}"
                )

    def _terms(self, inputs: Sequence[int], weight: Tensor) -> Mapping[Product, Tensor]:
        """The products that a sum layer adds, and the weights of each."""
        found: dict[Product, Tensor] = {}
        for one, block in zip(inputs, weight.chunk(len(inputs), dim=1), strict=True):
            if one in self.terms:
                more = {product: block @ inner for product, inner in self.terms[one].items()}
            else:
                more = {self._product(one): block}
            for product, value in more.items():
                found[product] = found[product] + value if product in found else value
        return found

    def _product(self, node: int) -> Product:
        """The product that an input or a product layer is."""
        if node not in self.products:
            self.products[node] = self._add(Product(self._factors(node)))
        return self.products[node]

    def _factors(self, node: int) -> tuple[Categorical | WeightedSum, ...]:
        """The factors of a layer, itself for an input or a sum: sums are made when a product needs them."""
        if node not in self.factors:
            if node not in self.terms:
                raise LoweringError(f"layer {node}: expected a sum of its products; got a product of them")
            self.factors[node] = (self._sum(self.terms[node]),)
        return self.factors[node]

    def _sum(self, terms: Mapping[Product, Tensor]) -> Categorical | WeightedSum:
        factors = [product.factors for product in terms]
        variables = {one.variable if isinstance(one, Categorical) else -1 for many in factors for one in many}
        if self.fold_inputs and len(variables) == 1 and -1 not in variables and all(len(many) == 1 for many in factors):
            leaves = [one for many in factors for one in many if isinstance(one, Categorical)]
            tables = (weight @ one.probs for weight, one in zip(terms.values(), leaves, strict=True))
            return self._add(Categorical(variables.pop(), reduce(add, tables)))
        return self._add(WeightedSum(tuple(terms), torch.cat(list(terms.values()), dim=1)))

    def _add(self, made: V) -> V:
        self.vectors.append(made)
        return made


def _reachable(vectors: Sequence[Vector], root: Vector) -> Sequence[Vector]:
    """The vectors that the root depends on, in order."""
    wanted: set[Vector] = {root}
    for one in reversed(vectors):
        if one in wanted:
            match one:
                case Product(factors):
                    wanted.update(factors)
                case WeightedSum(products):
                    wanted.update(products)
                case _:
                    pass
    return [one for one in vectors if one in wanted]

"""Two consecutive layers as one: the replacement of a rule for layers that have no fused form."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from explorer.backend.layers.base import TorchInnerLayer
from explorer.backend.semiring import Semiring
from explorer.errors import ShapeError
from explorer.graph import NESTED


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchChainLayer(TorchInnerLayer):
    """The layer `above` on the layer `below`, computed one after the other: y = above(below(x)).

    It computes exactly what the two layers compute, with one layer less to read, fold and schedule. Both may be
    chains. Shapes: x (F, H, B, I) of `below` -> y (F, B, O) of `above`.
    Raises: ShapeError if `below` cannot be the only input of `above`, or if their folds differ.
    """

    kind = "fused"
    below: TorchInnerLayer = field(metadata=NESTED)
    above: TorchInnerLayer = field(metadata=NESTED)

    def _check(self) -> None:
        below, above = self.below, self.above
        found = (above.arity, above.num_input_units, above.num_folds, below.num_folds)
        if found != (1, below.num_output_units, self.num_folds, self.num_folds):
            raise ShapeError(
                f"TorchChainLayer: {type(above).__name__} (arity, input units, folds) {found[:3]} does not fit on "
                f"{type(below).__name__} ({below.num_output_units} output units, {below.num_folds} folds)"
            )
        ends = (below.arity, below.num_input_units, above.num_output_units)
        if ends != (self.arity, self.num_input_units, self.num_output_units):
            raise ShapeError(f"TorchChainLayer: arity, input and output units must be those of its layers: {ends}")

    @property
    def flops(self) -> int:
        return self.below.flops + self.above.flops

    @property
    def transcendentals(self) -> int:
        return self.below.transcendentals + self.above.transcendentals

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {
            f"{name}.{key}": value
            for name, layer in (("below", self.below), ("above", self.above))
            for key, value in layer.prepare(semiring, _part(parameters, name)).items()
        }

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        middle = self.below.forward(semiring, x, _part(parameters, "below"))
        return self.above.forward(semiring, middle.unsqueeze(1), _part(parameters, "above"))


def chain_of(*layers: TorchInnerLayer) -> TorchInnerLayer:
    """One layer that computes these layers in order; the first one reads the inputs. Raises: ShapeError."""
    chain = layers[0]
    for above in layers[1:]:
        chain = TorchChainLayer(
            num_input_units=chain.num_input_units,
            num_output_units=above.num_output_units,
            arity=chain.arity,
            num_folds=chain.num_folds,
            below=chain,
            above=above,
        )
    return chain


def _part(parameters: Mapping[str, Tensor], name: str) -> Mapping[str, Tensor]:
    """The parameters of a nested layer, under its own names for them."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if key.startswith(prefix)}

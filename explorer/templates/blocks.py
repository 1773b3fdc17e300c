"""Sum-product blocks: the layers of one partition of a region.

A block maps the layers of the children to the layer of the partition. K: `num_sum_units`; C: `num_classes`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from explorer.errors import ShapeError, look_up
from explorer.symbolic import CircuitBuilder
from explorer.templates.inputs import ParameterFactory


@dataclass(frozen=True, slots=True)
class BlockSizes:
    """The units of the sums of a block, the units at a root (None elsewhere), and how weights are made."""

    num_sum_units: int
    num_classes: int | None
    weights: ParameterFactory

    @property
    def num_units(self) -> int:
        """Units of the region: C at a root, else K."""
        return self.num_sum_units if self.num_classes is None else self.num_classes


Block = Callable[[CircuitBuilder, Sequence[int], BlockSizes], int]


def cp_block(builder: CircuitBuilder, children: Sequence[int], sizes: BlockSizes) -> int:
    """A sum over each child, then their Hadamard product: y_k = prod_h sum_i W_h[k, i] x_h[i]; at a root one more sum.

    The children may differ in units.
    Source: Shpilka and Volkovich 2008; Loconte et al. 2025, sec. 4 (canonical polyadic block).
    """
    sums = [dense_sum(builder, child, sizes.num_sum_units, sizes.weights) for child in children]
    product = builder.hadamard(*sums)
    return product if sizes.num_classes is None else dense_sum(builder, product, sizes.num_classes, sizes.weights)


def cp_transposed_block(builder: CircuitBuilder, children: Sequence[int], sizes: BlockSizes) -> int:
    """The Hadamard product of the children, then a sum: y_o = sum_k W[o, k] prod_h x_h[k]. Raises: ShapeError."""
    _check_equal_widths(builder, "cp-t", children)
    return dense_sum(builder, builder.hadamard(*children), sizes.num_units, sizes.weights)


def tucker_block(builder: CircuitBuilder, children: Sequence[int], sizes: BlockSizes) -> int:
    """The Kronecker product of the children, then a sum: y_o = sum_{ab} W[o, ab] x_1[a] x_2[b]. Raises: ShapeError."""
    _check_equal_widths(builder, "tucker", children)
    return dense_sum(builder, builder.kronecker(*children), sizes.num_units, sizes.weights)


BLOCKS: Mapping[str, Block] = MappingProxyType({"cp": cp_block, "cp-t": cp_transposed_block, "tucker": tucker_block})


def get_block(name: str) -> Block:
    """The block of this name. Raises: UnknownNameError."""
    return look_up("sum-product layer", name, BLOCKS)


def dense_sum(builder: CircuitBuilder, source: int, num_units: int, weights: ParameterFactory) -> int:
    """Add a sum of one input with a new weight (O, I)."""
    return builder.sum(source, num_units=num_units, weight=weights((num_units, builder.width(source))))


def _check_equal_widths(builder: CircuitBuilder, name: str, children: Sequence[int]) -> None:
    widths = [builder.width(child) for child in children]
    if len(set(widths)) > 1:
        raise ShapeError(
            f"a {name} block needs children with equal numbers of units; found {widths}: "
            f"set num_input_units to num_sum_units, or use cp"
        )

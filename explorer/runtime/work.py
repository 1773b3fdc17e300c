"""The work of kernel calls: operations, and bytes that have to be read from memory, whatever program computes them.

With the limits of a machine it is a bound on the time, its *roof*: no program is faster, and a share of it says how
much could still be gained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from explorer.backend import EvaluatedCircuit, TorchTensorDotLayer
from explorer.runtime.plan import KernelCall, Kind, Plan, layer_of, num_states

FLOAT_BYTES = 4
DENSITY_FLOPS = 5
"""Operations for one log-normal density: subtract, divide, square, subtract, add."""


@dataclass(frozen=True, slots=True)
class Work:
    """Operations (a multiplication and an addition are two), and compulsory bytes: each number is read once.

    Exponentials and logarithms are not counted, and values of calls are not either: they stay in the cache.
    """

    flops: float = 0.0
    num_bytes: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.flops + other.flops, self.num_bytes + other.num_bytes)

    def seconds(self, flops_per_second: float, bytes_per_second: float) -> float:
        """The roof: the time that no program can undercut on a machine with these limits."""
        return max(self.flops / flops_per_second, self.num_bytes / bytes_per_second)


def measure_work(plan: Plan, circuit: EvaluatedCircuit, rows: int) -> Mapping[int, Work]:
    """The work of each computed call of a circuit for some rows.

    The rows of a table count for the first call that reads it. Of a table with V states as many rows are read as
    different ones are expected for uniform values: V (1 - (1 - 1/V)^B).
    """
    unread = set(plan.read_tables)
    found: dict[int, Work] = {}
    for number, call in plan.computed():
        tables = [one for one in dict.fromkeys(call.inputs) if one in unread]
        unread.difference_update(tables)
        read = [Work(num_bytes=_table_bytes(plan, circuit, one, rows)) for one in tables]
        found[number] = reduce(add, read, _work_of(plan, circuit, call, rows))
    return found


def total_work(works: Sequence[Work]) -> Work:
    """The work of calls together."""
    return reduce(add, works, Work())


def _work_of(plan: Plan, circuit: EvaluatedCircuit, call: KernelCall, rows: int) -> Work:
    """Return what one call computes for some rows, and the bytes of its parameters."""
    widths = [plan.calls[one].width for one in call.inputs]
    out, factors = call.width, len(call.inputs) // call.terms
    products = call.terms * (factors - 1) * widths[0] if widths else 0
    match call.kind:
        case Kind.PRODUCT:
            flops, weights = products, 0
        case Kind.SUM:
            weights = call.terms * widths[0] * out
            flops = products + 2 * weights
        case Kind.MIXING:
            weights = call.terms * out
            flops = products + 2 * weights
        case Kind.TUCKER:
            weights = widths[0] * widths[1] * out
            flops = widths[0] * widths[1] + 2 * weights
        case Kind.KRONECKER:
            flops, weights = out, 0
        case Kind.TENSOR_DOT:
            layer = layer_of(circuit, call.sources[0])
            assert isinstance(layer, TorchTensorDotLayer)
            weights = layer.weight.shape[0] * layer.weight.shape[1]
            flops = 2 * out * layer.weight.shape[1]
        case Kind.GAUSSIAN:
            densities = out * len(call.variables)
            flops, weights = DENSITY_FLOPS * densities, 2 * densities
        case Kind.DENSITY:
            flops, weights = circuit.graph.nodes[call.sources[0].layer].flops, 0
        case Kind.TABLE | Kind.REARRANGE:
            flops, weights = 0, 0
    return Work(float(rows * flops), float(FLOAT_BYTES * weights))


def _table_bytes(plan: Plan, circuit: EvaluatedCircuit, number: int, rows: int) -> float:
    """The bytes of the rows of a table that are read for uniform values of its variable."""
    states = num_states(circuit, plan, number)
    return FLOAT_BYTES * plan.calls[number].width * states * (1 - (1 - 1 / states) ** rows)

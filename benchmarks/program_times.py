"""The growth of lowering and of the memory passes with the circuit, folded and unfolded."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import torch
from rich.table import Table

from benchmarks.cases import get_case
from explorer.compiler import TorchCompiler
from explorer.levels import pause_garbage_collection

if TYPE_CHECKING:
    from explorer.tensor import FunctionGraph, Variable

FOLDED_CASES: Sequence[str] = ("qg-cp-12", "qg-cp-28", "qg-cp-53", "qg-cp-66")
"""One structure at about 1,000, 5,700, 20,300 and 31,700 layers: quad-graph cp images."""
UNFOLDED_SIZES: Sequence[int] = (1_000, 3_000, 10_000, 30_000)
"""Layers of circuits that are not folded: PyTorch would export one of 1,000 layers in minutes."""
ROWS = 8
UNITS = 8
NUM_CATEGORIES = 4


@dataclass(frozen=True, slots=True)
class LoweringTime:
    """The CPU time of lowering the tensor graph of a circuit after the default passes, and of the memory passes.

    `layers` are those of the symbolic circuit, `operators` those of the graph, and `instructions` those of the program.
    """

    case: str
    layers: int
    operators: int
    instructions: int
    lowering_s: float
    passes_s: float

    @property
    def lowering_s_per_1000_layers(self) -> float:
        """The time of lowering per thousand symbolic layers."""
        return 1000 * self.lowering_s / self.layers

    @property
    def passes_s_per_1000_layers(self) -> float:
        """The time of the memory passes per thousand symbolic layers."""
        return 1000 * self.passes_s / self.layers


def measure_lowering(
    cases: Sequence[str] = FOLDED_CASES,
    sizes: Sequence[int] = UNFOLDED_SIZES,
    on_run: Callable[[str], None] = lambda name: None,
) -> tuple[LoweringTime, ...]:
    """Lower circuits of growing size, folded and unfolded. Raises: UnknownNameError for an unknown case."""
    return tuple(_measure(cases, sizes, on_run))


def _measure(cases: Sequence[str], sizes: Sequence[int], on_run: Callable[[str], None]) -> Iterator[LoweringTime]:
    _time("first", *unfolded_circuit(UNITS))  # loads and caches what is needed once
    for name in cases:
        on_run(f"{name}, folded")
        yield _time(f"{name}, folded", *folded_circuit(name))
    for size in sizes:
        on_run(f"tree of {size:,} layers, unfolded")
        yield _time("tree, unfolded", *unfolded_circuit(size))


def folded_circuit(name: str) -> "tuple[FunctionGraph, int]":
    """The graph of a compiled circuit after the default passes, and the number of symbolic layers."""
    from explorer.tensor import from_circuit
    from explorer.tensor.passes.base import DEFAULT_PIPELINE
    from explorer.tensor.recording.record_module import ManagedPipeline

    circuit = get_case(name).circuit()
    graph = from_circuit(TorchCompiler().compile(circuit), batch_size=ROWS)
    ManagedPipeline(DEFAULT_PIPELINE).rewrite(graph)
    return graph, len(circuit.graph)


def unfolded_circuit(layers: int) -> "tuple[FunctionGraph, int]":
    """The graph of a binary tree of categorical leaves, products and sums with about as many layers; their number.

    It has the operators that the default passes leave of such a circuit: a leaf is a row of a table, a product a sum of
    logarithms, and a sum a product of matrices between `exp` and `log`.
    """
    from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, call

    aten = torch.ops.aten
    num_variables = max(2, layers // 3)
    weights = Constant(torch.rand(UNITS, UNITS), "weights")
    x = Variable(TensorType(torch.int64, (ROWS, num_variables)), name="x")

    def leaf(position: int) -> "Variable":
        table = Constant(torch.rand(NUM_CATEGORIES, UNITS), f"leaf{position}")
        return call(aten.index_select.default, table, 0, call(aten.select.int, x, 1, position))

    def sum_of_product(left: "Variable", right: "Variable") -> "Variable":
        product = call(aten.add.Tensor, left, right)
        largest = call(aten.amax.default, product, [-1], True)
        shares = call(aten.exp.default, call(aten.sub.Tensor, product, largest))
        return call(aten.add.Tensor, call(aten.log.default, call(aten.mm.default, shares, weights)), largest)

    level = [leaf(position) for position in range(num_variables)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [*(sum_of_product(left, right) for left, right in pairs), *level[len(level) // 2 * 2 :]]
    return FunctionGraph([x], level), 3 * num_variables - 2


def _time(case: str, graph: "FunctionGraph", layers: int) -> LoweringTime:
    from explorer.program.editing import WorkingProgram
    from explorer.program.lowering import lower
    from explorer.program.passes import MEMORY_PIPELINE, passes
    from explorer.rewrite import PassManager

    started = process_time()
    program = lower(graph)
    lowering_s = process_time() - started
    started = process_time()
    with pause_garbage_collection():  # as in `record_program`
        PassManager(MEMORY_PIPELINE, passes).run(WorkingProgram(program))
    return LoweringTime(case, layers, len(graph), len(program), lowering_s, process_time() - started)


def lowering_table(times: Sequence[LoweringTime]) -> Table:
    """The times as a table; n^1 is linear growth."""
    table = Table(title="Lowering and verified memory passes: CPU time by size")
    table.add_column("circuit")
    for heading in ("layers", "operators", "instructions", "lowering s", "per 1,000 layers", "grows as"):
        table.add_column(heading, justify="right")
    for heading in ("passes s", "per 1,000 layers"):
        table.add_column(heading, justify="right")
    for previous, one in zip((None, *times), times, strict=False):
        is_growth = previous is not None and one.case == previous.case
        table.add_row(
            one.case,
            *(f"{count:,}" for count in (one.layers, one.operators, one.instructions)),
            f"{one.lowering_s:.3f}",
            f"{one.lowering_s_per_1000_layers:.4f}",
            f"n^{_exponent(previous, one):.1f}" if previous is not None and is_growth else "",
            f"{one.passes_s:.3f}",
            f"{one.passes_s_per_1000_layers:.4f}",
        )
    return table


def _exponent(smaller: LoweringTime, larger: LoweringTime) -> float:
    return math.log(larger.lowering_s / smaller.lowering_s) / math.log(larger.layers / smaller.layers)


def lowering_to_json(times: Sequence[LoweringTime]) -> list[dict[str, Any]]:
    """Return the times as data of JSON types."""
    return [asdict(one) for one in times]

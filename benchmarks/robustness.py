"""How many answers of a fast circuit are wrong when its distributions are sharp, compared with double precision.

Sharp distributions are where values leave the range of float32: normal densities with small deviations, and categorical
ones with large logits.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from rich.table import Table
from torch import Tensor

from benchmarks.cases import Case
from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime import fast

TOLERANCE = 1e-6
"""An answer is wrong if it is finite and differs from that in double precision by more than this, relatively."""

ROWS = 128
SCALES: Mapping[str, Sequence[float]] = {"gaussian": (1, 0.3, 0.1, 0.03, 0.01), "categorical": (1, 5, 10, 20, 40, 80)}
"""By what the deviations, or logits, are multiplied."""

ROBUSTNESS_CASES = tuple(
    Case(f"{layer} {inputs}", (1, 16, 16), "quad-graph", layer, units, inputs, ROWS)
    for layer, units in (("cp-t", 16), ("cp", 16), ("tucker", 8))
    for inputs in SCALES
)


@dataclass(frozen=True)
class Robustness:
    """One case at one scale: wrong answers of the fast circuit, and of the layers in float32; rows not certified."""

    case: str
    scale: float
    rows: int
    wrong: int
    wrong_in_layers: int
    again: int
    largest_error: float


@torch.no_grad()
def measure_robustness(case: Case, on_run: Callable[[str], None] = lambda name: None) -> tuple[Robustness, ...]:
    """The answers of a case at all scales of its input layers, on random rows."""
    circuit = TorchCompiler().compile(case.circuit())
    initial, x = circuit.leaf_state(), case.batch()
    found: list[Robustness] = []
    for scale in SCALES[case.input_layer]:
        on_run(f"{case.name}, times {scale:g}")
        circuit.load_leaf_state({name: _sharper(name, value, case, scale) for name, value in initial.items()})
        found.append(_compare(case.name, circuit, x, scale))
    return tuple(found)


def robustness_table(found: Sequence[Robustness]) -> Table:
    """One row per case and scale."""
    table = Table(title=f"Finite answers that differ from double precision by more than {TOLERANCE:g}, relatively")
    for name in ("case", "parameters times", "rows", "wrong", "wrong in layers", "evaluated again", "largest error"):
        table.add_column(name, justify="left" if name == "case" else "right", overflow="fold")
    for entry in found:
        table.add_row(
            entry.case,
            f"{entry.scale:g}",
            str(entry.rows),
            str(entry.wrong),
            str(entry.wrong_in_layers),
            f"{entry.again / entry.rows:.0%}",
            f"{entry.largest_error:.1e}",
        )
    return table


def robustness_to_json(found: Sequence[Robustness]) -> list[dict[str, object]]:
    """The entries as plain data."""
    return [dict(vars(entry)) for entry in found]


def _sharper(name: str, value: Tensor, case: Case, scale: float) -> Tensor:
    """Deviations, or all logits, times a scale; deviations are sigmoids of their leaves."""
    if case.input_layer != "gaussian":
        return value * scale
    return torch.logit(torch.sigmoid(value) * scale) if name.endswith(".stddev") else value


def _compare(name: str, circuit: TorchCircuit, x: Tensor, scale: float) -> Robustness:
    made = fast(circuit, backend="native")
    found = made(x).double()
    precise = deepcopy(circuit).double()(x.double() if x.is_floating_point() else x)
    errors = ((found - precise) / precise).abs()
    assert made.certificate is not None
    return Robustness(
        name,
        scale,
        len(x),
        _count_wrong(found, precise),
        _count_wrong(circuit(x).double(), precise),
        made.certificate.again,
        float(errors[found.isfinite()].max()) if bool(found.isfinite().any()) else 0.0,
    )


def _count_wrong(found: Tensor, precise: Tensor) -> int:
    right = precise.isfinite() & ((found - precise).abs() <= TOLERANCE * precise.abs())
    return int((found.isfinite() & ~right).sum())

"""How many answers of a fast circuit are wrong when its distributions are sharp, compared with double precision.

Sharp distributions are where values leave the range of float32: normal densities with small deviations, categorical
ones with large logits, and those of circuits that were trained.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from itertools import pairwise

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

STEPS: Sequence[int] = (0, 200, 800)
"""After how many steps of training circuits are compared."""
LEARNING_RATE = 0.02
IMAGES = 1024

ROBUSTNESS_CASES = tuple(
    Case(f"{layer} {inputs}", (1, 16, 16), "quad-graph", layer, units, inputs, ROWS)
    for layer, units in (("cp-t", 16), ("cp", 16), ("tucker", 8))
    for inputs in SCALES
)


@dataclass(frozen=True, slots=True)
class Robustness:
    """One case in one setting: wrong answers of the fast circuit, and of the layers in float32; rows not certified."""

    case: str
    setting: str
    rows: int
    wrong: int
    wrong_in_layers: int
    rows_recomputed: int
    largest_error: float


@torch.no_grad()
def measure_robustness(case: Case, on_run: Callable[[str], None] = lambda name: None) -> tuple[Robustness, ...]:
    """The answers of a case at all scales of its input layers, on random rows."""
    circuit = TorchCompiler().compile(case.circuit())
    initial, x = circuit.leaf_state(), case.batch()
    found: list[Robustness] = []
    for scale in SCALES[case.input_layer]:
        setting = f"{'deviations' if case.input_layer == 'gaussian' else 'logits'} times {scale:g}"
        on_run(f"{case.name}, {setting}")
        circuit.load_leaf_state({name: _sharper(name, value, case, scale) for name, value in initial.items()})
        found.append(_compare(case.name, setting, circuit, x))
    return tuple(found)


def measure_trained(
    case: Case, steps: Sequence[int] = STEPS, on_run: Callable[[str], None] = lambda name: None
) -> tuple[Robustness, ...]:
    """The answers of a case for new images, after each of some numbers of training steps with Adam."""
    circuit = TorchCompiler().compile(case.circuit())
    images, x = _images(case, IMAGES, seed=0), _images(case, case.batch_size, seed=1)
    module = fast(circuit)
    optimizer = torch.optim.Adam(module.parameters(), LEARNING_RATE)
    generator = torch.Generator().manual_seed(0)
    on_run(f"{case.name}, training")
    found = [_compare(case.name, f"trained for {steps[0]} steps", circuit, x)]
    for before, after in pairwise(steps):
        for _ in range(after - before):
            batch = images[torch.randint(IMAGES, (case.batch_size,), generator=generator)]
            optimizer.zero_grad()
            (-module(batch).mean()).backward()
            optimizer.step()
        found.append(_compare(case.name, f"trained for {after} steps", circuit, x))
    return tuple(found)


def robustness_table(found: Sequence[Robustness]) -> Table:
    """One row per case and scale."""
    table = Table(title=f"Finite answers that differ from double precision by more than {TOLERANCE:g}, relatively")
    for name in ("case", "setting", "rows", "wrong", "wrong in layers", "evaluated again", "largest error"):
        table.add_column(name, justify="left" if name in ("case", "setting") else "right", overflow="fold")
    for entry in found:
        table.add_row(
            entry.case,
            entry.setting,
            str(entry.rows),
            str(entry.wrong),
            str(entry.wrong_in_layers),
            f"{entry.rows_recomputed / entry.rows:.0%}",
            f"{entry.largest_error:.1e}",
        )
    return table


def robustness_to_json(found: Sequence[Robustness]) -> list[dict[str, object]]:
    """The entries as plain data."""
    return [asdict(entry) for entry in found]


def share_again(found: Sequence[Robustness]) -> float:
    """The share of all rows that took the fallback."""
    return sum(entry.rows_recomputed for entry in found) / sum(entry.rows for entry in found)


def _sharper(name: str, value: Tensor, case: Case, scale: float) -> Tensor:
    """Deviations, or all logits, times a scale; deviations are sigmoids of their leaves."""
    if case.input_layer != "gaussian":
        return value * scale
    return torch.logit(torch.sigmoid(value) * scale) if name.endswith(".stddev") else value


def _images(case: Case, count: int, seed: int) -> Tensor:
    """Images (N, D) of a bright round spot anywhere, with noise: in 0 .. 1, or as grey levels."""
    _, height, width = case.shape
    generator = torch.Generator().manual_seed(seed)
    centre = torch.rand(count, 2, 1, 1, generator=generator) * torch.tensor([height, width]).view(1, 2, 1, 1)
    rows, columns = torch.arange(height).view(1, -1, 1), torch.arange(width).view(1, 1, -1)
    distance = (rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2
    noise = 0.02 * torch.randn(count, height, width, generator=generator)
    images = (torch.exp(-distance / height) + noise).flatten(1)
    if case.input_layer == "gaussian":
        return images
    return (images.clamp(0, 1) * (case.num_categories - 1)).round().long()


@torch.no_grad()
def _compare(name: str, setting: str, circuit: TorchCircuit, x: Tensor) -> Robustness:
    made = fast(circuit, backend="native")
    found = made(x).double()
    precise = deepcopy(circuit).double()(x.double() if x.is_floating_point() else x)
    errors = ((found - precise) / precise).abs()
    assert made.certificate is not None
    return Robustness(
        name,
        setting,
        len(x),
        _count_wrong(found, precise),
        _count_wrong(circuit(x).double(), precise),
        made.certificate.rows_recomputed,
        float(errors[found.isfinite()].max()) if bool(found.isfinite().any()) else 0.0,
    )


def _count_wrong(found: Tensor, precise: Tensor) -> int:
    right = precise.isfinite() & ((found - precise).abs() <= TOLERANCE * precise.abs())
    return int((found.isfinite() & ~right).sum())

"""Circuits that SparC and KLay evaluate on the CPU, too, with equal values: the times of both sides.

SparC has a node for each unit: it gets the nodes of our vectors, with the weights of our circuit. KLay reads decision
diagrams: both sides read the same file. It does not smooth them, so weights are 1, and the value of a row says whether
it is a model.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.pyjuice_cases import HiddenTreeCase
from benchmarks.pyjuice_structure import Categorical, Product, Structure, Vector, WeightedSum, structure_of
from benchmarks.suite import Samples
from explorer.bench import Job, clock_for, ratio, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError
from explorer.runtime import fast
from explorer.symbolic import Circuit
from explorer.templates import image_data
from explorer.templates.logic import build_circuit, read_sdd

OURS, SPARC, KLAY = "ours", "SparC", "KLay"
PACKAGES: Mapping[str, Sequence[str]] = {SPARC: ("sparc",), KLAY: ("klay", "pysdd")}
"""The modules that a rival needs; `pip install sparc-pc klaycircuits pysdd` has them."""
WANTED: Mapping[str, float] = {SPARC: 5.0, KLAY: 2.0}
"""How many times as fast as a rival."""
TOLERANCE = 1e-6
"""The largest difference of values, relative to the largest value."""

UNITS, ROWS = 16, 256
SPARC_CASES: Mapping[str, Callable[[], tuple[Circuit, int]]] = {
    "HCLT 8x8": lambda: (HiddenTreeCase("", UNITS, 8, 17).circuit(), 17),
    "HCLT 28x28": lambda: (HiddenTreeCase("", UNITS).circuit(), 256),
    "PD 8x8": lambda: (_grid(8, 17), 17),
}
"""Circuits with the number of values of their variables."""
FORMULAS: Mapping[str, int] = {"SDD of 20": 20, "SDD of 26": 26, "SDD of 30": 30}
"""Random formulas of three literals in a clause, two clauses to a variable, by the number of variables."""
BATCHES = (1, 128, 1024)


@dataclass(frozen=True, slots=True)
class RivalRow:
    """The times of one circuit and batch on both sides; `size` is the number of weights, or of lines of a diagram."""

    case: str
    rival: str
    batch_size: int
    size: int
    samples: Mapping[str, Samples]
    difference: float

    @property
    def speedup(self) -> float:
        """How many times as fast we are."""
        return ratio(self.samples[self.rival], self.samples[OURS])


def missing_modules(rival: str) -> list[str]:
    """Return the modules that a rival needs and that are not installed."""
    return [name for name in PACKAGES[rival] if find_spec(name) is None]


def measure_sparc(case: str, repeats: int, threads: int) -> RivalRow:
    """Time one circuit on both sides. Raises: CircuitError if values differ."""
    import sparc  # pyright: ignore[reportMissingImports]

    circuit, num_values = SPARC_CASES[case]()
    structure = structure_of(circuit, TorchCompiler(optimize=False, fold=False).compile(circuit), fold_inputs=True)
    theirs = sparc_nodes(structure).compile()
    x = torch.randint(num_values, (ROWS, len(circuit.scope)), generator=torch.Generator().manual_seed(0))
    rows = x.numpy().astype(np.int32)
    sparc.set_num_threads(threads)
    return _measure(case, SPARC, structure.num_edges, circuit, x, lambda: theirs.log_likelihood(rows), repeats, threads)


def measure_klay(case: str, batch_size: int, repeats: int, threads: int) -> RivalRow:
    """Time one diagram on both sides. Raises: CircuitError if a row is a model on one side only."""
    import klay  # pyright: ignore[reportMissingImports]

    with TemporaryDirectory() as folder:
        file = Path(folder) / "formula.sdd"
        x = write_formula(file, FORMULAS[case], batch_size)
        circuit, lines = build_circuit(read_sdd(file)), len(file.read_text().splitlines())
        theirs = klay.Circuit()
        theirs.add_sdd_from_file(str(file), [], [])
    module = theirs.to_torch_module(semiring="log", compile=False)
    is_true, is_false = torch.where(x == 1, 0.0, -torch.inf), torch.where(x == 0, 0.0, -torch.inf)
    return _measure(case, KLAY, lines, circuit, x, lambda: module(is_true, is_false).flatten(), repeats, threads)


@torch.no_grad()
def _measure(
    case: str,
    rival: str,
    size: int,
    circuit: Circuit,
    x: Tensor,
    evaluate: Callable[[], Any],
    repeats: int,
    threads: int,
) -> RivalRow:
    torch.set_num_threads(threads)
    ours = fast(TorchCompiler().compile(circuit).freeze())
    found, expected = ours(x).flatten().double().numpy(), np.asarray(evaluate(), np.float64)
    possible = expected != -np.inf
    if not np.array_equal(possible, found != -np.inf):
        raise CircuitError(f"{case}: other rows than those of {rival} have the value zero")
    difference = float(np.abs(found[possible] - expected[possible]).max(initial=0.0))
    if not difference <= TOLERANCE * np.abs(expected[possible]).max(initial=1.0):
        raise CircuitError(f"{case}: values differ from those of {rival} by {difference:.2g} nats")
    jobs = {OURS: Job(lambda _: ours(x)), rival: Job(lambda _: evaluate())}
    samples = time_interleaved(jobs, repeats, clock=clock_for(threads))
    return RivalRow(case, rival, len(x), size, samples, difference)


def sparc_nodes(structure: Structure) -> Any:
    """Return the root of the nodes of SparC for a structure: one for each unit of each vector."""
    import sparc  # pyright: ignore[reportMissingImports]

    found: dict[Vector, list[Any]] = {}
    for one in structure.vectors:
        match one:
            case Categorical(variable, probs):
                rows = probs.double().tolist()
                found[one] = [sparc.CategoricalInputNode(scope_var=variable, probabilities=row) for row in rows]
            case Product(factors):
                children = zip(*(found[factor] for factor in factors), strict=True)
                found[one] = [sparc.ProductNode(children=list(some)) for some in children]
            case WeightedSum(products, weight):
                terms = [unit for product in products for unit in found[product]]
                found[one] = [sparc.SumNode(children=terms, parameters=row) for row in weight.double().tolist()]
    (root,) = found[structure.vectors[-1]]
    return root


def write_formula(file: Path, num_variables: int, num_rows: int) -> Tensor:
    """Write the diagram of a random formula; returns rows (num_rows, num_variables), half of them models of it."""
    from pysdd.sdd import SddManager  # pyright: ignore[reportMissingImports]

    rng = random.Random(0)
    manager = SddManager(var_count=num_variables, auto_gc_and_minimize=True)
    formula = manager.true()
    for _ in range(2 * num_variables):
        clause = manager.false()
        for variable in rng.sample(range(1, num_variables + 1), 3):
            clause = clause | manager.literal(rng.choice((-1, 1)) * variable)
        formula = formula & clause
        formula.ref()
    formula.save(str(file).encode())
    models = (model for model, _ in zip(formula.models(), range((num_rows + 1) // 2), strict=False))
    rows = [[model[variable] for variable in range(1, num_variables + 1)] for model in models]
    rows += [[rng.randint(0, 1) for _ in range(num_variables)] for _ in range(num_rows - len(rows))]
    return torch.tensor(rows)


def _grid(side: int, num_values: int) -> Circuit:
    """A circuit of rectangles of an image, which are cut at each pixel."""
    return image_data(
        (1, side, side),
        "poon-domingos",
        input_layer="categorical",
        num_input_units=UNITS,
        sum_product_layer="cp-t",
        num_sum_units=UNITS,
        num_categories=num_values,
    )

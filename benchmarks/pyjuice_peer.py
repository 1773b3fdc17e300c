"""The peer PyJuice, if it is installed: circuits in its form, and forward passes on CUDA next to ours.

Facts about PyJuice 2.6.3, read in its source:

- It compiles and runs on CUDA only: Triton kernels, and a kernel in CUDA C++ with CUTLASS that it builds in the first
  call if a block has 64 units or more, `nvcc` is installed, the device is of compute capability 9.0 or higher, and it
  finds the headers. For each layer and batch size it takes the faster of both.
- Precision: values are logarithms in float32. By default, the factors of each matrix product are rounded to bfloat16
  and added up in float32, wherever the block size, the number of edges and the batch size are 16 or more. With
  `force_use_fp32=True` Triton's `tl.dot` receives float32 and no `input_precision`, whose default is TF32. Its kernels
  without `tl.dot`, for blocks or batches below 16 and for a root of one unit, compute in float32.
- `pc(x, record_cudagraph=True)` replays a CUDA graph of all layers but the inputs. The graph is chosen by buffers and
  batch size, not by precision: each mode here has its own graphs.
- A call first fills the buffers of all values. `_no_buffer_reset=True`, an argument that is not public, leaves that
  out; a mode with it takes part, so that its best time counts.
- Its index tables can be made on the CPU or on CUDA; here they are made on the CPU, which takes seconds.
- Blocks have as many units as a layer, up to 1024, as in its own hidden Chow-Liu trees.
"""

import importlib
import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from benchmarks.cases import Case
from benchmarks.pyjuice_cases import HiddenTreeCase, random_rows
from benchmarks.pyjuice_structure import Categorical, Product, Structure, Vector, WeightedSum, structure_of
from benchmarks.suite_entrants import TOLERANCE, relative_difference
from explorer.backend import TorchCircuit
from explorer.bench import Job, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import fast
from explorer.runtime.backends import BACKENDS
from explorer.runtime.circuit import FastCircuit
from explorer.timings import CUDA

PYJUICE = "PyJuice"
PYJUICE_PACKAGE = "pyjuice"
PYJUICE_INSTALL = "pip install pyjuice nvidia-cutlass"
MISSING_PYJUICE = (
    f"The peer {PYJUICE} is not installed, so there is nothing to compare with; run, on a machine with CUDA: "
    f"{PYJUICE_INSTALL}"
)
PYJUICE_ENTRANTS = (*BACKENDS, PYJUICE)

MAX_BLOCK = 1024
"""Maximum block size, as in PyJuice's own structures."""
COMPARED_ROWS = 64
"""Rows that are compared with double precision."""

LAST_CALL = "last call"
"""How the line of `FastCircuit.explain` about certified rows begins."""

Call = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to call a circuit of PyJuice: its name, and the arguments after the batch."""

    name: str
    arguments: Mapping[str, bool]


MODES: Sequence[Mode] = (
    Mode("bf16, no graph", {"apply_cudagraph": False}),
    Mode("bf16, CUDA graph", {"record_cudagraph": True}),
    Mode("TF32, CUDA graph", {"record_cudagraph": True, "force_use_fp32": True}),
    Mode("bf16, CUDA graph, buffers not filled", {"record_cudagraph": True, "_no_buffer_reset": True}),
    Mode(
        "TF32, CUDA graph, buffers not filled",
        {"record_cudagraph": True, "force_use_fp32": True, "_no_buffer_reset": True},
    ),
)
"""The first fills the buffers that the last ones do not."""


@dataclass(frozen=True)
class PyJuiceRow:
    """A case with a batch size: seconds by entrant, and why others are absent.

    `differences` are the largest ones from double precision, relative and in nats. `notes` are about the case. With
    `is_em`, seconds are of a step of expectation-maximization, and differences are those after the first one.
    """

    case: str
    batch_size: int
    ours: tuple[str, ...]
    samples: Mapping[str, Sequence[float]]
    differences: Mapping[str, tuple[float, float]]
    absent: Mapping[str, str]
    notes: Sequence[str]
    is_em: bool = False

    def seconds(self, name: str) -> float:
        """The median."""
        return median(self.samples[name])

    @property
    def best_peer(self) -> str | None:
        """The fastest mode of PyJuice; None if none took part."""
        return min((name for name in self.samples if name not in self.ours), key=self.seconds, default=None)


def pyjuice_is_installed() -> bool:
    """Whether PyJuice is installed; it may not import."""
    return find_spec(PYJUICE_PACKAGE) is not None


def import_pyjuice() -> Any:
    """The module of PyJuice, which finds the headers of CUTLASS if the package nvidia-cutlass is installed."""
    cutlass = find_spec("cutlass_library")
    if cutlass is not None and cutlass.origin is not None:
        os.environ.setdefault("PYJUICE_CUTLASS_PATH", str(Path(cutlass.origin).parent / "source"))
    return importlib.import_module(PYJUICE_PACKAGE)


def build_nodes(juice: Any, structure: Structure) -> Any:
    """The root of a circuit of PyJuice with the values of a structure."""
    made: dict[Vector, Any] = {}
    for one in structure.vectors:
        made[one] = _build(juice, one, made)
    return made[structure.vectors[-1]]


def _build(juice: Any, one: Vector, made: Mapping[Vector, Any]) -> Any:
    blocks = dict(zip(("num_node_blocks", "block_size"), _blocks(one.num_units), strict=True))
    match one:
        case Categorical(variable, probs):
            distribution = juice.distributions.Categorical(num_cats=probs.shape[1])
            nodes = juice.inputs(variable, dist=distribution, **blocks)
            nodes.set_params(probs.float().reshape(-1).clone())  # which normalizes its argument
            return nodes
        case Product(factors, is_kronecker):
            edges = {"edge_ids": one.units_read, "sparse_edges": True} if is_kronecker else {}
            return juice.multiply(*(made[factor] for factor in factors), **edges)
        case WeightedSum(products, weight):
            return juice.summate(*(made[product] for product in products), params=weight.float(), **blocks)


def _blocks(num_units: int) -> tuple[int, int]:
    """The number of blocks and their size, the largest power of two that divides the units."""
    size = min(num_units & -num_units, MAX_BLOCK)
    return num_units // size, size


class PyJuiceCircuit:
    """A circuit compiled by PyJuice on CUDA, which is called in several modes."""

    def __init__(self, structure: Structure) -> None:
        juice = import_pyjuice()
        root = build_nodes(juice, structure)
        self.compiled = juice.compile(root, disable_gpu_compilation=True, verbose=False)
        self.compiled.to(torch.device(CUDA, torch.cuda.current_device()))
        named = self.compiled.named_parameters()
        self._initial = [(one, one.detach().clone()) for name, one in named if name.rpartition(".")[2] == "params"]

    @torch.no_grad()
    def reset(self) -> None:
        """Set all parameters to their first values, in the same memory, which graphs read."""
        for parameter, value in self._initial:
            parameter.copy_(value)

    def call(self, mode: Mode) -> Call:
        """The forward pass in a mode: x (B, D) -> (B, 1), a buffer that the next call overwrites."""
        graphs: dict[Any, Any] = {}

        def run(x: Tensor) -> Tensor:
            self.compiled._recorded_cuda_graphs = graphs
            return self.compiled(x, **mode.arguments)

        return run

    def em_step(self, mode: Mode) -> Call:
        """A full step of expectation-maximization on x (B, D) in a mode; it returns the log-likelihoods before it."""
        graphs: dict[Any, Any] = {}
        backward = {"flows_memory": 0.0, "allow_modify_flows": False, "logspace_flows": True, **mode.arguments}

        def run(x: Tensor) -> Tensor:
            self.compiled._recorded_cuda_graphs = graphs
            result = self.compiled(x, **mode.arguments)
            self.compiled.backward(x, **backward)
            self.compiled.mini_batch_em(step_size=1.0, pseudocount=0.0)
            return result

        return run

    def kernels(self, batch_size: int) -> str:
        """How many layers use the kernel with CUTLASS, and how many could: of private fields, empty without them."""
        chosen: Counter[str] = Counter()
        for group in self.compiled.inner_layer_groups:
            for layer in group:
                choices = getattr(layer, "_cached_fw_cuda_choice", {})
                chosen.update(choice[0] for key, choice in choices.items() if key[1] == batch_size)
        return f"kernel with CUTLASS in {chosen['cuda']} of {chosen.total()} layers that could use it" if chosen else ""


def measure_pyjuice(
    case: Case | HiddenTreeCase,
    batch_sizes: Sequence[int],
    repeats: int,
    *,
    only: Collection[str] = PYJUICE_ENTRANTS,
    device: str = CUDA,
    on_run: Callable[[str], None] = lambda name: None,
) -> list[PyJuiceRow]:
    """Measure our backends and PyJuice on one case, a row for each batch size. PyJuice takes part on CUDA only."""
    on_run("compiling")
    source = case.circuit()
    circuit = TorchCompiler().compile(source)
    absent: dict[str, str] = {}
    peers = compile_peers(source, circuit, absent, on_run) if PYJUICE in only and device == CUDA else {}
    circuit = circuit.to(device)
    ours = _our_circuits(circuit, only, absent)
    rows: list[PyJuiceRow] = []
    for batch_size in batch_sizes:
        x = random_rows(case, source, batch_size).to(device)
        on_run(f"B={batch_size}: double precision")
        with torch.no_grad():
            wanted = deepcopy(circuit).double()(x[:COMPARED_ROWS]).reshape(-1, 1)
        missing = dict(absent)
        calls: dict[str, Call] = {**_able(ours, x, missing)}
        calls |= {name: one.call(mode) for name, (one, mode) in peers.items()}
        differences = _differences(calls, x, wanted, missing, on_run)
        taking_part = {name: call for name, call in calls.items() if name not in missing}
        jobs = {name: Job(timed(call, x), settle) for name, call in taking_part.items()}
        tell = _with_prefix(on_run, f"B={batch_size}: ")
        with torch.no_grad():
            samples = time_interleaved(jobs, repeats, warmups=3, clock=perf_counter, on_run=tell) if jobs else {}
        names = tuple(name for name in ours if name in samples)
        notes = _notes({name: ours[name] for name in names}, peers, batch_size)
        rows.append(PyJuiceRow(case.name, batch_size, names, samples, differences, missing, notes))
    return rows


def compile_peers(
    source: Any, circuit: TorchCircuit, absent: dict[str, str], on_run: Callable[[str], None]
) -> dict[str, tuple[PyJuiceCircuit, Mode]]:
    """The circuits of PyJuice in all modes by name: as written and, where it differs, with folded inputs."""
    if not pyjuice_is_installed():
        absent[PYJUICE] = "not installed"
        return {}
    found: dict[str, tuple[PyJuiceCircuit, Mode]] = {}
    on_run(f"{PYJUICE}: compiling")
    values = TorchCompiler(optimize=False, fold=False).compile(source)
    values.load_leaf_state(circuit.leaf_state())
    num_edges: set[int] = set()
    for folded in (False, True):
        name = f"{PYJUICE}, inputs folded" if folded else PYJUICE
        try:
            structure = structure_of(source, values, fold_inputs=folded)
            if structure.num_edges in num_edges:
                continue
            num_edges.add(structure.num_edges)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = PyJuiceCircuit(structure)
        except Exception as error:  # noqa: BLE001 - a peer on a machine that it may not fit
            absent[name] = first_lines(error)
        else:
            found |= {f"{name}: {mode.name}": (made, mode) for mode in MODES}
    return found


def _our_circuits(circuit: TorchCircuit, only: Collection[str], absent: dict[str, str]) -> dict[str, FastCircuit]:
    """The circuit, frozen, on our backends by name."""
    found: dict[str, FastCircuit] = {}
    frozen = circuit.freeze()
    for name in (name for name in BACKENDS if name in only):
        try:
            found[name] = fast(frozen, backend=name)
        except LoweringError as error:
            absent[name] = str(error)
    return found


@torch.no_grad()
def _able(ours: Mapping[str, FastCircuit], x: Tensor, absent: dict[str, str]) -> dict[str, FastCircuit]:
    """Those whose backend answers a call with x, and does not leave it to the layers."""
    reasons = {name: made.why_not(x) for name, made in ours.items()}
    absent |= {name: f"the layers would run, as {reason}" for name, reason in reasons.items() if reason}
    return {name: made for name, made in ours.items() if not reasons[name]}


def _differences(
    calls: Mapping[str, Call], x: Tensor, wanted: Tensor, absent: dict[str, str], on_run: Callable[[str], None]
) -> dict[str, tuple[float, float]]:
    """Run each entrant once, and compare; those that fail or differ become absent."""
    found: dict[str, tuple[float, float]] = {}
    for name, call in calls.items():
        on_run(f"first run of {name}")
        try:
            with torch.no_grad():
                output = call(x)[: len(wanted)].double().reshape(-1, 1)
                again = call(x)[: len(wanted)].double().reshape(-1, 1)
        except Exception as error:  # noqa: BLE001 - one that fails on this machine must not end the comparison
            absent[name] = first_lines(error)
            continue
        found[name] = relative_difference(output, wanted), float((output - wanted).abs().max())
        if not found[name][0] <= TOLERANCE:
            absent[name] = f"differs from double precision by {found[name][0]:.1g}, relatively"
        elif not relative_difference(again, wanted) <= TOLERANCE:
            absent[name] = "its second call differs from double precision"
    return found


def timed(call: Call, x: Tensor) -> Callable[[object], object]:
    """The call until the device has finished; its result is a time only."""

    def run(_: object) -> object:
        result = call(x)
        settle()
        return result

    return run


def settle() -> None:
    """Wait until the device has finished."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _with_prefix(on_run: Callable[[str], None], prefix: str) -> Callable[[str], None]:
    return lambda name: on_run(prefix + name)


def _notes(
    ours: Mapping[str, FastCircuit], peers: Mapping[str, tuple[PyJuiceCircuit, Mode]], batch_size: int
) -> list[str]:
    """How the last call of ours went, and which kernels PyJuice has chosen."""
    lines = [(name, line) for name, made in ours.items() for line in made.explain().splitlines()]
    found = [f"{name}: {line}" for name, line in lines if line.startswith(LAST_CALL)]
    circuits = {name.partition(":")[0]: circuit for name, (circuit, _) in peers.items()}
    kernels = {name: circuit.kernels(batch_size) for name, circuit in circuits.items()}
    return found + [f"{name}: {text}" for name, text in kernels.items() if text]


def first_lines(error: Exception) -> str:
    """Return the type of an error and the beginning of its message, in a line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:3])[:400]}"

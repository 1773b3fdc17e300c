"""The common part of programs that read packed parameters and certify their answers, whatever evaluates them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchContinuousLayer, TorchDiscreteLayer
from explorer.backend.plain import why_not_plain
from explorer.errors import LoweringError
from explorer.runtime.constants import Constants, pack_constants
from explorer.runtime.doubles import DoubleCopy, DoubleRows
from explorer.runtime.graphs import CudaGraphs
from explorer.runtime.plan import MAX_TABLE_ENTRIES, Kind, Plan, num_states
from explorer.runtime.snapshots import Bytes, Snapshot, have_bytes, take_snapshot

FULL_PRECISION = ("none", "ieee", "highest")
"""The settings of `torch.backends` under which a matrix product of float32 has the rounding of float32."""

Placed = TypeVar("Placed")
"""The type of what a program has on a device that depends neither on x nor on parameters."""
Numbers = TypeVar("Numbers")
"""The type of what it makes of packed parameters."""


@dataclass(frozen=True, eq=False)
class Packed(Generic[Numbers]):
    """The parameters at some time, and the numbers that a program made of them."""

    snapshot: Snapshot
    constants: Constants
    numbers: Numbers
    doubles: DoubleCopy
    lock: Lock = field(default_factory=Lock)  # from Python 3.12 on, a cached property has none

    @property
    def precise(self) -> EvaluatedCircuit:
        """The circuit with these parameters in double precision, in the logarithmic domain; one thread makes it."""
        with self.lock:
            return self._precise

    @cached_property
    def _precise(self) -> EvaluatedCircuit:
        return self.doubles.frozen(self.snapshot)


@dataclass(frozen=True, eq=False)
class Answer:
    """Outputs (B, outputs, classes), and which rows (B) are certified; None if all are."""

    outputs: Tensor
    certified: Tensor | None


def answer_of(outputs: Tensor, others: Sequence[Tensor], flags: Sequence[int]) -> Answer | None:
    """The answer of outputs, which rows are certified, and two flags: illegal values, and rows that are not certified.

    None if there are illegal values.
    """
    has_illegal, has_uncertified = flags
    if has_illegal:
        return None
    return Answer(outputs, others[0].to(torch.bool) if has_uncertified else None)


READABLE = {
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
}
"""The types of x that operators and kernels compare."""


class PackedProgram(ABC, Generic[Numbers]):
    """The kernel calls of a circuit, evaluated from packed parameters, with a certificate for each row.

    Parameters are packed when they have changed, by one of the threads that call it; see `snapshots`.

    Raises: LoweringError for another semiring, or if a layer has no kernel calls.
    """

    OF_ONE_PROCESS: ClassVar[tuple[str, ...]] = ("_doubles", "_packed", "_lock")
    """The attributes that a copy makes again: it has its own parameters, and addresses are of one process."""

    plan: Plan
    lanes: int = 1
    """Number of packed numbers in a vector."""

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        if circuit.semiring.name != "lse-sum":
            raise LoweringError(f"kernel calls have logarithms of values >= 0; the semiring is {circuit.semiring.name}")
        self.circuit = circuit
        self._begin()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self.OF_ONE_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def _begin(self) -> None:
        self._rows, self._doubles = DoubleRows.of(self.circuit), DoubleCopy(self.circuit)
        self._packed: Packed[Numbers] | None = None
        self._lock = Lock()
        self._prepare()

    def _prepare(self) -> None:
        """Hook: initialize further attributes that a copy makes again."""

    @staticmethod
    def have_bytes(tensors: Sequence[Tensor], copies: Sequence[Bytes]) -> bool:
        """Hook: compare parameters on the CPU with copies, as `snapshots.have_bytes`."""
        return have_bytes(tensors, copies)

    @abstractmethod
    def _pack(self, snapshot: Snapshot, constants: Constants) -> Numbers:
        """Return the numbers that the program reads, made of packed constants."""

    @abstractmethod
    def _answer(self, x: Tensor, packed: Packed[Numbers]) -> Answer | None:
        """The answer for x (B, D); None if a variable has a value that it cannot have."""

    @abstractmethod
    def _evaluate_again(self, x: Tensor, packed: Packed[Numbers]) -> Tensor:
        """The outputs (B, outputs, classes) for rows x that are legal, in double precision."""

    def packed(self) -> Packed[Numbers]:
        """The present parameters: packed now, if they have changed."""
        packed = self._packed
        if packed is None or not packed.snapshot.is_current():
            with self._lock, torch.inference_mode(False), torch.no_grad():
                if self._packed is not packed and self._packed is not None and self._packed.snapshot.is_current():
                    return self._packed  # another thread was first
                snapshot = take_snapshot(self.circuit, self.have_bytes)
                values = self._doubles.layer_values(snapshot)
                values = {node: {name: one.cpu() for name, one in some.items()} for node, some in values.items()}
                constants = pack_constants(self.circuit, values, self.plan, self.lanes)
                numbers = self._pack(snapshot, constants)
                self._packed = packed = Packed(snapshot, constants, numbers, self._doubles)
        return packed

    def why_not(self) -> str:
        """Return why it may not be evaluated with the present parameters; empty if it may."""
        return self.packed().constants.problem

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes) of x (B, D), and how many rows were not certified.

        Those are evaluated in double precision. None if a variable has a value that it cannot have, or if the present
        parameters have a problem.
        """
        packed = self.packed()
        answer = None if packed.constants.problem else self._answer(x, packed)
        if answer is None or answer.certified is None:
            return None if answer is None else (answer.outputs, 0)
        again = (~answer.certified).nonzero().squeeze(1)
        if len(again):
            answer.outputs[again] = self._evaluate_again(x[again], packed)
        return answer.outputs, len(again)

    def evaluate_precisely(self, x: Tensor) -> tuple[Tensor, int] | None:
        """As `evaluate`, with all rows, in double precision; each value must be legal."""
        packed = self.packed()
        return None if packed.constants.problem else (self._evaluate_again(x, packed), len(x))

    def _evaluate_layers(self, x: Tensor, packed: Packed[Numbers]) -> Tensor:
        """The outputs for rows x by the layers of the circuit in double precision, in the logarithmic domain."""
        with torch.inference_mode(False), torch.no_grad():
            return packed.precise.forward(self._rows(x)).float()


class PlacedProgram(PackedProgram[Numbers], Generic[Numbers, Placed]):
    """A program with its tensors on the device of the circuit; CUDA graphs capture it there."""

    OF_ONE_PROCESS = (*PackedProgram.OF_ONE_PROCESS, "_placed", "_graphs")

    def _prepare(self) -> None:
        self._placed: tuple[torch.device, Placed] | None = None
        self._graphs = CudaGraphs()

    @abstractmethod
    def describe(self) -> str:
        """Describe in one line the kernel calls, and how they are grouped."""

    @abstractmethod
    def _place(self, device: torch.device) -> Placed:
        """Return the tensors that depend neither on x nor on parameters, on a device."""

    @abstractmethod
    def _answer_there(self, x: Tensor, packed: Packed[Numbers], placed: Placed) -> Answer | None:
        """As `_answer`, with what is placed on the device of x."""

    def why_not_tried(self, x: Tensor) -> str:
        """Return why a call with x is not tried: its type, a mode of PyTorch, or tensors on several devices."""
        return why_not_plain_on_one_device(self.circuit, x)

    def release_graphs(self) -> None:
        """Forget captured graphs, which frees their memory."""
        self._graphs = CudaGraphs()

    @torch.inference_mode(False)
    @torch.no_grad()
    def _answer(self, x: Tensor, packed: Packed[Numbers]) -> Answer | None:
        return self._answer_there(x, packed, self._on_device(x.device))

    def _evaluate_again(self, x: Tensor, packed: Packed[Numbers]) -> Tensor:
        return self._evaluate_layers(x, packed)

    def _densities(self, x: Tensor, constants: Constants, groups: Sequence[Sequence[int]]) -> tuple[Tensor, ...]:
        """The logarithms (G, B, K) of calls that have no kernel, in double precision: each group is of one layer."""
        x = self._rows(x)
        values = {
            node: {name: one.to(x.device) for name, one in some.items()} for node, some in constants.densities.items()
        }
        found = self.circuit.input_activations(x, tuple(values), values)
        sources = [[self.plan.calls[number].sources[0] for number in group] for group in groups]
        return tuple(found[some[0].layer][[source.fold for source in some]] for some in sources)

    # ------------------------------------------------------------------ what neither x nor parameters change

    @property
    def device(self) -> torch.device:
        """The device of the circuit."""
        tensors = self.circuit.held_tensors
        return tensors[0].device if tensors else torch.device("cpu")

    def _on_device(self, device: torch.device) -> Placed:
        """Return the tensors on the device of the circuit."""
        with self._lock:
            if self._placed is None or self._placed[0] != device:
                self._placed = (device, self._place(device))
                self._graphs = CudaGraphs()  # graphs read what was there
            return self._placed[1]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of x that are read: discrete variables with their numbers of values, and continuous variables."""

    discrete: tuple[tuple[int, int], ...]
    continuous: tuple[int, ...]


def columns_of(circuit: EvaluatedCircuit, plan: Plan, tables: Sequence[int]) -> Columns:
    """The columns that tables and densities read, and all others with values that the circuit checks."""
    nodes = circuit.graph.nodes.values()
    discrete = [pair for pair in dict.fromkeys(state_of(circuit, plan, one) for one in tables) if pair[0] >= 0]
    discrete += [
        (scope[0], layer.num_values)
        for layer in nodes
        if isinstance(layer, TorchDiscreteLayer) and layer.num_values <= MAX_TABLE_ENTRIES
        for scope in layer.scope_idx
    ]
    continuous = [one for _, call in plan.computed() if call.kind is Kind.GAUSSIAN for one in call.variables]
    continuous += [
        variable
        for layer in nodes
        if isinstance(layer, TorchContinuousLayer)
        for scope in layer.scope_idx
        for variable in scope
    ]
    return Columns(tuple(dict.fromkeys(discrete)), tuple(dict.fromkeys(continuous)))


def state_of(circuit: EvaluatedCircuit, plan: Plan, number: int) -> tuple[int, int]:
    """The variable of a table and the number of its states; (-1, 1) if it has none."""
    variables = plan.calls[number].variables
    return (variables[0] if variables else -1, num_states(circuit, plan, number))


def readable(x: Tensor) -> Tensor:
    """The input in a type that operators and kernels compare."""
    if x.dtype in READABLE:
        return x
    return x.float() if x.is_floating_point() else x.long()


def why_not_plain_on_one_device(circuit: EvaluatedCircuit, x: Tensor) -> str:
    """Return why a call with x is not tried: types of tensors, a mode of PyTorch, several devices; empty if it is."""
    tensors, device = [x, *circuit.held_tensors], x.device
    if reason := why_not_plain(tensors):
        return reason
    if all(one.device == device for one in tensors):
        return ""
    return f"tensors are on several devices: {', '.join(sorted({str(one.device) for one in tensors}))}"


def why_not_precise(device: torch.device) -> str:
    """Return why matrix products of PyTorch may be too imprecise on a device; empty if they are not."""
    library: Any = torch.backends.cuda if device.type == "cuda" else torch.backends.mkldnn
    try:
        precision = library.matmul.fp32_precision
    except AttributeError:  # before torch 2.9, there is one setting for all libraries
        precision = torch.get_float32_matmul_precision()
    if precision in FULL_PRECISION:
        return ""
    return f"matrix products of float32 may be rounded to {precision}, which no bound counts"

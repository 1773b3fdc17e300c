"""Training by the native library: outputs with the gradients of the circuit.

PyTorch evaluates the parameter graphs, and so passes gradients on to the parameters. The library evaluates everything
from their values to the outputs, and back. Rows that are not certified are evaluated by the layers in double precision.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import frexp, inf, sqrt
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explorer.backend import TorchCircuit, TorchInputLayer, all_parameters
from explorer.backend.evaluation import LayerValues
from explorer.errors import LoweringError
from explorer.runtime.constants import TOLERANCE
from explorer.runtime.doubles import DoubleRows, DoubleTraining, in_doubles, parameters_in_doubles
from explorer.runtime.kernel_types import LINE_BYTES, SINGLE
from explorer.runtime.memory import Memory, Workspaces, align, in_memory, refuse_unusual_gradients
from explorer.runtime.native.library import TILE_ROWS, load_library, make_input
from explorer.runtime.native.structures import (
    NativeBackwardCall,
    NativeCircuit,
    NativeForwardCall,
    NativeKeptTile,
    NativeTraining,
)
from explorer.runtime.native.threads import call_in_threads, num_threads
from explorer.runtime.native.training_plan import NORMALIZED, SOFTMAX, PlacedRows, Read, plan_training
from explorer.runtime.plan import states_of

BAD_NUMBER = "a weight is negative or NaN: bounds hold for others only"


class RefusedError(Exception):
    """The library cannot evaluate a call, for the reason given; the layers can, or raise an error."""


class TrainingProgram:
    """The kernel calls of a circuit for training.

    Raises: LoweringError if the library cannot be compiled, or a layer has no kernel calls.
    """

    def __init__(self, circuit: TorchCircuit) -> None:
        self.circuit = circuit
        self.library = load_library()
        self.plan = plan_training(circuit, self.library.lanes())
        reads = self.plan.reads
        self._operands = {(read.layer, read.name) for read in reads if read.content in (NORMALIZED, SOFTMAX)}
        self._computed = {number for number, read in enumerate(reads) if self._is_computed(read)}
        self._in_doubles = parameters_in_doubles(circuit, {(read.layer, read.name) for read in reads})
        self.workspaces, self.values = Workspaces(), Workspaces()
        self._rows, self._precise = DoubleRows.of(circuit), DoubleTraining(circuit)
        self._placed: tuple[int, PlacedRows] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"circuit": self.circuit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # addresses are of one process

    def evaluate(self, x: Tensor) -> tuple[Tensor, int]:
        """The outputs (B, outputs, classes), with gradients, and how many rows were not certified.

        Raises: RefusedError.
        """
        tensors = self._tensors(x)
        if tensors is None:
            return self._precise(x).float(), len(x)
        result, certified = _Evaluation.apply(self, x, *tensors)
        again = (~certified).nonzero().squeeze(1)
        if len(again):
            result = result.index_copy(0, again, self._precise(x[again]).to(result.dtype))
        return result, len(again)

    def why_not(self, x: Tensor) -> str:
        """Return why it cannot evaluate a call; empty if it can."""
        try:
            with torch.no_grad():
                tensors = self._tensors(x)
                if tensors is not None:
                    self.forward(x, tensors)
        except RefusedError as error:
            return str(error)
        return ""

    # ---------------------------------------------------------------- parameters

    def _tensors(self, x: Tensor) -> list[Tensor] | None:
        """Return what the library reads, from the present parameters: see `TrainingPlan`.

        None if single precision does not hold one that an operator computed: double precision evaluates the call.

        Raises: RefusedError.
        """
        for one in self.circuit.present_parameters():
            if one.dtype != torch.float32 and (one.is_floating_point() or one.is_complex()):
                raise RefusedError(f"parameters are {one.dtype}, and the kernels compute with float32")
        given = self.circuit.parameter_values(self._operands, in_doubles=self._in_doubles)
        nodes, semiring = self.circuit.graph.nodes, self.circuit.semiring
        found = [self._read(read, given[read.layer]) for read in self.plan.reads]
        found += [self._densities(nodes[layer].prepare(semiring, given[layer])) for layer in self.plan.gaussians]
        found.append(self._logarithms(x, given))
        singles = [one.float().contiguous() for one in found]
        return None if any(_has_infinity(singles[number]) for number in self._computed) else singles

    def _is_computed(self, read: Read) -> bool:
        """Return whether an operator computes what the kernels read."""
        parameter = all_parameters(self.circuit.graph.nodes[read.layer]).get(read.name)
        return parameter is not None and (read.layer, read.name) not in self._operands and parameter.num_operators > 0

    def _read(self, read: Read, given: Mapping[str, Tensor]) -> Tensor:
        if read.content != "evaluated":
            return given[read.name]
        layer, semiring = self.circuit.graph.nodes[read.layer], self.circuit.semiring
        assert isinstance(layer, TorchInputLayer)
        states = states_of(layer, next(iter(given.values())).device)
        return layer.forward(semiring, states, layer.prepare(semiring, in_doubles(given)))

    def _densities(self, prepared: Mapping[str, Tensor]) -> Tensor:
        """Means, 1 / (sqrt(2) stddev) and constants (F, 3, K), filled up to whole vectors."""
        mean, stddev, constant = (prepared[name][:, 0] for name in ("mean", "stddev", "constant"))
        factor, constant = (sqrt(0.5) / stddev).float(), constant.float()
        with torch.no_grad():
            legal = mean.isfinite() & constant.isfinite() & (factor >= SINGLE.smallest) & (factor < inf)
            if not bool(legal.all()):
                raise RefusedError("a mean, a standard deviation or its inverse is not a normal number")
        filled = nn.functional.pad(torch.stack([mean, factor], 1), (0, -mean.shape[-1] % self.library.lanes()))
        constant = nn.functional.pad(constant, (0, filled.shape[-1] - constant.shape[-1]), value=-inf)
        return torch.cat([filled, constant.unsqueeze(1)], 1)

    def _logarithms(self, x: Tensor, given: LayerValues) -> Tensor:
        """The logarithms (B, units of all folds) of the layers that PyTorch evaluates, in double precision."""
        layers = self.plan.arrays.densities
        if not layers:
            return torch.empty((0, 0), device="cpu", dtype=torch.float32)
        nodes, semiring = self.circuit.graph.nodes, self.circuit.semiring
        prepared = {layer: nodes[layer].prepare(semiring, in_doubles(given[layer])) for layer in layers}
        found = self.circuit.input_activations(self._rows(x), layers, prepared)
        return torch.cat([found[layer].transpose(0, 1).flatten(1) for layer in layers], dim=1)

    # --------------------------------------------------------------------- steps

    def forward(self, x: Tensor, tensors: Sequence[Tensor]) -> tuple["Step", Tensor, Tensor]:
        """A step after its forward pass, the outputs, and which rows are certified. Raises: RefusedError."""
        step = self._new_step(len(x))
        native, training = self._structures(step, tensors)
        self._write_densities(step, tensors)
        result = torch.empty((len(x), native.num_outputs, native.output_units), dtype=torch.float32, device="cpu")
        certified = torch.empty(len(x), dtype=torch.bool, device="cpu")
        given = make_input(x, tensors[-1])
        tiles = step.tiles()
        workspaces, addresses = self._borrow(step, native, training)
        call = NativeForwardCall(
            circuit=ctypes.addressof(native),
            training=ctypes.addressof(training),
            input=ctypes.addressof(given),
            tiles=ctypes.addressof(tiles),
            num_tiles=len(tiles),
            share_tiles=step.share_tiles,
            num_shares=step.threads,
            workspaces=addresses.ctypes.data,
            result=result.data_ptr(),
            certified=certified.data_ptr(),
            tolerance=TOLERANCE,
        )
        # threads may outlive an interrupted call
        call.kept = (self, native, training, given, tiles, result, certified, workspaces, addresses)
        call_in_threads(self.library.take_forward_shares, call, step.threads)
        self.workspaces.give_back(*workspaces)
        if call.has_bad_input:
            raise RefusedError("a variable has a value that it cannot have")
        if call.has_bad_weight:
            raise RefusedError(BAD_NUMBER)
        return step, result, certified

    def backward(self, step: "Step", tensors: Sequence[Tensor], gradient: Tensor) -> list[Tensor]:
        """The gradient of each tensor, or of the operand of its softmax, from the gradient of the outputs."""
        gradient = in_memory(gradient)
        scale = _scale(gradient)
        found = [self._empty_gradient(number, one) for number, one in enumerate(tensors[: len(self.plan.reads)])]
        densities = torch.zeros(self.plan.gaussian_floats, dtype=torch.float32, device="cpu")
        logarithms = torch.zeros_like(tensors[-1])
        given = make_input(torch.empty((0, 0), dtype=torch.int64, device="cpu"), tensors[-1])
        native, training = self._structures(step, tensors)
        gradient_addresses = np.array([one.data_ptr() for one in found], dtype=np.int64)
        training.gradients = gradient_addresses.ctypes.data
        training.constants_gradient, training.densities_gradient = densities.data_ptr(), logarithms.data_ptr()
        training.written = (gradient_addresses, found, densities, logarithms)
        tiles = step.tiles_in_rounds()
        done = np.zeros((len(tiles), LINE_BYTES // 8), dtype=np.int64)
        workspaces, addresses = self._borrow(step, native, training)
        call = NativeBackwardCall(
            circuit=ctypes.addressof(native),
            training=ctypes.addressof(training),
            input=ctypes.addressof(given),
            tiles=ctypes.addressof(tiles),
            num_tiles=len(tiles),
            turns=self.plan.turns.ctypes.data,
            of_outputs=gradient.data_ptr(),
            by=1 / scale,
            workspaces=addresses.ctypes.data,
            num_threads=step.threads,
            done=done.ctypes.data,
        )
        # threads may outlive an interrupted call
        call.kept = (self, native, training, given, tiles, gradient, workspaces, addresses, done)
        call_in_threads(self.library.take_tiles, call, step.threads)
        self.workspaces.give_back(*workspaces)
        if call.changed:
            raise LoweringError(
                "logits of a softmax are not those of the forward pass: PyTorch does not notice changes by .data, and "
                "saved_tensors_hooks may round; change them before the forward or after the backward pass"
            )
        gradients = [*found, *self._split(densities, tensors), logarithms]
        if scale != 1:
            for one in gradients:
                one *= scale
        return gradients

    def _borrow(
        self, step: "Step", native: NativeCircuit, training: NativeTraining
    ) -> tuple[list[Memory], NDArray[np.int64]]:
        """A workspace for each thread, and their addresses."""
        size = self.library.training_workspace(ctypes.byref(native), ctypes.byref(training), step.tile_rows)
        workspaces = [self.workspaces.borrow(size) for _ in range(step.threads)]
        return workspaces, np.array([one.ctypes.data for one in workspaces], dtype=np.int64)

    def _new_step(self, rows: int) -> "Step":
        threads = num_threads(rows)
        share = -(-rows // threads)
        threads, tile_rows = -(-rows // share), min(share, TILE_ROWS)
        native, training = self.plan.arrays.native, self._sizes(self._placed_rows(rows))
        tile_bytes = self.library.kept_bytes(ctypes.byref(native), ctypes.byref(training), tile_rows)
        placed = self._placed_rows(rows)
        scales = align(4 * placed.constant_floats)
        values = scales + align(8 * placed.num_rows)
        memory = self.values.lend(values + threads * -(-share // tile_rows) * tile_bytes)
        return Step(memory, rows, share, tile_rows, threads, tile_bytes, scales, values)

    def _structures(self, step: "Step", tensors: Sequence[Tensor]) -> tuple[NativeCircuit, NativeTraining]:
        """Return the records that both passes read; they keep what they need."""
        placed = self._placed_rows(step.rows)
        native, training = NativeCircuit.from_buffer_copy(self.plan.arrays.native), self._sizes(placed)
        native.operands = placed.operands.ctypes.data
        native.constants, native.scales = step.memory.data_ptr(), step.memory.data_ptr() + step.scales
        addresses = np.array([one.data_ptr() for one in tensors[: len(self.plan.reads)]], dtype=np.int64)
        training.sources = addresses.ctypes.data
        training.kept = (addresses, placed, step, tensors)  # threads may still read them after an interrupt
        return native, training

    def _placed_rows(self, batch: int) -> PlacedRows:
        """The places of the rows of tables for a batch of this size, kept for the next one."""
        kept = self._placed
        if kept is None or kept[0] != batch:
            self._placed = kept = batch, self.plan.place_rows(batch)
        return kept[1]

    def _sizes(self, placed: PlacedRows) -> NativeTraining:
        training = NativeTraining.from_buffer_copy(self.plan.sizes)
        training.tables, training.num_rows = placed.tables.ctypes.data, placed.num_rows
        return training

    def _write_densities(self, step: "Step", tensors: Sequence[Tensor]) -> None:
        """Copy their numbers to the constants."""
        constants = step.memory[: 4 * self.plan.gaussian_floats].view(torch.float32)
        for start, packed in zip(self.plan.gaussians.values(), tensors[len(self.plan.reads) : -1], strict=True):
            constants[start : start + packed.numel()] = packed.reshape(-1)

    def _empty_gradient(self, number: int, tensor: Tensor) -> Tensor:
        return torch.zeros_like(tensor) if number in self.plan.partial else torch.empty_like(tensor)

    def _split(self, densities: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The gradients of the densities of each layer."""
        packed = tensors[len(self.plan.reads) : -1]
        return [
            densities[start : start + one.numel()].view_as(one)
            for start, one in zip(self.plan.gaussians.values(), packed, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Step:
    """The memory of a step from its forward to its backward pass: constants, their scales, and the values of tiles."""

    memory: Tensor
    rows: int
    share: int
    tile_rows: int
    threads: int
    tile_bytes: int
    scales: int
    values: int

    @property
    def share_tiles(self) -> int:
        """The number of tiles of a thread in the forward pass; the last thread may have fewer."""
        return -(-self.share // self.tile_rows)

    def tiles(self) -> ctypes.Array[NativeKeptTile]:
        """The tiles, one thread after the other: rows, and the addresses of the values that are kept of them."""
        found: list[NativeKeptTile] = []
        for thread in range(self.threads):
            start, stop = thread * self.share, min((thread + 1) * self.share, self.rows)
            values = self.memory.data_ptr() + self.values + thread * self.share_tiles * self.tile_bytes
            for at, first in enumerate(range(start, stop, self.tile_rows)):
                rows = min(self.tile_rows, stop - first)
                found.append(NativeKeptTile(first=first, rows=rows, values=values + at * self.tile_bytes))
        return (NativeKeptTile * len(found))(*found)

    def tiles_in_rounds(self) -> ctypes.Array[NativeKeptTile]:
        """In rounds over the threads of the forward pass: tiles that go back at once have about equally many rows."""
        tiles = self.tiles()
        found = [tile for at in range(self.share_tiles) for tile in tiles[at :: self.share_tiles]]
        return (NativeKeptTile * len(found))(*found)


class _Evaluation(torch.autograd.Function):
    """The outputs, and which rows are certified, of a program, x and the tensors that it reads."""

    @staticmethod
    def forward(ctx: Any, program: TrainingProgram, x: Tensor, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        step, result, certified = program.forward(x, tensors)
        # PyTorch frees what is saved in the backward pass, while others may keep `ctx`: a loss that is summed up
        ctx.program, ctx.step = program, replace(step, memory=torch.empty(0, device="cpu"))
        ctx.save_for_backward(step.memory, *tensors)
        ctx.mark_non_differentiable(certified)
        ctx.set_materialize_grads(False)
        return result, certified

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        gradient = grad_outputs[0]
        refuse_unusual_gradients(gradient)
        memory, *tensors = ctx.saved_tensors
        if gradient is None:
            return (None,) * (2 + len(tensors))
        found = ctx.program.backward(replace(ctx.step, memory=memory), tensors, gradient)
        return (
            None,
            None,
            *(one if needed else None for one, needed in zip(found, ctx.needs_input_grad[2:], strict=True)),
        )


def _has_infinity(values: Tensor) -> bool:
    """Return whether a value is infinite: the largest one says so, unless there is one that is not a number."""
    largest = values.detach().amax()
    return bool(largest == inf) or (bool(largest.isnan()) and bool((values == inf).any()))


def _scale(gradient: Tensor) -> float:
    """A power of two by which gradients of the outputs are divided, so that no gradient of a value overflows.

    It is at most the largest one: twice as much may be more than a float holds.
    """
    largest = float(gradient.abs().max()) if gradient.numel() else 1.0
    return 2.0 ** (frexp(largest)[1] - 1) if 0 < largest < inf and not 2.0**-20 < largest < 2.0**20 else 1.0

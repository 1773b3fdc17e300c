"""A module with its arguments on a device, as a forward pass or a training step; and the comparison of outputs."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from explorer.backend import EvaluatedCircuit, TorchCircuit
from explorer.errors import CircuitError
from explorer.runtime import FastCircuit
from explorer.tensor.graph.interface import Arguments
from explorer.timings import TRAINING
from explorer.trace.equivalence import largest_difference


@dataclass(frozen=True, eq=False)
class Program:
    """A module and its arguments on one device: for a circuit its input x (B, D).

    `forward` is without gradients, of a circuit that is frozen and in `eval()`; `training` is forward and backward of
    the mean of the first output, negated (for a circuit the mean negative log-likelihood), without a step of an
    optimizer.
    """

    module: nn.Module
    arguments: tuple[Any, ...]
    kind: str

    def prepare(self) -> None:
        """Bring the module into the initial state of a run; not timed."""
        self._set_mode(self.kind == TRAINING)
        if self.kind == TRAINING:
            self.module.zero_grad(set_to_none=True)

    def run(self) -> None:
        """One run."""
        if self.kind == TRAINING:
            value = _tensors(self._call())[0]
            (-(value.real if value.is_complex() else value).mean()).backward()
            return
        with torch.no_grad():
            self._call()

    def _set_mode(self, training: bool) -> None:
        """Bring a circuit into a mode; the operators of an exported module are those of the mode of the export."""
        if isinstance(self.module, EvaluatedCircuit):
            self.module.train(training)

    def _call(self) -> Any:
        by_name = self.arguments.by_name if isinstance(self.arguments, Arguments) else {}
        return self.module(*self.arguments, **by_name)

    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs of the module on the CPU; random numbers start from the same seed each time."""
        self._set_mode(False)
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(0)
            return tuple(value.cpu() for value in _tensors(self._call()))

    def disagreement(self, wanted: tuple[Tensor, ...]) -> str:
        """Why the program must not be timed; empty if its outputs are the wanted ones (for a circuit one, (B, K, C)).

        They may differ by the rounding of a different order of summation, as in `Trace.check`. If the numbers of rows
        differ, the smaller one is compared.
        """
        circuit = self.module.circuit if isinstance(self.module, FastCircuit) else self.module
        semiring = circuit.semiring.name if isinstance(circuit, EvaluatedCircuit) else ""
        found = (_difference(*pair, semiring) for pair in zip(self.outputs(), wanted, strict=True))
        return next((words for words in found if words), "")

    def with_one_row(self) -> "Program":
        """The same program on the first row."""
        return Program(self.module, first_rows(self.arguments, 1), self.kind)


def program(module: nn.Module, arguments: tuple[Any, ...], kind: str, device: str) -> Program:
    """Make a program on a device: move the module, copy tensors. Raises: CircuitError if nothing is learnable."""
    if kind == TRAINING and not any(tensor.requires_grad for tensor in module.parameters()):
        raise CircuitError("the module has no learnable parameter, so there is no training step; use kind='forward'")
    there = pytree.tree_map_only(Tensor, lambda value: value.to(device), arguments)
    module = module.to(device)
    if kind != TRAINING and isinstance(module, TorchCircuit):
        module = module.freeze()
    return Program(module, there, kind)


def first_rows(arguments: tuple[Any, ...], rows: int) -> tuple[Any, ...]:
    """Take the first rows of each tensor among the arguments."""
    return pytree.tree_map_only(Tensor, lambda value: value[:rows], arguments)


def rows_of(arguments: tuple[Any, ...]) -> int:
    """The number of rows of the first tensor among the arguments; a scalar counts as one row."""
    first = next(iter(_tensors(arguments)), None)
    return len(first) if first is not None and first.ndim else 1


def _tensors(given: Any) -> tuple[Tensor, ...]:
    return tuple(value for value in pytree.tree_leaves(given) if isinstance(value, Tensor))


def _difference(value: Tensor, wanted: Tensor, semiring: str) -> str:
    if value.ndim and wanted.ndim:
        rows = min(len(value), len(wanted))
        value, wanted = value[:rows], wanted[:rows]
    if value.shape != wanted.shape:
        return f"the output has shape {tuple(value.shape)}, not {tuple(wanted.shape)}"
    if not value.numel():
        return ""
    found, allowed = largest_difference(value, wanted, semiring)
    if found <= allowed:
        return ""
    return f"the output differs from the unoptimized one's on the CPU by {found:.3g}, more than {allowed:.3g}"

"""A module with its arguments on a device, as a forward pass or a training step; and the comparison of outputs."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from explorer.backend import EvaluatedCircuit, TorchCircuit, TorchInputLayer
from explorer.backend.layers import TorchDiscreteLayer
from explorer.backend.layers.inputs import TorchContinuousLayer
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
        """Bring a circuit into a mode; an exported module keeps the operators of the mode in which it was exported."""
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
            return tuple(value.detach().cpu() for value in _tensors(self._call()))

    def disagreement(self, wanted: tuple[Tensor, ...]) -> str:
        """Say why the program must not be timed; empty if its outputs are as expected (for a circuit one, (B, K, C)).

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


def random_inputs(circuit: TorchCircuit, batch_size: int, seed: int = 0) -> Tensor:
    """Rows (B, D): uniform states for discrete variables, standard normal numbers for continuous ones.

    The dtype is int64 if all variables are discrete. A variable that several layers read gets values that all of them
    accept. Raises: CircuitError if a variable is read by any other layer: pass data instead.
    """
    states, real = variable_kinds(circuit)
    generator = torch.Generator().manual_seed(seed)
    columns: list[Tensor] = []
    for variable in range(circuit.num_variables):
        if variable in states:
            columns.append(torch.randint(states[variable], (batch_size,), generator=generator))
        elif variable in real:
            columns.append(torch.randn(batch_size, generator=generator))
        else:
            columns.append(torch.zeros(batch_size, dtype=torch.long))
    if not columns:
        return torch.zeros((batch_size, 0))
    discrete = all(not column.is_floating_point() for column in columns)
    return torch.stack([column if discrete else column.to(torch.get_default_dtype()) for column in columns], dim=1)


def variable_kinds(circuit: TorchCircuit) -> tuple[Mapping[int, int], Set[int]]:
    """Return the number of states of each discrete variable, and the continuous variables.

    Raises: CircuitError if a variable is read by any other layer.
    """
    states: dict[int, int] = {}
    real: set[int] = set()
    for node, layer in circuit.graph.nodes.items():
        if not isinstance(layer, TorchInputLayer):
            continue
        for variable in sorted({v for scope in layer.scope_idx for v in scope}):
            if isinstance(layer, TorchDiscreteLayer):
                states[variable] = min(layer.num_values, states.get(variable, layer.num_values))
            elif isinstance(layer, TorchContinuousLayer):
                real.add(variable)
            else:
                raise CircuitError(
                    f"layer {node} ({type(layer).__name__}) reads variable {variable}, whose values are "
                    f"unknown; pass data: x of shape (B, {circuit.num_variables})"
                )
    return states, real

"""How the operators of groups are run: one after the other, or on CUDA as captured graphs."""

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import torch
from torch import Tensor

from explorer.runtime.grouped.constants import GroupConstants
from explorer.runtime.grouped.groups import Groups
from explorer.runtime.grouped.kernels import Given, Indices, Outputs, evaluate_groups, step_for

MAX_GRAPHS = 8
"""Maximum number of batch sizes that have a captured graph at a time."""

WARMUPS = 2


class Runner(Protocol):
    """Evaluates groups."""

    def __call__(self, groups: Groups, constants: GroupConstants, indices: Indices, given: Given, /) -> Outputs:
        """The outputs of a circuit."""
        ...


def run_eagerly(groups: Groups, constants: GroupConstants, indices: Indices, given: Given) -> Outputs:
    """Call one operator after the other."""
    step = step_for(given.states, given.states.shape[1])
    return evaluate_groups(groups, constants, indices, given, step)


@dataclass(frozen=True, eq=False)
class Captured:
    """A graph for one batch size, and the memory that it reads and writes."""

    graph: Any
    given: tuple[Tensor, ...]
    outputs: Outputs


class CudaGraphs:
    """Captures what another runner does on CUDA, once for each batch size; on the CPU it only calls that runner.

    Parameters that are packed again are copied to the memory that the graphs read.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._device: torch.device | None = None
        self._constants: GroupConstants | None = None
        self._packed: GroupConstants | None = None
        self._captured: dict[int, Captured] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """A copy captures again: addresses are of this process."""
        return {"runner": self.runner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["runner"])

    def __call__(self, groups: Groups, constants: GroupConstants, indices: Indices, given: Given, /) -> Outputs:
        """The outputs of a circuit."""
        device = given.states.device
        if device.type != "cuda":
            return self.runner(groups, constants, indices, given)
        with self._lock, torch.cuda.device(device):
            torch.cuda.synchronize(device)  # another stream may still read the outputs of the last call
            own = self._own_constants(constants, device)
            captured = self._captured.get(given.states.shape[1])
            if captured is None:
                captured = self._capture(groups, own, indices, given)
            for to, one in zip(captured.given, _tensors(given), strict=True):
                to.copy_(one)
            captured.graph.replay()
            result, values, bounds = (one.clone() for one in captured.outputs)
            return result, values, bounds

    def _own_constants(self, constants: GroupConstants, device: torch.device) -> GroupConstants:
        """A copy, whose memory stays where it is when parameters are packed again."""
        own = self._constants
        if own is None or self._device != device:
            self._captured.clear()
            self._device = device
            own = self._constants = constants.with_tensors([one.clone() for one in constants.tensors()])
        elif self._packed is not constants:
            for to, one in zip(own.tensors(), constants.tensors(), strict=True):
                to.copy_(one)
        self._packed = constants
        return own

    def _capture(self, groups: Groups, constants: GroupConstants, indices: Indices, given: Given) -> Captured:
        while len(self._captured) >= MAX_GRAPHS:
            del self._captured[next(iter(self._captured))]
        static = Given(given.states.clone(), given.points.clone(), tuple(one.clone() for one in given.densities))
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARMUPS):
                self.runner(groups, constants, indices, static)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self.runner(groups, constants, indices, static)
        captured = Captured(graph, _tensors(static), outputs)
        self._captured[given.states.shape[1]] = captured
        return captured


def _tensors(given: Given) -> tuple[Tensor, ...]:
    return (given.states, given.points, *given.densities)

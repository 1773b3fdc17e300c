"""Groups compiled by `torch.compile` as one graph, once for all batch sizes."""

from collections.abc import Callable
from threading import Lock
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from explorer.runtime.grouped.evaluation import Given, Indices, Outputs, evaluate_groups
from explorer.runtime.grouped.groups import Groups
from explorer.runtime.grouped.running import run_eagerly
from explorer.runtime.packed_tensors import PackedTensors

Compiled = Callable[[Given, tuple[Tensor, ...]], Outputs]


class InductorRunner:
    """Runs groups as Inductor compiles them, in the first call for each device and number of threads.

    Tensors that depend on parameters are arguments: packed again, they have the same shapes, and nothing is compiled
    again. If compilation fails, groups are run eagerly, and `problem` has the reason.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._compiled: dict[tuple[torch.device, int], Compiled] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """A copy compiles again, or finds what was compiled in the cache of Inductor."""
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()

    def __call__(self, groups: Groups, constants: PackedTensors, indices: Indices, given: Given, /) -> Outputs:
        """The outputs of a circuit."""
        if self.problem or given.states.shape[1] == 1:  # a single row would be compiled on its own
            return run_eagerly(groups, constants, indices, given)
        key = (given.states.device, torch.get_num_threads())
        compiled = self._compiled.get(key)
        if compiled is not None:
            return compiled(given, constants.tensors)
        with self._lock:
            try:
                compiled = self._compiled.get(key) or _compile(groups, constants, indices, given)
                found = compiled(given, constants.tensors)
            except Exception as error:  # noqa: BLE001 - of dynamo, Inductor, the compiler, a full disk, an older torch
                self.problem = f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]
                return run_eagerly(groups, constants, indices, given)
            self._compiled[key] = compiled
            return found


def _compile(groups: Groups, constants: PackedTensors, indices: Indices, given: Given) -> Compiled:
    """A function of what units read of x and of the tensors of constants, which is compiled when it is called."""

    def evaluate(states: Tensor, points: Tensor, densities: tuple[Tensor, ...], tensors: tuple[Tensor, ...]) -> Outputs:
        return evaluate_groups(groups, constants.with_tensors(tensors), indices, Given(states, points, densities))

    # PyTorch counts how often it compiles one code object, and gives up: each circuit has its own
    own = FunctionType(evaluate.__code__.replace(), evaluate.__globals__, evaluate.__name__, None, evaluate.__closure__)
    options = {"cpp.threads": torch.get_num_threads(), "guard_filter_fn": torch.compiler.keep_tensor_guards_unsafe}
    compiled = torch.compile(own, fullgraph=True, options=options)
    for one in (given.states, given.points, *given.densities):
        torch._dynamo.mark_dynamic(one, 1)
    return lambda given, tensors: compiled(given.states, given.points, given.densities, tensors)

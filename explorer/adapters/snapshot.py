"""The state of a watched compilation after a step: calls as records, what they move, and how to run it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from explorer.errors import CircuitError
from explorer.graph import Graph
from explorer.levels import LevelSnapshot
from explorer.tensor.ir.types import TensorType
from explorer.trace import (
    BufferRecord,
    MemoryRecord,
    NodeRecord,
    ParameterNodeRecord,
    ParameterRecord,
    most_bytes,
)

Mark = Callable[[int | None], None]

NO_CALLS = ("input", "view", "leaf")
"""The kinds of nodes that move no bytes by themselves."""
BYTES = ("read_bytes", "bytes", "parameter_bytes")
MAX_NAMES = 5
"""Maximum number of operators that a title names, and of source lines of a call."""


@dataclass(frozen=True, eq=False, repr=False)
class WatchedSnapshot(LevelSnapshot[MemoryRecord]):
    """Calls and the values that they read; `module` makes a module that computes the state, None if nothing can.

    A record has the bytes that its call writes (`bytes`) and reads: of values (`read_bytes`), of parameters
    (`parameter_bytes`). `order` is the order in which the calls run, `lines` a line of code for some of them.
    """

    drawn: Graph[NodeRecord]
    module: Callable[[], nn.Module] | None = None
    why_no_module: str = ""
    lines: Mapping[int, str] = field(default_factory=dict[int, str])
    marks: Callable[[Mark], AbstractContextManager[None]] | None = None
    """What `marked` does; None if the calls are not known while they run."""

    def make_graph(self) -> Graph[NodeRecord]:
        """The calls, the views between them, and the inputs."""
        return self.drawn

    @property
    def calls(self) -> list[int]:
        """The nodes that run something, in order."""
        return [node for node, record in self.drawn.nodes.items() if record.kind not in NO_CALLS]

    def make_stats(self) -> Mapping[str, int]:
        """Count calls, and the bytes that these read and write, as far as types tell."""
        configs = [self.drawn.nodes[node].config for node in self.calls]
        read, written, parameters = (sum(config.get(name, 0) for config in configs) for name in BYTES)
        return {
            "calls": len(configs),
            "views": sum(record.kind == "view" for record in self.drawn.nodes.values()),
            "moved_bytes": read + written,
            "values_read_bytes": read,
            "activation_bytes": written,
            "parameter_bytes": parameters,
            "peak_bytes": self.memory.lower_bound_bytes,
        }

    def make_memory(self) -> MemoryRecord:
        """The values that calls write: from when to when each is kept, if it is dropped behind its last reader."""
        order = tuple(self.calls)
        moments = {node: moment for moment, node in enumerate(order)}
        source = self._sources()
        readers: dict[int, list[int]] = {node: [] for node in order}
        for node in order:
            for read in dict.fromkeys(source[one] for one in self.drawn.inputs[node]):
                if read in readers:
                    readers[read].append(node)
        kept = {source[one] for one in self.drawn.outputs}
        buffers = tuple(
            BufferRecord(
                node,
                ", ".join(self.drawn.nodes[node].config.get("results", ())),
                moments[node],
                len(order) if node in kept else 1 + moments[(readers[node] or [node])[-1]],
                self.drawn.nodes[node].config.get("bytes", 0),
                None,
                (node, *readers[node]),
                ("w", *("r" * len(readers[node]))),
            )
            for node in order
        )
        listing = tuple((node, self.lines[node]) for node in order if node in self.lines)
        most = most_bytes(buffers)
        return MemoryRecord(order, buffers, most, most, listing)

    def _sources(self) -> Mapping[int, int]:
        """For each node the one whose memory its value is in: a view's is that of its first input."""
        found: dict[int, int] = {}
        for node, record in self.drawn.nodes.items():
            inputs = self.drawn.inputs[node]
            found[node] = found[inputs[0]] if record.kind == "view" and inputs else node
        return found

    def circuit(self) -> nn.Module:
        """A module that computes this state. Raises: CircuitError if there is none."""
        if self.module is None:
            raise CircuitError(self.why_no_module or "this state of the compilation cannot be run")
        return self.module()

    def results(self, x: Any) -> tuple[torch.Tensor, ...]:
        """The outputs for a tuple of arguments, which are copied. Raises: CircuitError if the state cannot be run."""
        if x is None:
            raise CircuitError("the program was not run, so that its arguments are not known; pass a tuple of them")
        module = self.circuit()
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            given = module(*deepcopy(tuple(x)))
        return tuple(one.detach() for one in pytree.tree_leaves(given) if isinstance(one, torch.Tensor))

    def marked(self, mark: Mark) -> AbstractContextManager[None]:
        """Call `mark` with the number of each call before it runs, and with None after it, while `circuit` runs inside.

        Raises: CircuitError if the calls are not known while they run.
        """
        if self.marks is None:
            raise CircuitError("calls are timed one by one after the step codegen, where their code is known")
        return self.marks(mark)


class Running(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)


def size_of(kind: object) -> int:
    """The bytes of a tensor by its type; 0 for other values."""
    return kind.size_bytes if isinstance(kind, TensorType) else 0


def distinct(texts: Iterable[str]) -> list[str]:
    """Texts that are not empty, each once."""
    return list(dict.fromkeys(filter(None, texts)))


def title_of_call(operators: Sequence[str]) -> str:
    """The title of a call that computes several operators."""
    names = distinct(operators)
    return " + ".join(names[:MAX_NAMES]) + (f" + {len(names) - MAX_NAMES} more" if names[MAX_NAMES:] else "")


def parameter_record(name: str, kind: object) -> ParameterRecord:
    """A parameter or buffer as the parameter of the operator that reads it."""
    shape = kind.shape if isinstance(kind, TensorType) else ()
    config = {"shape": list(shape), "type": str(kind)}
    return ParameterRecord(shape, (ParameterNodeRecord("Parameter", 1, config, (), (name,)),), ((0, 0),))

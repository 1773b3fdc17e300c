"""Notes of one compilation by Inductor, as they are heard: copies of graphs, names and decisions, in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal, NamedTuple

from torch import fx

from explorer.errors import unknown_name
from explorer.tensor.ir.types import ValueType

PRE_GRAD, JOINT, POST_GRAD = "pre_grad", "joint_graph", "post_grad"
"""The stages in which passes run over an FX graph."""
WHOLE, FORWARD, BACKWARD = "", "forward", "backward"
"""The graphs that are compiled by themselves: a program, or the parts of a training step."""
ITEM = "MultiOutput"
"""The type of a node that takes one of the results of a library call, and runs nothing."""
DECOMPOSED, BETWEEN = "AOTAutograd", "between passes"
"""The names of changes that happen in no pass."""


def in_part(part: str, name: str) -> str:
    """The name of a scheduler node, with the part of a training step that it is in: `forward/op0`."""
    return f"{part}/{name}" if part else name


@dataclass(slots=True)
class HeardPass:
    """A pass over an FX graph; `graph` is a copy of the graph after it, None if the pass changed nothing."""

    stage: str
    name: str
    seconds: float
    graph: fx.Graph | None
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What nodes of the graph name: constants and modules."""


@dataclass(frozen=True, slots=True)
class HeardNode:
    """A scheduler node before any fusion. `reads` and `writes` are names of buffers.

    `origins` are the names of the FX nodes that it computes, or more than these; `origin` is the last of them.
    """

    name: str
    type: str
    is_extern: bool
    library: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    origins: tuple[str, ...]
    origin: str
    loops: str
    reduction: str


class Decision(NamedTuple):
    """What Inductor did with a pair of nodes, or answered about it.

    `said` is the reason of a refusal, the answer of `Scheduler.can_fuse`, or the parts of the score by which candidates
    are ordered. Two nodes that were fused are one, whose name has both, joined by `_`.
    """

    kind: Literal["refused", "answered", "scored", "fused"]
    one: str
    other: str
    said: Any = None


@dataclass(slots=True)
class HeardRound:
    """A round of the scheduler: its decisions in order."""

    decisions: list[Decision] = field(default_factory=list[Decision])
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HeardKernel:
    """A generated function: its name, the scheduler nodes that one call of it computes, and its source."""

    name: str
    nodes: tuple[str, ...]
    source: str


@dataclass(slots=True)
class HeardScheduling:
    """The half of the compilation that fuses: nodes, rounds, kernels."""

    names: tuple[str, ...]
    """The nodes that the first round begins with: foreach operators are groups by then."""
    nodes: Sequence[HeardNode]
    buffers: dict[str, ValueType]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lower_seconds: float
    rounds: list[HeardRound] = field(default_factory=list[HeardRound])
    final: tuple[str, ...] = ()
    kernels: list[HeardKernel] = field(default_factory=list[HeardKernel])
    order: tuple[str, ...] = ()
    """The nodes in the order of the code: they are sorted again, for the peak of memory, behind the last round."""
    code: str = ""
    unwritten: frozenset[str] | None = None
    """The buffers that no generated function writes to memory; None until the code is known."""
    codegen_seconds: float = 0.0
    module: ModuleType | None = None
    """The code, loaded."""


@dataclass(frozen=True, slots=True)
class HeardPartition:
    """The joint graph of a training step, divided: forward returns its outputs, then what it saves for backward."""

    forward: fx.Graph
    forward_attributes: Mapping[str, Any]
    backward: fx.Graph
    backward_attributes: Mapping[str, Any]
    num_outputs: int
    seconds: float


@dataclass(slots=True)
class HeardPart:
    """What was heard of a graph that is compiled by itself; of a joint graph, `passes` end at the partition."""

    passes: list[HeardPass] = field(default_factory=list[HeardPass])
    scheduling: HeardScheduling | None = None
    compiled: Callable[..., Any] | None = None
    """It accepts the inputs of a part of a training step as one list."""


@dataclass(slots=True)
class HeardCompilation:
    """All that was heard of one graph: from its capture by Dynamo to the generated code, or to an error."""

    captured: fx.Graph
    attributes: Mapping[str, Any]
    inputs: Mapping[str, str]
    """The names of the other inputs, with those that the user's program has for them."""
    parameters: Mapping[str, str]
    """The inputs that are parameters or buffers of a module: their names, and those that the module has for them."""
    parts: dict[str, HeardPart] = field(default_factory=lambda: {WHOLE: HeardPart()})
    """The whole, and the parts of a training step that were compiled."""
    partition: HeardPartition | None = None
    arguments: tuple[Any, ...] | None = None
    """The arguments of the first call, parameters included."""
    is_boxed: bool = False
    """Whether the arguments are given as one list."""
    apart: frozenset[tuple[str, str]] = frozenset()
    """The pairs of scheduler nodes that were not to be fused."""
    error: str = ""
    missed: list[str] = field(default_factory=list[str])
    """What this version of torch did not tell, in sentences."""

    @property
    def whole(self) -> HeardPart:
        """What was heard of the whole graph."""
        return self.parts[WHOLE]

    @property
    def is_decomposed(self) -> bool:
        """Whether AOTAutograd has replaced the captured operators."""
        return any(one.name == DECOMPOSED for one in self.whole.passes)

    def check_apart(self) -> None:
        """Raises: UnknownNameError for a node to keep apart that the scheduler does not have, if its nodes are known.

        The backward part is known if it was compiled.
        """
        heard = {name: part.scheduling for name, part in self.parts.items()}
        known = [in_part(name, node.name) for name, told in heard.items() if told is not None for node in told.nodes]
        for name in dict.fromkeys(name for pair in sorted(self.apart) for name in pair):
            if known and name not in known:
                raise unknown_name("scheduler node", name, known, 'graph_at("lower") has them in about["name"]')

    @property
    def mode(self) -> Literal["infer", "train"]:
        """Whether gradients are computed."""
        return "infer" if self.partition is None else "train"

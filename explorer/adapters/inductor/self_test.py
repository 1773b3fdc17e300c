"""The self-test of the adapter: what it hears of the installed version of torch, found by compiling a small model."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import nn

from explorer.adapters.inductor.fx_states import module_of, roots_of, source_of
from explorer.adapters.inductor.heard import (
    POST_GRAD,
    PRE_GRAD,
    Answered,
    Fused,
    HeardCompilation,
    HeardScheduling,
    Refused,
    Scored,
)
from explorer.adapters.inductor.hooks import listening
from explorer.adapters.inductor.listening import DECOMPOSED, Session
from explorer.adapters.inductor.recording import trace_of


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook of Inductor: what traces show by it, and whether it was heard."""

    name: str
    shows: str
    is_heard: bool


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The hooks of a version of torch, and why the model was not compiled to the end, if it was not."""

    torch_version: str
    hooks: tuple[Hook, ...]
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything was heard."""
        return not self.error and all(hook.is_heard for hook in self.hooks)

    def __str__(self) -> str:
        count = sum(hook.is_heard for hook in self.hooks)
        lines = [f"torch {self.torch_version}: {count} of {len(self.hooks)} hooks heard"]
        for hook in self.hooks:
            lines.append(f"  {'heard    ' if hook.is_heard else 'NOT HEARD'}  {hook.name}: {hook.shows}")
        return "\n".join([*lines, *([f"  the model was not compiled: {self.error}"] if self.error else [])])


class _Model(nn.Module):
    """A linear layer, a layer norm with softmax, and another linear layer: fused, refused and library calls."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.norm(self.up(x)).softmax(-1)).relu()


def self_test() -> SelfTest:
    """Compile a small model, and report which hooks were heard."""
    torch._dynamo.reset()
    session, error = Session(), ""
    try:
        with listening(session), torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.compile(_Model().eval())(torch.ones(4, 8))
    except Exception as failed:  # noqa: BLE001 (what was heard up to there is reported)
        cause = getattr(failed, "inner_exception", failed)
        error = f"{type(cause).__name__}: {cause}".partition("\n")[0]
    finally:
        torch._dynamo.reset()
    heard = session.compilations[0] if session.compilations else None
    if heard is not None:
        error = heard.error or error or " ".join(heard.missed)
    return SelfTest(torch.__version__, tuple(_hooks_of(heard)), error)


def _hooks_of(heard: HeardCompilation | None) -> Iterator[Hook]:
    passes = [] if heard is None else heard.passes
    stages = {one.stage for one in passes}
    yield Hook("compile_fx", "the captured program", heard is not None)
    yield Hook("GraphTransformObserver, pre-grad", "passes before AOTAutograd", PRE_GRAD in stages)
    yield Hook("GraphTransformObserver, post-grad", "passes after it", POST_GRAD in stages)
    yield Hook("AOTAutograd", "its decompositions", any(one.name == DECOMPOSED for one in passes))
    decomposed = [node for one in passes if one.name == DECOMPOSED and one.graph for node in one.graph.nodes]
    nodes = [node for node in decomposed if node.op == "call_function"]
    yield Hook("from_node", "from which captured operators a kernel comes", any(roots_of(node) for node in nodes))
    yield Hook("stack_trace", "source lines", any(source_of(node) for node in nodes))
    yield Hook("nn_module_stack", "modules", any(module_of(node) for node in nodes))
    scheduling = None if heard is None else heard.scheduling
    yield Hook("_pre_fusion_custom_pass", "the calls behind lowering", scheduling is not None)
    yield from _scheduler_hooks(scheduling)
    final: set[str] = set()
    if heard is not None:
        with suppress(StopIteration):
            trace = trace_of(heard, "self-test")
            last = next(step for step in reversed(trace.steps) if step.pass_name == "fuse")
            final = {record.about["name"] for record in trace.graph_at(last).nodes.values() if record.kind != "input"}
    yield Hook("fused pairs", "the compiler's own kernels", scheduling is not None and final == {*scheduling.final})


def _scheduler_hooks(scheduling: HeardScheduling | None) -> Iterator[Hook]:
    rounds = [] if scheduling is None else scheduling.rounds
    kinds = {type(one) for each in rounds for one in each.decisions}
    final = () if scheduling is None else scheduling.final
    yield Hook("log `fusion`, rounds", "rounds of fusion", bool(rounds))
    yield Hook("log `fusion`, reasons", "why pairs were refused", Refused in kinds)
    yield Hook("log `fusion`, pairs", "which pairs were fused", Fused in kinds)
    yield Hook("choices handler", "scores of candidates", Scored in kinds)
    yield Hook("Scheduler.can_fuse", "refusals without a reason", Answered in kinds)
    yield Hook("Scheduler.fuse_nodes", "the kernels that are left", bool(final))
    kernels = [] if scheduling is None else scheduling.kernels
    yield Hook("define_kernel", "functions and their code", bool(kernels))
    yield Hook("codegen_node", "which calls a function computes", any(one.nodes for one in kernels))
    yield Hook("generate", "the generated program", scheduling is not None and bool(scheduling.code))

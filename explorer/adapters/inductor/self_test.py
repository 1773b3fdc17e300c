"""The self-test of the adapter: what it hears of the installed version of torch, found by compiling a small model."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from explorer.adapters.inductor.fx_states import module_of, roots_of, source_of
from explorer.adapters.inductor.heard import DECOMPOSED, POST_GRAD, PRE_GRAD, HeardCompilation, HeardScheduling
from explorer.adapters.inductor.listening import Session
from explorer.adapters.inductor.rounds import round_of
from explorer.adapters.watching import compile_watched


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
    session, error = Session(), ""
    try:
        with torch.random.fork_rng(devices=[]):
            compile_watched(session, _Model().eval(), (torch.ones(4, 8),))
    except Exception as failed:  # noqa: BLE001 (what was heard up to there is reported)
        cause = getattr(failed, "inner_exception", failed)
        error = f"{type(cause).__name__}: {cause}".partition("\n")[0]
    heard = session.compilations[0] if session.compilations else None
    if heard is not None:
        error = heard.error or error or " ".join(heard.missed)
    return SelfTest(torch.__version__, tuple(_hooks_of(heard)), error)


def _hooks_of(heard: HeardCompilation | None) -> Iterator[Hook]:
    passes = [] if heard is None else heard.whole.passes
    stages = {one.stage for one in passes}
    decomposed = [node for one in passes if one.name == DECOMPOSED and one.graph for node in one.graph.nodes]
    nodes = [node for node in decomposed if node.op == "call_function"]
    yield Hook("compile_fx", "the captured program", heard is not None)
    yield Hook("GraphTransformObserver, pre-grad", "passes before AOTAutograd", PRE_GRAD in stages)
    yield Hook("GraphTransformObserver, post-grad", "passes after it", POST_GRAD in stages)
    yield Hook("AOTAutograd", "its decompositions", heard is not None and heard.is_decomposed)
    yield Hook("from_node", "from which captured operators a kernel comes", any(map(roots_of, nodes)))
    yield Hook("stack_trace", "source lines", any(map(source_of, nodes)))
    yield Hook("nn_module_stack", "modules", any(map(module_of, nodes)))
    scheduling = None if heard is None else heard.whole.scheduling
    yield Hook("_pre_fusion_custom_pass", "the calls behind lowering", scheduling is not None)
    known = scheduling or HeardScheduling((), (), {}, (), (), 0.0)
    kinds = {one.kind for each in known.rounds for one in each.decisions}
    yield Hook("log `fusion`, rounds", "rounds of fusion", bool(known.rounds))
    yield Hook("log `fusion`, reasons", "why pairs were refused", "refused" in kinds)
    yield Hook("log `fusion`, pairs", "which pairs were fused", "fused" in kinds)
    yield Hook("choices handler", "scores of candidates", "scored" in kinds)
    yield Hook("Scheduler.can_fuse", "refusals without a reason", "answered" in kinds)
    yield Hook("Scheduler.fuse_nodes", "the kernels that are left", bool(known.final))
    yield Hook("define_kernel", "functions and their code", bool(known.kernels))
    yield Hook("codegen_node", "which calls a function computes", any(one.nodes for one in known.kernels))
    yield Hook("generate", "the generated program", bool(known.code))
    names: list[str] = list(known.names)
    for one in known.rounds:
        names = list(round_of(one, names, defaultdict(int))[1].members())
    yield Hook("fused pairs", "the compiler's own kernels", scheduling is not None and {*names} == {*known.final})

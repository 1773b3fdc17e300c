"""A training step as a trace: what is saved for backward, both parts to the end, and what a loop compiles."""

from pathlib import Path

import pytest
import torch
from torch import nn

from explorer.adapters import watch, watching
from explorer.adapters.inductor.steering import KEPT_APART
from explorer.errors import ValueRangeError
from explorer.trace import Trace
from tests.adapters.models import built_here
from tests.app.commands.running import run

__all__ = ["built_here"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Inductor imports modules that use deprecated parts of PyTorch."""


class Network(nn.Module):
    """A module with gradients other than zero, and pairs that fuse in both parts."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(32, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.norm(self.up(x)))


def network() -> tuple[nn.Module, torch.Tensor]:
    """The module and an input (8, 32)."""
    torch.manual_seed(0)
    return Network(), torch.randn(8, 32)


@pytest.fixture(scope="module")
def trace(built_here: None) -> Trace:
    module, x = network()
    return watch(module, x, mode="train")


def test_both_parts_are_recorded_to_their_code(trace: Trace) -> None:
    changed = [str(step.at) for step in trace.steps if step.changed]
    parts = [[f"{part}/lower", f"{part}/fuse/round 1", f"{part}/codegen"] for part in ("forward", "backward")]
    wanted = ["capture", "joint graph/AOTAutograd", "partition", *parts[0], *parts[1]]
    assert [path for path in changed if path in wanted] == wanted
    assert trace.options["mode"] == "train"


def test_every_state_computes_outputs_and_gradients(trace: Trace) -> None:
    checks = trace.check()
    assert len(checks) == len(trace.steps)
    assert all(check.ok for check in checks)
    module, x = network()
    output = module(x)
    gradients = torch.autograd.grad(output.sum(), [*module.parameters()])
    given = trace.steps[-1].snapshot.results(trace.examples)
    assert torch.allclose(given[0], output, atol=1e-6)
    assert len(given) == 1 + len(gradients)
    for one in gradients:
        assert any(one.shape == other.shape and torch.allclose(one, other, atol=1e-5) for other in given[1:])


def test_the_partition_says_what_is_saved_and_what_is_computed_again(trace: Trace) -> None:
    step = trace.step("partition")
    assert step.notes[0].startswith("Saved for backward: ")
    saved = [one for one in step.applied if one.rule == "save for backward"]
    again = [one for one in step.applied if one.rule == "compute again"]
    assert saved
    assert again
    nodes = trace.graph_at(step).nodes
    assert {nodes[one.added[0]].about["training"] for one in again} == {"computed again in backward"}
    for one in again:
        assert trace.lineage(one.added[0]).symbolic == trace.lineage(one.removed[0]).symbolic


def test_parameters_stay_parameters(trace: Trace) -> None:
    names = [record.config["name"] for record in trace.graph_at(-1).nodes.values() if record.kind == "input"]
    assert names == ["x", "gradient of output 0"]
    last = trace.graph_at(-1).nodes.values()
    assert {name for record in last for name in record.parameters} >= {"up.weight", "norm.weight"}


def test_a_kernel_of_the_backward_part_comes_from_an_operator(trace: Trace) -> None:
    first = trace.graph_at("capture").nodes
    last = {node: str(record.about.get("name")) for node, record in trace.graph_at(-1).nodes.items()}
    backward = [node for node, name in last.items() if name.startswith("backward/")]
    titles = {first[one].title for node in backward for one in trace.lineage(node).symbolic}
    assert titles == {"linear", "layer_norm", "tanh"}


def test_no_gradients_are_left(trace: Trace) -> None:
    module, x = network()
    watch(module, x, mode="train")
    assert [one.grad for one in module.parameters()] == [None] * 4


def test_nodes_of_one_part_are_kept_apart(trace: Trace) -> None:
    step = next(one for one in trace.steps if one.pass_name == "fuse" and one.applied)
    nodes = trace.graph_at(step.index - 1).nodes
    one, other = (str(nodes[node].about["name"]) for node in step.matches[0].nodes)
    module, x = network()
    apart = watch(module, x, mode="train", apart=[(one, other)])
    told = [miss.refusal for step in apart.steps for miss in step.refusals if miss.refusal.found == KEPT_APART]
    assert told
    assert torch.allclose(
        apart.steps[-1].snapshot.results(apart.examples)[1], trace.steps[-1].snapshot.results(trace.examples)[1]
    )


def test_the_command_trains(tmp_path: Path) -> None:
    (tmp_path / "line.py").write_text(
        "import torch\n\n\ndef line():\n    return torch.nn.Linear(2, 1), (torch.ones(3, 2),)\n"
    )
    out = tmp_path / "line.trace.json"
    run("watch", f"{tmp_path / 'line.py'}:line", "--mode", "train", "--no-dashboard", "-o", out)
    assert str(Trace.load(out).steps[-1].at) == "backward/codegen"


def test_a_training_loop_is_recorded_with_its_optimizer() -> None:
    module = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    with watching() as traces:
        compiled, step = torch.compile(module), torch.compile(lambda: optimizer.step())
        for _ in range(2):
            compiled(torch.ones(3, 8)).sum().backward()
            step()
            optimizer.zero_grad()
    torch._dynamo.reset()
    assert [one.options["mode"] for one in traces] == ["train", "infer", "infer"]
    assert str(traces[0].steps[-1].at) == "backward/codegen"
    assert all(str(one.steps[-1].at) == "codegen" for one in traces[1:])


def test_a_backward_part_that_nobody_asks_for_is_said() -> None:
    module, x = network()
    with watching() as traces:
        result = torch.compile(module)(x)
    torch._dynamo.reset()
    assert result.requires_grad
    assert traces[0].steps[-1].notes == ("The backward part was not compiled: nothing has asked for it.",)
    with watching() as later:
        result.sum().backward()
    assert later == []


def test_training_needs_something_to_train() -> None:
    with pytest.raises(ValueRangeError, match="requires_grad"):
        watch(lambda x: x + 1, torch.ones(2), mode="train")

"""Programs with a backward pass for tests: run with poisoned memory, compared with autograd over the same operators."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from explorer.program import lower_joint
from explorer.program.ir.parsing import parse_program
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify
from explorer.program.passes import MEMORY_PIPELINE
from explorer.program.running.executor import Executor, copy_values
from explorer.tensor import FunctionGraph, to_module
from explorer.tensor.torch_io.exporting import operators_of
from explorer.tensor.torch_io.joint import JointGraph, joint_graph
from tests.program.programs import after, poison, snapshot_of
from tests.tensor.rule_checks import same_bits


def joint_of(graph: FunctionGraph) -> JointGraph:
    """The joint graph with gradients of all parameters, and of all inputs that can have one."""
    kinds = [variable.tensor_type.dtype for variable in graph.inputs]
    return joint_graph(graph, [kind.is_floating_point or kind.is_complex for kind in kinds])


def assert_trains(joint: JointGraph, *inputs: Tensor, names: Sequence[str] = MEMORY_PIPELINE.pass_ids) -> Program:
    """After lowering and each pass a program has the bits of the operators: outputs, and gradients a second time too.

    Memory is poisoned where it is not alive. `names` are the passes. Returns the program after all of them.
    """
    tensors = [value.detach().clone() for value in (*inputs, *(constant.data for constant in joint.constants))]
    for position in joint.learned:
        tensors[position].requires_grad_()
    torch.manual_seed(0)
    outputs = operators_of(joint.forward)(*tensors)
    generator = torch.Generator().manual_seed(1)
    tangents = [_normal(outputs[position], generator) for position in joint.differentiable]
    gradients = torch.autograd.grad(
        [outputs[i] for i in joint.differentiable], [tensors[i] for i in joint.gradients], tangents
    )
    states = _states(joint, names)
    for program in states:
        verify(program)
        assert parse_program(program.text()).text() == program.text()
        executor = Executor(program, poison)
        numbers = joint.numbers()
        torch.manual_seed(0)
        found, memory = executor.begin(*[tensors[numbers.index(weight.id)] for weight in executor.given])
        assert all(map(same_bits, found, outputs))
        for value in found:
            poison(value)
        kept = [tensors[numbers.index(weight.id)] for weight in executor.kept]
        for values in (copy_values(memory), memory):
            assert all(map(same_bits, executor.finish(values, kept, tangents), gradients))
    return states[-1]


def _states(joint: JointGraph, names: Sequence[str]) -> list[Program]:
    """The program as it was lowered, and after each of some passes."""
    states = [lower_joint(joint)]
    for name in names:
        states.append(after(states[-1], name))
    return states


def _normal(like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.empty_like(like).copy_(torch.randn(like.shape, generator=generator, dtype=torch.float64))


class Net(nn.Module):
    """Two outputs, one needed by backward, and a parameter graph."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 3)
        self.scale = nn.Parameter(torch.randn(3))

    def forward(self, x):
        hidden = torch.sigmoid(self.first(x)).exp()
        weights = torch.softmax(self.scale, 0)
        return torch.log_softmax(self.second(hidden), -1) * weights, (hidden * x.sum()).exp()


X = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))


def modules_of(trace):
    """The module that runs the program of a trace, and one that runs its operators, with equal tensors of their own."""
    module = trace.circuit_at(-1)
    operators = to_module(snapshot_of(trace).source.forward)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    for one in (module, operators):
        for name in dict(one.named_parameters()):
            owner, _, last = name.rpartition(".")
            one.get_submodule(owner).register_parameter(last, nn.Parameter(state[name].clone()))
        for name, buffer in dict(one.named_buffers()).items():
            owner, _, last = name.rpartition(".")
            one.get_submodule(owner).register_buffer(last, buffer.clone())
    return module, operators


def loss_of(outputs):
    """A number that depends on all outputs differently."""
    return torch.stack(
        [(value * torch.arange(1, 1 + value.numel()).reshape(value.shape)).sum() for value in outputs]
    ).sum()


def gradients_of(module):
    return {name: parameter.grad for name, parameter in module.named_parameters()}


def assert_same_gradients(module, operators):
    wanted = gradients_of(operators)
    for name, found in gradients_of(module).items():
        assert (found is None) == (wanted[name] is None), name
        assert found is None or same_bits(found, wanted[name]), name

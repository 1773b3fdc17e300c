"""Training at the tensor level has the gradients of the module, with any in-place writes."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import ExportError
from tests.tensor.training_programs import Program, Together, differences, is_possible, total

x = torch.linspace(-1.0, 1.0, 12).reshape(3, 4)
GROUP = 24


def wrong_programs(programs):
    """Differences after recording, per program that PyTorch can decompose."""
    try:
        compiled = explorer.record(Together(programs), (x,), mode="train").compiled
    except ExportError:
        if len(programs) == 1:
            return {}
        half = len(programs) // 2
        return wrong_programs(programs[:half]) | wrong_programs(programs[half:])
    weights = dict(compiled.named_parameters())
    compared = zip(programs, compiled(x), [weights[f"programs.{i}.weight"] for i in range(len(programs))], strict=True)
    found = {str(program): differences(program, weight, results, x) for program, results, weight in compared}
    return {program: difference for program, difference in found.items() if difference}


@pytest.mark.filterwarnings("ignore:Use of index_.* on expanded tensors is deprecated")
@pytest.mark.parametrize(
    "first", [0, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(GROUP, 1200, GROUP))]
)
def test_random_programs_have_the_results_and_gradients_of_the_module(first):
    programs = [program for program in map(Program, range(first, first + GROUP)) if is_possible(program, x)]
    assert len(programs) > GROUP // 2
    assert wrong_programs(programs) == {}


class Written(nn.Module):
    """Parts of zeros are computed, each in one of some ways; the gradient passes through the written numbers."""

    def __init__(self, writes):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(4, 4) for _ in writes)
        self.writes = writes

    def forward(self, x):
        results = []
        for write, linear in zip(self.writes, self.linears, strict=True):
            y = torch.zeros(4, 4) * x.sum()
            write(y, linear(x))
            results += [y, y.t()]
        return results


WRITES = {
    "a column": lambda y, value: y[:, 1].copy_(value),
    "a slice of another dtype": lambda y, value: y[1:].copy_(value.double()),
    "every second row": lambda y, value: y.__setitem__(slice(None, None, 2), value),
    "a transposed part": lambda y, value: y.t()[1:3].mul_(value),
    "memory by strides": lambda y, value: y.as_strided((2, 4), (8, 1)).copy_(value.expand(2, 4)),
    "the diagonal": lambda y, value: y.diagonal().add_(value),
    "all of it": lambda y, value: y.copy_(value),
}


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_values_written_into_a_slice_are_trained(mode):
    """One module for all ways to write, because its export takes longest."""
    module, x = Written(list(WRITES.values())), torch.tensor([1.0, -2.0, 3.0, 0.5])
    wanted_by, found_by = (value.clone().requires_grad_() for value in (x, x))
    compiled = explorer.record(module, (x,), mode=mode).compiled
    wanted, found = module(wanted_by), compiled(found_by)
    for i, write in enumerate(WRITES):
        found_of, wanted_of = found[2 * i : 2 * i + 2], wanted[2 * i : 2 * i + 2]
        torch.testing.assert_close(found_of, wanted_of, msg=write)
        if mode == "train" or any(result.requires_grad for result in found_of):
            gradients = [
                torch.autograd.grad(total(results), by, retain_graph=True)
                for results, by in ((found_of, found_by), (wanted_of, wanted_by))
            ]
            torch.testing.assert_close(*gradients, msg=write)
    if mode == "train":
        total(wanted).backward()
        total(found).backward()
        for name, parameter in module.named_parameters():
            torch.testing.assert_close(compiled.get_parameter(name).grad, parameter.grad)


def test_a_write_that_pytorch_cannot_make_functional_is_a_typed_error():
    class Overlapping(nn.Module):
        def forward(self, x):
            return (x * 1.0).unfold(0, 2, 1).add_(1.0)

    with pytest.raises(ExportError, match="PyTorch cannot decompose the program: While executing unfold"):
        explorer.record(Overlapping(), (x,), ())

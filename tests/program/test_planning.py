"""Memory plans: nothing that is alive together shares a byte, and no plan is much larger than it must be."""

import random

import pytest
import torch

from explorer.program.ir.instructions import Alloc, Copy, Dealloc, Instruction, Role, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType
from explorer.program.memory import planning
from explorer.program.memory.planning import lifetimes, peak_bytes, plan_memory


def random_program(seed: int) -> Program:
    """Buffers of random sizes that live for a random time."""
    draw = random.Random(seed)
    source = Weight(0, "x", Role.INPUT, BufferType.contiguous(torch.uint8, (1,)))
    instructions: list[Instruction] = []
    alive: list[int] = []
    number = 1
    for _ in range(draw.randrange(1, 60)):
        while alive and draw.random() < 0.4:
            instructions.append(Dealloc(number, alive.pop(draw.randrange(len(alive)))))
            number += 1
        size = 64 * draw.choice((1, 1, 2, 3, 8, 40))
        instructions += [Alloc(number, BufferType.contiguous(torch.uint8, (size,))), Copy(number + 1, 0, number)]
        alive.append(number)
        number += 2
    instructions += [Dealloc(number + i, buffer) for i, buffer in enumerate(alive)]
    return Program((source,), tuple(instructions))


@pytest.mark.parametrize("seed", range(30))
def test_a_plan_of_random_lifetimes_is_valid_and_nearly_as_small_as_possible(seed):
    program = random_program(seed)
    plan = plan_memory(program)
    found = lifetimes(program)
    for i, one in enumerate(found):
        for other in found[:i]:
            if one.overlaps(other):
                start, end = plan.offsets[one.buffer], plan.offsets[one.buffer] + one.size_bytes
                low, high = plan.offsets[other.buffer], plan.offsets[other.buffer] + other.size_bytes
                assert end <= low or high <= start
    assert plan.lower_bound_bytes == peak_bytes(program) <= plan.size_bytes
    assert plan.size_bytes <= 1.3 * plan.lower_bound_bytes


def test_buffers_that_are_never_alive_together_lie_in_the_same_place():
    kind = BufferType.contiguous(torch.float32, (16,))
    source = Weight(0, "x", Role.INPUT, kind)
    lines = [Alloc(1, kind), Copy(2, 0, 1), Dealloc(3, 1), Alloc(4, kind), Copy(5, 0, 4), Dealloc(6, 4)]
    plan = plan_memory(Program((source,), tuple(lines)))
    assert plan.offsets == {1: 0, 4: 0}
    assert plan.size_bytes == 64


def test_a_plan_for_too_many_buffers_is_that_of_an_allocator_and_says_so(monkeypatch):
    program = random_program(166)
    assert plan_memory(program).is_searched
    monkeypatch.setattr(planning, "MAX_LIVE_PAIRS", 10)
    found = plan_memory(program)
    assert not found.is_searched
    assert found.size_bytes > found.lower_bound_bytes


def test_an_optimal_first_plan_needs_no_search(monkeypatch):
    monkeypatch.setattr(planning, "MAX_LIVE_PAIRS", 0)
    kind = BufferType.contiguous(torch.float32, (16,))
    lines = [Alloc(1, kind), Copy(2, 0, 1), Alloc(4, kind), Copy(5, 0, 4), Dealloc(3, 1), Dealloc(6, 4)]
    assert plan_memory(Program((Weight(0, "x", Role.INPUT, kind),), tuple(lines))).is_searched

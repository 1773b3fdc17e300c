"""The answers of the quiz about buffers agree with the engine: lives, results written over inputs, plans."""

import re
from itertools import combinations, product

import torch
from torch import Tensor, nn

import explorer
from explorer.program import Program, parse_program, plan_memory
from explorer.program.ir.instructions import Alloc, Copy, Dealloc, Instruction, Role, Weight
from explorer.program.ir.types import BufferType
from explorer.program.memory.sharing import memory_record
from explorer.trace import MemoryRecord
from tests.notebooks.quiz import QUESTIONS, judges, says
from tests.program.programs import after, snapshot_of

KIB = 1024


def text_of(number: int) -> str:
    """Return the block of text of a question."""
    (found,) = re.findall(r"^```\n(.*?)^```", QUESTIONS[number], flags=re.DOTALL | re.MULTILINE)
    return found


def program() -> Program:
    return parse_program(text_of(21))


def memory(*passes: str) -> MemoryRecord:
    return memory_record(after(program(), *passes))


def test_21_lives_and_the_bytes_that_are_alive_at_each_instruction() -> None:
    found = memory("HoistDealloc", "SinkAllocas")
    lives = [f"`%{one.id}` from #{found.order[one.start]} to #{found.order[one.end - 1]}" for one in found.buffers]
    live = [f"{size // KIB}" for size in found.live_bytes]
    says(21, *lives, f"{', '.join(live[:-1])} and {live[-1]} KiB are alive, so the peak is 3 KiB, at #8 and #9")
    assert [found.order[at] for at, size in enumerate(found.live_bytes) if size == 3 * KIB] == [8, 9]
    assert memory().live_bytes[-1] == 4 * KIB


def test_22_what_may_be_written_over_what_and_what_forbids_it() -> None:
    shared = after(program(), "ShareBuffers")
    assert len(shared.allocs) == 2
    assert {shared.origin(4), shared.origin(5)} == {3, 2}
    assert (shared.origin(4), shared.origin(5)) == (3, 2)
    says(
        22,
        "`#8` over `%3`, `#9` over `%2`; two buffers are left",
        "for instance `#9` with `other=%3`, or `#10` with `mat2=%3`",
    )
    for before, now in (("other=%2", "other=%3"), ("mat2=%4", "mat2=%3")):
        other = after(parse_program(text_of(21).replace(before, now)), "ShareBuffers")
        assert other.origin(4) == 4


def bars() -> dict[str, tuple[int, int, int]]:
    """Return the bytes, the first and the last instruction of each bar of the picture."""
    head, *rows = text_of(23).splitlines()
    at = {head.index(str(moment)): moment for moment in range(1, 9)}
    found = {}
    for row in rows:
        name, size = row[0], int(row.split()[1])
        inside = [moment for place, moment in at.items() if row[place : place + 1] == "#"]
        found[name] = (size * KIB, inside[0], inside[-1])
    return found


def is_plan(places: dict[str, int]) -> bool:
    """Whether no two bars that overlap in time overlap in bytes."""
    pairs = [pair for pair in combinations(places, 2) if not is_apart(*pair)]
    return all(
        places[one] + bars()[one][0] <= places[other] or places[other] + bars()[other][0] <= places[one]
        for one, other in pairs
    )


def is_apart(one: str, other: str) -> bool:
    (_, start, end), (_, other_start, other_end) = bars()[one], bars()[other]
    return end < other_start or other_end < start


def smallest(**fixed: int) -> int:
    """Return the size of the smallest plan with some places given, in steps of 2 KiB."""
    free = [name for name in bars() if name not in fixed]
    plans = [
        {**fixed, **dict(zip(free, at, strict=True))} for at in product(range(0, 8 * KIB, 2 * KIB), repeat=len(free))
    ]
    return min(max(at + bars()[name][0] for name, at in plan.items()) for plan in plans if is_plan(plan))


def test_23_pairs_the_given_plan_and_the_smallest() -> None:
    apart = [f"`{one}` and `{other}`" for one, other in combinations(bars(), 2) if is_apart(one, other)]
    says(23, f"{', '.join(apart)}: they are never alive together")
    assert smallest(A=0, B=4096, C=2048) == 8 * KIB
    assert smallest() == smallest(A=0, B=4096, C=0, D=2048) == 6 * KIB
    live = {at: sum(size for size, start, end in bars().values() if start <= at <= end) for at in range(1, 9)}
    assert max(live.values()) == 6 * KIB
    says(
        23, "the block has 8 KiB", "`D` fits from 2,048 on: 6 KiB", "At 2 and 3 `A` and `B` are alive, which are 6 KiB"
    )
    assert [at for at, size in live.items() if size == 6 * KIB][:2] == [2, 3]


class Centred(nn.Module):
    """Each row of a product minus its mean, in another product."""

    def forward(self, x: Tensor) -> Tensor:
        a = x @ x
        return (a - a.mean(1, keepdim=True)) @ x


TWO_TYPES = """program p
%0 = input x : f32[8]
%1 = output y : i64[8]
%2 = alloc f32[8]
%3 = alloc i64[8]
%4 = alloc i64[8]
#5 aten.exp.default(self=%0) -> %2
#6 aten._to_copy.default(self=%2, dtype=torch.int64) -> %3
#7 aten.bitwise_not.default(self=%3) -> %4
#8 aten.bitwise_not.default(self=%4) -> %1
#9 dealloc %2
#10 dealloc %3
#11 dealloc %4"""

WITH_A_GAP = ((2, 1, 2), (2, 1, 3), (1, 3, 6), (1, 3, 5), (1, 5, 6), (2, 6, 7), (2, 7, 7))
"""The size, the first and the last moment of buffers that do not fit into their largest live set."""


def program_with_a_gap() -> Program:
    """The buffers above, in units of 64 bytes, each allocated at its first moment and freed after its last one."""
    lines: list[Instruction] = []
    number = len(WITH_A_GAP) + 1
    for moment in range(1, 8):
        for at, (size, start, _) in enumerate(WITH_A_GAP, start=1):
            if start == moment:
                lines += [Alloc(at, BufferType.contiguous(torch.uint8, (64 * size,))), Copy(number, 0, at)]
                number += 1
        for at, (_, _, end) in enumerate(WITH_A_GAP, start=1):
            if end == moment:
                lines.append(Dealloc(number, at))
                number += 1
    source = Weight(0, "x", Role.INPUT, BufferType.contiguous(torch.uint8, (1,)))
    return Program((source,), tuple(lines))


def fits(height: int, offsets: tuple[int, ...] = ()) -> bool:
    """Whether the buffers above have offsets, the first ones these, in a block of so many units."""
    if len(offsets) == len(WITH_A_GAP):
        return True
    size, start, end = WITH_A_GAP[len(offsets)]
    return any(
        all(
            at + size <= below or below + other <= at or end < first or last < start
            for below, (other, first, last) in zip(offsets, WITH_A_GAP, strict=False)
        )
        and fits(height, (*offsets, at))
        for at in range(height - size + 1)
    )


def test_24_what_passes_and_plans_may_do() -> None:
    freed, planned = memory("HoistDealloc", "SinkAllocas"), memory("HoistDealloc", "SinkAllocas", "PlanMemory")
    two_types = parse_program(TWO_TYPES)
    offsets = plan_memory(after(two_types, "HoistDealloc", "SinkAllocas")).offsets
    overlaps = offsets[2] < offsets[4] + 64 and offsets[4] < offsets[2] + 32
    is_over_floats = after(two_types, "ShareBuffers").origin(3) == 2
    plan = plan_memory(program_with_a_gap())
    units = plan.lower_bound_bytes // 64
    assert fits(plan.size_bytes // 64)
    assert fits(units) == (plan.size_bytes == plan.lower_bound_bytes)
    trace = explorer.record(Centred(), (torch.rand(16, 16),), ["ShareBuffers"], level="program", name="centred")
    shared = snapshot_of(trace).program
    (sub,) = re.finditer(r"aten\.sub\.Tensor\(self=%(\d+), other=%\d+\) -> %(\d+)", shared.text())
    judges(
        24,
        planned.size_bytes < freed.size_bytes,
        overlaps and not is_over_floats,
        fits(units),
        any(check.other_bits for check in trace.check()),
        trace.stats(-1)["copies"] == 0 < trace.stats(0)["copies"],
        shared.origin(int(sub[2])) == int(sub[1]),
    )

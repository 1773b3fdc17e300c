"""The answers of the quiz about buffers agree with the engine: lives, results written over inputs, plans."""

import re
from itertools import combinations, product

import pytest

from explorer.program import Program, parse_program, plan_memory
from explorer.program.memory.sharing import memory_record
from explorer.trace import MemoryRecord
from tests.notebooks.quiz import ANSWERS, QUESTIONS, says
from tests.program.programs import after

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
    says(22, "`#8` over `%3`, `#9` over `%2`; two buffers are left", "for instance `#9` with `other=%3`")
    other = after(parse_program(text_of(21).replace("other=%2", "other=%3")), "ShareBuffers")
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


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_24_each_sentence_has_its_verdict(number: int) -> None:
    right = ("False", "True", "False", "True", "False", "False")[number - 1]
    assert f"\n{number}. {right}: " in ANSWERS[24]
    assert re.search(rf"^{number}\. ", QUESTIONS[24], re.MULTILINE)


def test_24_a_product_is_not_written_over_its_input_and_other_types_share_bytes() -> None:
    text = """program p
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
    planned = after(parse_program(text), "HoistDealloc", "SinkAllocas")
    offsets = plan_memory(planned).offsets
    assert offsets[2] < offsets[4] + 64
    assert offsets[4] < offsets[2] + 32

"""Verification of what has changed since a valid program finds what verification of the whole program finds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from random import Random

import pytest
from inline_snapshot import snapshot

from explorer.errors import CircuitError
from explorer.program.editing import WorkingProgram
from explorer.program.ir import verify as verifying
from explorer.program.ir.instructions import Access, Alloc, Call, Dealloc, Role, Stack, View, calls_of, with_values
from explorer.program.ir.program import Program
from explorer.program.ir.verify import MemoryUse, verify
from explorer.program.memory.planning import plan_memory
from explorer.program.passes import MEMORY_PIPELINE, passes
from explorer.rewrite import FunctionPassPipeline, PassManager
from tests.fuzzing import seeded
from tests.program.programs import program_of

PROGRAM = """
program all kinds of instructions
%0 = input x : f32[2,2]
%1 = weight w : f32[2,2]
%2 = output y : f32[2,2]
%3 = alloc f32[2,2]
#4 aten.exp.default(self=%0) -> %3
#5 aten.neg.default(self=%3) -> %3
%6 = alloc f32[4,2]
%7 = view %6 : f32[2,2] + 0 bytes
%8 = view %6 : f32[2,2] + 16 bytes
#9 copy %3 -> %7
%10 = alloc f32[2,2]
#11 aten.mul.Tensor(self=%1, other=%0) -> %10
#12 aten.add.Tensor(self=%10, other=%0) -> %10
#13 copy %10 -> %8
%14 = view %6 : f32[2,4] + 0 bytes
%15 = alloc f32[2,2]
#16 aten.mm.default(self=%14, mat2=%6) -> %15
%17 = alloc f32[2,2]
#18 stack { #19 aten.exp.default(self=%15) -> %17 ; #20 aten.mul.Tensor(self=%17, other=%15) -> %17 }
#21 aten.relu_.default(self=%17) -> %17 (itself)
#22 copy %17 -> %2
#23 dealloc %3
#24 dealloc %6
#25 dealloc %10
#26 dealloc %15
#27 dealloc %17
"""

TRAINING = """
program with a backward pass
%0 = input x : f32[2,2]
%1 = weight w : f32[2,2], trainable
%2 = output y : f32[2,2]
%3 = tangent dy : f32[2,2]
%4 = gradient dw : f32[2,2]
#5 begin parameters
%6 = alloc f32[2,2]
#7 aten.exp.default(self=%1) -> %6
#8 begin forward
%9 = alloc f32[2,2]
#10 aten.mm.default(self=%0, mat2=%6) -> %9
#11 copy %9 -> %2
#12 begin backward
%13 = view %0 : f32[2,2]{1,2} + 0 bytes, t
%14 = alloc f32[2,2]
#15 aten.mm.default(self=%13, mat2=%3) -> %14
%16 = alloc f32[2,2]
#17 aten.mul.Tensor(self=%14, other=%6) -> %16
#18 copy %16 -> %4
#19 dealloc %6
#20 dealloc %9
#21 dealloc %14
#22 dealloc %16
"""

Change = Callable[[Random, Program], Program]


def move(random, program):
    instructions = list(program.instructions)
    one = instructions.pop(random.randrange(len(instructions)))
    instructions.insert(random.randrange(len(instructions) + 1), one)
    return replace(program, instructions=tuple(instructions))


def swap(random, program):
    instructions = list(program.instructions)
    place = random.randrange(len(instructions) - 1)
    instructions[place : place + 2] = reversed(instructions[place : place + 2])
    return replace(program, instructions=tuple(instructions))


def remove(random, program):
    instructions = list(program.instructions)
    del instructions[random.randrange(len(instructions))]
    return replace(program, instructions=tuple(instructions))


def repeat(random, program):
    one = random.choice(program.instructions)
    number = random.choice([one.id, program.next_id])
    instructions = list(program.instructions)
    instructions.insert(random.randrange(len(instructions) + 1), replace(one, id=number))
    return replace(program, instructions=tuple(instructions))


def rename(random, program):
    values = [*program.definitions, program.next_id]
    names = {random.choice(values): random.choice(values)}
    chance = random.choice([0.2, 1])
    instructions = (with_values(one, names) if random.random() < chance else one for one in program.instructions)
    return replace(program, instructions=tuple(instructions))


def retype(random, program):
    one = random.choice([one for one in program.instructions if isinstance(one, Alloc | View)])
    kind = random.choice([definition.type for definition in program.definitions.values()])
    return _replaced(program, replace(one, type=kind))


def shift(random, program):
    views = [one for one in program.instructions if isinstance(one, View)]
    if not views:
        return program
    return _replaced(program, replace(random.choice(views), offset_bytes=random.choice([-16, 0, 4, 16, 32])))


def view(random, program):
    """An allocation becomes a view of another value, as when buffers are shared."""
    one = random.choice([one for one in program.instructions if isinstance(one, Alloc)])
    found = _replaced(program, View(one.id, random.choice(list(program.definitions)), one.type))
    return replace(found, instructions=tuple(i for i in found.instructions if i != program.deallocs.get(one.id)))


def free_another(random, program):
    one = random.choice([one for one in program.instructions if isinstance(one, Dealloc)])
    return _replaced(program, replace(one, buffer=random.choice(list(program.definitions))))


def change_role(random, program):
    one = random.choice(program.weights)
    new = replace(one, role=random.choice(list(Role)))
    return replace(program, weights=tuple(new if weight is one else weight for weight in program.weights))


def stack(random, program):
    start = random.randrange(len(program.instructions))
    taken = program.instructions[start : start + random.choice([1, 2, 3])]
    calls = tuple(one for one in taken if isinstance(one, Call))
    rest = (one for one in taken if not isinstance(one, Call))
    whole = (
        *program.instructions[:start],
        *rest,
        Stack(program.next_id, calls),
        *program.instructions[start + len(taken) :],
    )
    return replace(program, instructions=whole)


def unstack(random, program):
    parts = (one.calls if isinstance(one, Stack) else (one,) for one in program.instructions)
    return replace(program, instructions=tuple(call for part in parts for call in part))


def plan(random, program):
    return replace(program, offsets=plan_memory(program).offsets)


def misplace(random, program):
    if not program.offsets:
        return program
    chosen = random.choice(list(program.offsets))
    return replace(program, offsets={**program.offsets, chosen: random.choice([0, 32, 64, 128])})


CHANGES: tuple[Change, ...] = (
    *(move, swap, remove, repeat, rename, retype, shift, view, free_another),
    *(change_role, stack, unstack, plan, misplace),
)


def _replaced(program, new):
    return replace(program, instructions=tuple(new if one.id == new.id else one for one in program.instructions))


def error_of(program, known=None):
    try:
        verify(program, known)
    except CircuitError as error:
        return str(error)
    return None


@seeded(50)
def test_random_changes_are_judged_as_by_verifying_the_whole_program(seed):
    random = Random(seed)
    known = program_of((PROGRAM, TRAINING)[seed % 2])
    verdicts = set[bool]()
    for _ in range(60):
        changed = known
        for _ in range(random.choice([1, 1, 2])):
            changed = random.choice(CHANGES)(random, changed)
        changed = replace(changed)  # without what the changes have computed and cached
        wanted = error_of(changed)
        assert error_of(changed, known) == wanted
        verdicts.add(wanted is None)
        if wanted is None and len(changed) > 12:
            known = changed
    assert verdicts == {True, False}


@seeded(50)
def test_a_memory_that_is_accepted_at_a_glance_is_accepted_step_by_step(seed, monkeypatch):
    random = Random(seed)
    known = program_of((PROGRAM, TRAINING)[seed % 2])
    accepted = 0
    for _ in range(60):
        program = replace(random.choice(CHANGES)(random, known))
        quick = [origin for origin in program.histories if verifying._is_plain(program, origin)]
        accepted += len(quick)
        with monkeypatch.context() as patch:
            patch.setattr(verifying, "_is_plain", lambda program, origin: False)
            assert all(MemoryUse(program, origin).first_error() is None for origin in quick)
    assert accepted > 60


@seeded(50)
def test_positions_of_uses_are_those_in_the_histories(seed):
    random = Random(seed)
    program = program_of((PROGRAM, TRAINING)[seed % 2])
    for _ in range(60):
        changed = random.choice(CHANGES)(random, program)
        program = program if error_of(changed) is not None else changed
        places = {call.id: i for i, one in enumerate(program.instructions) for call in calls_of(one)}
        for origin, events in program.histories.items():
            of = {access: [places.get(one.id, -1) for kind, _, one in events if kind is access] for access in Access}
            used = sorted({*of[Access.READ], *of[Access.WRITE]})
            assert list(program.uses[origin]) == used
            assert list(program.touches[origin]) == sorted({*used, *of[Access.VIEW]})
            assert program.last_writes.get(origin) == max(of[Access.WRITE], default=None)


@seeded(50)
def test_what_a_planned_program_keeps_is_what_a_new_one_computes(seed):
    random = Random(seed)
    program = program_of((PROGRAM, TRAINING)[seed % 2])
    for _ in range(5):
        changed = random.choice(CHANGES)(random, program)
        program = program if error_of(changed) is not None else changed
    names = [name for name, value in vars(Program).items() if isinstance(value, cached_property)]
    computed = {name: getattr(program, name) for name in names}
    planned = program.with_offsets(plan_memory(program).offsets)
    assert {name: vars(planned)[name] for name in names} == computed
    assert {name: getattr(replace(planned), name) for name in names} == computed


@pytest.mark.parametrize("text", [PROGRAM, TRAINING], ids=["inference", "training"])
@pytest.mark.parametrize("change", CHANGES)
def test_each_kind_of_change_is_judged_as_by_verifying_the_whole_program(change, text):
    known = program_of(text)
    for seed in range(10):
        changed = replace(change(Random(seed), known))
        assert error_of(changed, known) == error_of(changed)


def test_passes_verify_only_memory_whose_accesses_have_changed(monkeypatch):
    checked: list[int] = []
    first_error = MemoryUse.first_error

    def counting(memory):
        checked.append(memory._origin)
        return first_error(memory)

    working = WorkingProgram(program_of(PROGRAM))
    working.verify()
    monkeypatch.setattr(MemoryUse, "first_error", counting)
    found: dict[str, list[int]] = {}
    for name in MEMORY_PIPELINE.pass_ids:
        PassManager(FunctionPassPipeline.of(name), passes).run(working)
        if checked:
            found[name] = checked.copy()
            checked.clear()
    assert found == snapshot({"MakeWeightsConst": [1], "ShareBuffers": [2], "Peephole": [2, 15]})

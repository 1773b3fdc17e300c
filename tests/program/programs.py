"""Programs for tests: read from text, run with poisoned memory, compared with the graph they were lowered from."""

from typing import Any

from torch import Tensor

from explorer.program.editing import WorkingProgram
from explorer.program.ir.instructions import Call, Role
from explorer.program.ir.parsing import parse_program
from explorer.program.ir.program import Program
from explorer.program.ir.verify import verify
from explorer.program.passes import passes
from explorer.program.recording.program_snapshot import ProgramSnapshot
from explorer.program.running.executor import Executor, poison
from explorer.rewrite import FunctionPassPipeline, PassManager
from explorer.tensor import FunctionGraph, to_module
from explorer.trace import Trace
from tests.tensor.rule_checks import same_bits


def program_of(text: str) -> Program:
    """A program from its text, which is checked."""
    program = parse_program(text)
    verify(program)
    return program


def snapshot_of(trace: Trace, step: int = -1) -> ProgramSnapshot:
    """The program after a step of a trace, and the graph that it was lowered from."""
    snapshot = trace.steps[step].snapshot
    assert isinstance(snapshot, ProgramSnapshot)
    return snapshot


def graph_of(snapshot: ProgramSnapshot) -> FunctionGraph:
    """The graph that a program was lowered from, which is not one of a training program."""
    assert isinstance(snapshot.source, FunctionGraph)
    return snapshot.source


def after(program: Program, *names: str) -> Program:
    """The program after some passes; each result is checked."""
    working = WorkingProgram(program)
    PassManager(FunctionPassPipeline.of(*names), passes).run(working)
    return working.program


def arguments_of(program: Program, graph: FunctionGraph, *inputs: Tensor) -> list[Tensor]:
    """The tensors that a program accepts: inputs of its graph, and constants."""
    values: dict[int, Any] = {number: variable for variable, number in graph.ids.items()}
    waiting = iter(inputs)
    given = [weight for weight in program.weights if weight.role is not Role.OUTPUT]
    return [next(waiting) if weight.role is Role.INPUT else values[weight.id].data for weight in given]


def assert_computes(program: Program, graph: FunctionGraph, *inputs: Tensor) -> None:
    """A program returns the bits of its graph, while memory is poisoned where it is not alive."""
    verify(program)
    wanted = to_module(graph)(*inputs)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = Executor(program, poison)(*arguments_of(program, graph, *inputs))
    for value, expected in zip(found, wanted, strict=True):
        assert same_bits(value, expected)


def kinds(program: Program) -> list[str]:
    """The instructions in order, by kind; calls by the name of their operator."""
    return [one.op.name if isinstance(one, Call) else type(one).__name__.lower() for one in program.instructions]

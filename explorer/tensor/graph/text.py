"""A tensor graph as text: one line per application."""

from typing import TYPE_CHECKING

from explorer.tensor.ir.variables import Constant, Variable, constant_text, settings_text

if TYPE_CHECKING:
    from explorer.tensor.graph.function_graph import FunctionGraph


def lines(graph: "FunctionGraph", ids: bool = False) -> str:
    """Inputs, constants, applications and outputs, a line each, numbered in the order of the evaluation.

    With `ids` applications have the numbers by which traces and errors name them.
    """
    numbers: dict[Variable, str] = {}
    found: list[str] = []

    taken: set[str] = set()

    def define(variable: Variable, name: str, text: str) -> None:
        unique = f"%{name}#{len(numbers)}" if name.isdecimal() or f"%{name}" in taken else f"%{name}"
        numbers[variable] = unique
        taken.add(unique)
        found.append(f"{numbers[variable]} = {text} : {variable.type}")

    for variable in graph.inputs:
        define(variable, variable.name or f"i{len(numbers)}", "input")
    nodes = graph.toposort()
    for variable in [v for node in nodes for v in node.inputs] + list(graph.outputs):
        if isinstance(variable, Constant) and variable not in numbers:
            define(variable, variable.name or f"c{len(numbers)}", constant_text(variable))
    for position, node in enumerate(nodes):
        i = node.id if ids else position
        names = [f"%{i}" if len(node.outputs) == 1 else f"%{i}:{k}" for k in range(len(node.outputs))]
        numbers.update(zip(node.outputs, names, strict=True))
        inside = ", ".join([*(numbers[v] for v in node.inputs), *settings_text(node.op.settings)])
        types = ", ".join(str(v.type) for v in node.outputs)
        found.append(f"%{i} = {str(node.op.target).removeprefix('aten.')}({inside}) : {types}")
    found.append("outputs: " + ", ".join(numbers[v] for v in graph.outputs))
    return "\n".join(found)

"""Tensor graphs as text: an expression for small ones, one line an application for all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from explorer.tensor.ir.sorting import toposorted
from explorer.tensor.ir.variables import Constant, Variable

if TYPE_CHECKING:
    from explorer.tensor.graph.function_graph import FunctionGraph

LONGEST = 200
"""Expressions of more applications are counted, not written."""


def expression(outputs: Sequence[Variable]) -> str:
    """Outputs as nested expressions; what is read twice is numbered where it stands first.

    >>> expression([div(mul(add(y, z), x), add(y, z))])  # doctest: +SKIP
    '[div(mul(add(y, z), x), add(y, z))]'
    """
    nodes = toposorted(outputs)
    if len(nodes) > LONGEST:
        return f"[a graph of {len(nodes):,} applications; text() has a line for each]"
    reads: dict[Variable, int] = {}
    for variable in [*outputs, *(v for node in nodes for v in node.inputs)]:
        reads[variable] = reads.get(variable, 0) + 1
    owners: dict[Any, int] = {}
    for variable, count in reads.items():
        if variable.owner is not None:
            owners[variable.owner] = owners.get(variable.owner, 0) + count
    numbers: dict[Any, int] = {}

    def written(variable: Variable) -> str:
        owner = variable.owner
        if owner is None:
            return leaf_text(variable)
        result = f"::{variable.index}" if len(owner.outputs) > 1 else ""
        if owner in numbers:
            return f"*{numbers[owner]}{result}"
        if owners.get(owner, 0) < 2:
            return f"{owner.op.name}({inside(owner)}){result}"
        numbers[owner] = len(numbers) + 1
        number = numbers[owner]
        return f"*{number}{result} -> {owner.op.name}({inside(owner)})"

    def inside(owner: Any) -> str:
        return ", ".join([*map(written, owner.inputs), *settings_text(owner.op.settings)])

    return f"[{', '.join(map(written, outputs))}]"


def lines(graph: "FunctionGraph", ids: bool = False) -> str:
    """Inputs, constants, applications and outputs, a line each, numbered in the order of the evaluation.

    With `ids` applications have the numbers by which traces and errors name them.
    """
    numbers: dict[Variable, str] = {}
    found: list[str] = []
    for variable in graph.inputs:
        numbers[variable] = f"%{variable.name or len(numbers)}"
        found.append(f"{numbers[variable]} = input : {variable.type}")
    taken = set(numbers.values())
    nodes = graph.toposort()
    for variable in [v for node in nodes for v in node.inputs] + list(graph.outputs):
        if isinstance(variable, Constant) and variable not in numbers:
            name = f"%{variable.name or f'c{len(numbers)}'}"
            numbers[variable] = name if name not in taken else f"{name}#{len(numbers)}"
            taken.add(numbers[variable])
            found.append(f"{numbers[variable]} = {constant_text(variable)} : {variable.type}")
    for position, node in enumerate(nodes):
        i = node.id if ids else position
        names = [f"%{i}" if len(node.outputs) == 1 else f"%{i}:{k}" for k in range(len(node.outputs))]
        numbers.update(zip(node.outputs, names, strict=True))
        inside = ", ".join([*(numbers[v] for v in node.inputs), *settings_text(node.op.settings)])
        types = ", ".join(str(v.type) for v in node.outputs)
        found.append(f"%{i} = {str(node.op.target).removeprefix('aten.')}({inside}) : {types}")
    found.append("outputs: " + ", ".join(numbers[v] for v in graph.outputs))
    return "\n".join(found)


def leaf_text(variable: Variable) -> str:
    """A variable without owner: its name, or the number that a constant holds."""
    if isinstance(variable, Constant):
        return variable.name or constant_text(variable)
    return variable.name or f"<{variable.type}>"


def constant_text(constant: Constant) -> str:
    """A constant in a few characters: its number, if all its elements are one number; else a mark of its content."""
    if constant.trainable:
        return "parameter"
    number = constant.number
    if number is None:
        return f"constant {constant.digest[:8]}" if constant.data.numel() else "constant (empty)"
    text = repr(number)
    text = text.removesuffix(".0") if isinstance(number, float) else text
    return text if not constant.tensor_type.shape else f"full({text})"


def settings_text(settings: dict[str, Any]) -> list[str]:
    """Attributes as `name=value`."""
    return [f"{name}={_value(value)}" for name, value in settings.items()]


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)

"""Graphs from text: expressions as `repr(graph)` prints them, and the lines of `graph.text()`.

    expression("div(mul(x, y), y)", {"x": x, "y": y})
    graph_from("%x = input : f64[3]\n%0 = relu.default(%x) : f64[3]\noutputs: %0")

Names of operators need an overload only where the arguments do not decide it: `pow.Tensor_Tensor(x, y)`.
"""

import ast
import re
from collections.abc import Mapping
from functools import cache
from textwrap import dedent
from typing import Any

import torch

from explorer.errors import OperatorError
from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, call
from explorer.tensor.ir.types import LETTERS

OVERLOADS = ("default", "Tensor", "Tensor_Scalar", "int", "dim_IntList", "dim", "self", "dims", "using_ints", "other")
"""The overloads that are tried for a name without one, in this order."""

NAMESPACES = {"aten": torch.ops.aten, "explorer": torch.ops.explorer, "circuit": torch.ops.circuit}


def expression(text: str, variables: Mapping[str, Any]) -> Any:
    """The value of an expression. Assignments may precede it: `e = exp(x); div(e, sum(e, [1], True))`.

    Variables may be functions too. Other names are operators, ours with `explorer.` or `circuit.` before them.
    """
    known = dict(variables)
    *assignments, last = ast.parse(text.strip()).body
    for statement in assignments:
        assert isinstance(statement, ast.Assign)
        assert isinstance(statement.targets[0], ast.Name)
        known[statement.targets[0].id] = _value(statement.value, known)
    assert isinstance(last, ast.Expr)
    return _value(last.value, known)


def rewrites(table: str) -> list[tuple[str, str]]:
    """The rows `before -> after` of a table; a line that is indented deeper continues the one above it."""
    rows = re.sub(r"\n +", " ", dedent(table)).strip().splitlines()
    return [(before.strip(), after.strip()) for before, after in (row.split(" -> ", 1) for row in rows)]


def graph_from(text: str) -> FunctionGraph:
    """The graph that `graph.text()` prints; constants that are not one number get random content."""
    known: dict[str, Any] = {}
    inputs: list[Variable] = []
    *rows, last = (line.strip() for line in text.strip().splitlines())
    for row in rows:
        matched = re.fullmatch(r"%(\S+) = (.*?)(?: : (.*))?", row)
        assert matched is not None, row
        name, value, kind = matched.groups()
        if value == "input":
            known[name] = Variable(type_of(kind), name="" if re.fullmatch(r"i\d+", name) else name)
            inputs.append(known[name])
        elif "(%" in value or "()" in value or not re.match(r"[-\w.]+$|full\(|constant|parameter", value):
            made = _value(ast.parse(re.sub(r"%([\w:.#]+)", r'known["\1"]', value), mode="eval").body, known)
            results = made if isinstance(made, tuple) else (made,)
            known |= {name: made, **{f"{name}:{k}": result for k, result in enumerate(results)}}
        else:
            known[name] = _constant(value, type_of(kind), name)
    return FunctionGraph(inputs, [known[name.strip().removeprefix("%")] for name in last[len("outputs:") :].split(",")])


def type_of(text: str) -> TensorType:
    """The type of a tensor that is not quantized, from the form in which it is printed: `f32[2,3]`."""
    matched = re.match(r"(\w+)\[([\d,]*)\]", text)
    assert matched is not None, text
    letters, shape = matched.groups()
    dtype = {name: kind for kind, name in LETTERS.items()}.get(letters) or getattr(torch, letters)
    return TensorType(dtype, tuple(int(size) for size in shape.split(",") if size))


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Call):
        return _call(node, known)
    if isinstance(node, ast.Subscript):
        key = ast.literal_eval(node.slice)
        return known[key] if isinstance(key, str) else _value(node.value, known)[key]
    if isinstance(node, ast.Name):
        return known[node.id] if node.id in known else float(node.id)  # inf, nan
    if isinstance(node, ast.Attribute):
        return getattr(torch, node.attr)  # torch.float32
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(part, known) for part in node.elts]
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        return -_value(node.operand, known)
    return ast.literal_eval(node)


def _call(node: ast.Call, known: Mapping[str, Any]) -> Any:
    args = [_value(arg, known) for arg in node.args]
    settings = {keyword.arg: _value(keyword.value, known) for keyword in node.keywords if keyword.arg}
    if callable(function := known.get(ast.unparse(node.func))):
        return function(*args, **settings)
    reads = any(isinstance(arg, Variable) for arg in args)
    error: Exception | None = None
    for target in _overloads(ast.unparse(node.func)):
        types = _positional(target)
        given = [args] if reads and types[:1] == ("List[Tensor]",) else args
        if len(given) > len(types) or (reads and not any("Tensor" in kind for kind in types)):
            continue  # such as sum(Tensor) for sum(x, [1]), and the add(Scalar, Scalar) of scripts
        try:
            return call(target, *given, **settings)
        except OperatorError as found:
            error = error or found
    raise OperatorError(f"no overload accepts {ast.unparse(node)}: {error}")


@cache
def _overloads(path: str) -> tuple[Any, ...]:
    """The overloads that a name may mean, in the order in which they are tried."""
    first, _, rest = path.partition(".")
    name, _, overload = (rest if first in NAMESPACES else path).partition(".")
    spaces = (NAMESPACES[first],) if first in NAMESPACES else NAMESPACES.values()
    packet = next(getattr(space, name) for space in spaces if hasattr(space, name))
    wanted = [overload] if overload else [one for one in OVERLOADS if one in packet.overloads()] or packet.overloads()
    return tuple(getattr(packet, one) for one in wanted)


@cache
def _positional(target: Any) -> tuple[str, ...]:
    """The types of the arguments of an overload that may be given by position."""
    return tuple(str(argument.type) for argument in target._schema.arguments if not argument.kwarg_only)


def _constant(text: str, kind: TensorType, name: str) -> Constant:
    label = "" if re.fullmatch(r"c\d+", name) else name
    if text.startswith(("constant", "parameter")):
        data = torch.rand(kind.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.5
        return Constant(data.to(kind.dtype), label)
    number = text.removeprefix("full(").removesuffix(")")
    value = {"True": True, "False": False}.get(number)
    return Constant(torch.full(kind.shape, float(number) if value is None else value, dtype=kind.dtype), label)

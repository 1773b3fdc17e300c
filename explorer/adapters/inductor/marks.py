"""The generated code with marks: it tells which call begins and which ends, while the program runs.

Only code objects are replaced, and only inside a `with`: what runs otherwise is what Inductor wrote.
"""

import ast
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from explorer.adapters.snapshot import Mark
from explorer.errors import CircuitError

BOOKKEEPING = ("empty_strided", "reinterpret_tensor", "alloc_from_pool", "assert_")
"""The beginnings of the names of functions that allocate or check a buffer, and compute nothing."""
NAME = "explorer_mark"


class MarkedCall(NamedTuple):
    """A call by its number, and the function that was generated for it; empty for one of a library."""

    number: int
    function: str


@contextmanager
def marked(module: ModuleType, code: str, calls: Mapping[str, MarkedCall], mark: Mark) -> Generator[None]:
    """Call `mark` around each statement that runs a call, while the generated `module` runs inside.

    `calls` are those that write each buffer, in the order in which they run. A statement that names buffers of several
    runs the last one: what the others have written is read.
    Raises: CircuitError if the code is not Python.
    """
    replaced: list[tuple[FunctionType, CodeType]] = []
    namespace = vars(module)
    namespace[NAME] = mark
    try:
        for name, one in _marked_code(code, calls).items():
            function = _function(module, name)
            replaced.append((function, function.__code__))
            function.__code__ = one
        yield
    finally:
        for function, original in replaced:
            function.__code__ = original
        del namespace[NAME]


def _marked_code(code: str, calls: Mapping[str, MarkedCall]) -> dict[str, CodeType]:
    """The code of each function that runs calls, by qualified name."""
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise CircuitError("the calls cannot be timed one by one: the code that runs them is not Python") from error
    marks = _Marks(calls)
    compiled = compile(ast.fix_missing_locations(marks.visit(tree)), "<generated code with marks>", "exec")
    return {one.co_qualname: one for one in _nested(compiled) if NAME in one.co_names}


def _nested(code: CodeType) -> Generator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _function(module: ModuleType, name: str) -> FunctionType:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found.__func__ if isinstance(found, MethodType) else found


class _Marks(ast.NodeTransformer):
    def __init__(self, calls: Mapping[str, MarkedCall]) -> None:
        self.calls = calls
        self.places = {name: place for place, name in enumerate(calls)}
        self.functions = {one.function for one in calls.values()}

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._between_marks(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._between_marks(node)

    def _between_marks(self, node: ast.Expr | ast.Assign) -> Any:
        if not isinstance(node.value, ast.Call):
            return node
        function = ast.unparse(node.value.func).removesuffix(".run")
        if function.startswith(BOOKKEEPING):
            return node
        own = function if function in self.functions else ""
        names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in self.places]
        named = [name for name in names if self.calls[name].function == own]
        if not named:
            return node
        return [_mark(self.calls[max(named, key=self.places.__getitem__)].number), node, _mark(None)]


def _mark(number: int | None) -> ast.Expr:
    return ast.Expr(ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(number)], []))

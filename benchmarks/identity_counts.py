"""Expressions of PyTensor's rewrite tests: operators after the default passes, next to those that PyTensor leaves."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn

from benchmarks.identities import IDENTITY_CASES, Case

SAME, BETTER, LESS = "same", "better", "less"

SHAPES = {
    **dict.fromkeys(("X", "Y", "Z", "P"), (3, 4)),
    **dict.fromkeys(("M", "N", "K"), (4, 4)),
    **dict.fromkeys(("v", "w", "P1"), (4,)),
    **dict.fromkeys(("C", "c"), (3, 1)),
    **dict.fromkeys(("k", "m"), ()),
    "T": (2, 3, 4),
    "R": (1, 4),
    "G": (2, 2),
    "H": (3, 3),
    "K1": (1, 1),
    "N1": (1, 4),
}
"""The shapes of the inputs with random numbers in double precision."""

DTYPES = {"float32": torch.float32, "float64": torch.float64, "int64": torch.int64}

MOVES = frozenset(("clone", "expand", "reshape"))
"""Operators that move numbers, or none, and are not counted where they copy."""

FUNCTIONS: Mapping[str, Any] = {
    **{
        name: getattr(torch, name)
        for name in (
            *("prod", "amax", "amin", "mean", "exp", "log", "log1p", "expm1", "sigmoid", "tanh", "sqrt", "abs", "sign"),
            *("erf", "erfc", "square", "stack", "cat", "diag", "diagonal", "kron", "trace", "outer", "softmax"),
            *("log_softmax", "logaddexp", "where", "maximum", "minimum", "eq", "ne", "zeros_like", "ones_like"),
            *("full_like", "einsum"),
        )
    },
    **{name: getattr(torch.linalg, name) for name in ("inv", "det", "cholesky", "solve")},
    "sum": lambda x, axis=None, keep=False: torch.sum(x) if axis is None else torch.sum(x, axis, keep),
    "softplus": nn.functional.softplus,
    "transpose": lambda x: x.permute(*reversed(range(x.ndim))),
    "flip": lambda x: torch.flip(x, [0]),
    "eye": lambda size: torch.eye(size, dtype=torch.float64),
    "arange": lambda size: torch.arange(size, dtype=torch.float64),
    "and_": torch.bitwise_and,
    "or_": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "not_": torch.bitwise_not,
    "True_": torch.tensor(True),
    "False_": torch.tensor(False),
    "inf": inf,
    "clip": lambda x, low, high: torch.clamp(x, low, None if high == inf else high),
    "cast": lambda x, dtype: x.to(DTYPES[dtype]),
    "reshape": lambda x, *shape: x.reshape(shape),
    "expand": lambda x, *shape: x.expand(shape),
    "tile": lambda x, *counts: x.tile(counts),
    "take": lambda x, rows: x[torch.tensor(rows)],
    "write": lambda x, start, stop, y: torch.slice_scatter(x, y, 0, start, stop),
    "increment": lambda x, start, stop, y: torch.slice_scatter(x, x[start:stop] + y, 0, start, stop),
    "mlog": torch.log,
    "expd": lambda x: torch.diag(torch.exp(x)),
}
"""The functions of the expressions; `write` and `increment` are set_subtensor and inc_subtensor of some rows."""


@dataclass(frozen=True, slots=True)
class IdentityCount:
    """An expression: operators that are not views, and the numbers that they write, before and after our passes.

    `is_finite` is whether the result is finite at the extreme value of the case.
    """

    case: Case
    before: tuple[int, int]
    after: tuple[int, int]
    is_finite: bool

    @property
    def verdict(self) -> str:
        """Fewer operators are better, and as many that write fewer numbers; a result that is not finite is less."""
        if not self.is_finite or self.after > self.case.theirs:
            return LESS
        return BETTER if self.after < self.case.theirs else SAME


class Expression(nn.Module):
    """The module that evaluates an expression; `names` are the tensors that it reads."""

    def __init__(self, text: str, known: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.names = tuple(name for name in known if re.search(rf"\b{name}\b", text))
        self.code = compile(text, "<expression>", "eval")

    def forward(self, *tensors: Tensor) -> Tensor:
        return eval(self.code, {**FUNCTIONS, **dict(zip(self.names, tensors, strict=True))})


def example_tensors() -> dict[str, Tensor]:
    """Return the tensors of the expressions, by name: positive numbers, matrices with an inverse, integers."""
    generator = torch.Generator().manual_seed(0)
    found = {n: torch.rand(s, generator=generator, dtype=torch.float64) + 0.5 for n, s in SHAPES.items()}
    for name in "MN":
        found[name] += 3 * torch.eye(4, dtype=torch.float64)
    found["S"] = found["M"] @ found["M"].T
    found["F"] = torch.rand(3, 4, generator=generator) + 0.5
    found["I"], found["J"] = (torch.arange(12).reshape(3, 4) % size for size in (5, 3))
    found["B"] = found["I"] > 2
    return found


def measure_identity(case: Case) -> IdentityCount:
    """Export an expression, run the default passes, compare the values, and count.

    Raises: AssertionError if a value differs.
    """
    from explorer.tensor import from_module, to_module
    from explorer.tensor.passes.base import DEFAULT_PIPELINE
    from explorer.tensor.recording.record_module import ManagedPipeline

    known = example_tensors()
    module = Expression(case.text, known)
    given = [known[name] for name in module.names]
    with torch.no_grad():
        graph = from_module(module, given)
        before = _count(graph.toposort())
        ManagedPipeline(DEFAULT_PIPELINE).rewrite(graph)
        rewritten = to_module(graph)
        torch.testing.assert_close(rewritten(*given), module(*given), rtol=1e-9, atol=1e-9, equal_nan=True)
        finite = case.extreme is None
        if case.extreme is not None:
            finite = bool(rewritten(*(torch.full_like(value, case.extreme) for value in given)).isfinite().all())
    return IdentityCount(case, before, _count(graph.toposort()), finite)


def _count(nodes: Sequence[Any]) -> tuple[int, int]:
    """Count the operators that are not views, and the numbers that they write."""
    from explorer.tensor.ir.aliasing import shared_inputs

    computing = [node for node in nodes if not any(shared_inputs(node)) and node.op.name not in MOVES]
    return len(computing), sum(node.outputs[0].tensor_type.size for node in computing)


def measure_identities(on_run: Callable[[str], None] = lambda text: None) -> tuple[IdentityCount, ...]:
    """Count all expressions."""
    found: list[IdentityCount] = []
    for case in IDENTITY_CASES:
        on_run(case.text)
        found.append(measure_identity(case))
    return tuple(found)


def identities_table(counts: Sequence[IdentityCount]) -> Table:
    """The expressions of which more is left here than in PyTensor, and how many are the same, better and less."""
    numbers = Counter(one.verdict for one in counts)
    title = ", ".join(f"{numbers[verdict]} {verdict}" for verdict in (SAME, BETTER, LESS))
    table = Table(title=f"{len(counts)} expressions next to PyTensor: {title}")
    table.add_column("expression with more left, or not finite")
    for heading in ("operators before", "after", "PyTensor", "numbers after", "PyTensor"):
        table.add_column(heading, justify="right")
    for one in counts:
        if one.verdict == LESS:
            operators, numbers_written = one.after
            cells = (one.before[0], operators, one.case.theirs[0], numbers_written, one.case.theirs[1])
            table.add_row(one.case.text, *map(str, cells))
    return table


def identities_to_json(counts: Sequence[IdentityCount]) -> list[dict[str, Any]]:
    """Return the counts as data of JSON types."""
    return [{**asdict(one), "verdict": one.verdict} for one in counts]

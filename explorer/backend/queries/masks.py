"""Checks of what queries receive: rows, masks of variables, evidence, and which output is meant."""

import torch
from torch import Tensor

from explorer.backend.evaluation import EvaluatedCircuit
from explorer.errors import DataTypeError, ShapeError, ValueRangeError
from explorer.symbolic.checks import is_integer


def check_mask(name: str, mask: object, x: Tensor) -> Tensor:
    """A mask (B, D) of variables, from one for each row or one (D,) for all. Raises: DataTypeError, ShapeError."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        found = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise DataTypeError(f"{name} must be a bool tensor, true for the variables that it means; found {found}")
    if mask.shape != x.shape and mask.shape != x.shape[1:]:
        raise ShapeError(f"{name} must have shape {tuple(x.shape)} or {tuple(x.shape[1:])}; found {tuple(mask.shape)}")
    return mask.to(x.device).expand(x.shape)


def check_evidence(circuit: EvaluatedCircuit, x: Tensor | None, observed: Tensor | None) -> tuple[Tensor, Tensor]:
    """The rows (B, D) and which of their entries are evidence; without x, one row without evidence.

    Raises: ShapeError, DataTypeError.
    """
    if x is None:
        if observed is not None:
            raise ShapeError("a mask of observed variables needs the rows x that hold their values")
        device = next((t.device for t in (*circuit.parameters(), *circuit.buffers())), torch.device("cpu"))
        x = torch.zeros((1, circuit.num_variables), dtype=torch.long, device=device)
        return x, torch.zeros_like(x, dtype=torch.bool)
    rows = circuit.check_rows(x)
    if observed is None:
        raise ShapeError("rows x need the mask `observed` that says which of their entries are evidence")
    return rows, check_mask("observed", observed, rows)


def check_root(root: tuple[int, int] | None, shape: tuple[int, int]) -> tuple[int, int]:
    """Return the (output, class) of a query; it may be left out if there is only one.

    Raises: DataTypeError if it is not a pair of integers; ValueRangeError.
    """
    outputs, classes = shape
    if root is None:
        if (outputs, classes) != (1, 1):
            raise ValueRangeError(
                f"the circuit has {outputs} outputs of {classes} classes; say which one by root=(output, class)"
            )
        return (0, 0)
    pair: object = root
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(is_integer(one) for one in pair):
        raise DataTypeError(f"root must be a pair of integers (output, class); found {pair!r}")
    output, number = root
    if not (0 <= output < outputs and 0 <= number < classes):
        raise ValueRangeError(
            f"root is (output, class), counted from 0, and at most ({outputs - 1}, {classes - 1}); found {root}"
        )
    return (output, number)


def check_generator(generator: object) -> torch.Generator:
    """The generator, by default PyTorch's. Raises: DataTypeError for anything else, such as a seed."""
    if generator is None:
        return torch.default_generator
    if not isinstance(generator, torch.Generator):
        raise DataTypeError(
            f"generator must be a torch.Generator, such as torch.Generator().manual_seed(0); found {generator!r}"
        )
    return generator


def check_possible(log_evidence: Tensor, numbers: Tensor | None = None) -> None:
    """Raises: ValueRangeError if the evidence of a row has probability zero.

    Shapes: log_evidence (B, ...); numbers (B,) of the rows in the message, by default 0 .. B-1.
    """
    impossible = log_evidence == -torch.inf
    if bool(impossible.any()):
        row = int(impossible.nonzero()[0][0])
        row = row if numbers is None else int(numbers[row])
        raise ValueRangeError(
            f"the evidence of row {row} has probability zero, so there is no distribution given it; change it"
        )

"""Whether each step keeps the values: the outputs after it against those before it, and what its rules promise."""

from collections.abc import Callable, Sequence
from typing import Any

from explorer.errors import ShapeError
from explorer.trace.answers import Answers, StepCheck
from explorer.trace.events import RuleDescription
from explorer.trace.steps import Step

EXACTNESS_ORDER = ("exact", "real", "lossy")
ROUNDING = {"torch.float32": 1e-4, "torch.float64": 1e-9}
"""By type: the difference, relative to the largest output, that rounding may make between two orders of sums."""
HALF_ROUNDING = 1e-2
"""The same for all other types, which are shorter."""


def checked_steps(
    steps: Sequence[Step], rules: Sequence[RuleDescription], x: Any, on_step: Callable[[Step], None], needs_rows: bool
) -> Answers[StepCheck]:
    """The check on `x` of each step that did not fail; `on_step` is told each before it is run.

    Raises: ShapeError if it `needs_rows` and `x` has none.
    """
    promises = {rule.name: rule.exactness for rule in rules}
    values: tuple[Any, ...] | None = None
    found: list[StepCheck] = []
    for step in steps:
        if step.error is not None:
            continue
        on_step(step)
        before = values
        if values is None or step.changed or step.folds:
            values = step.snapshot.results(x)
        if needs_rows and not any(value.numel() for value in values):
            raise ShapeError("check needs at least one row; x has none")
        # Folding reorders sums, so it is exact in real arithmetic only.
        done = [promises.get(rewrite.rule, "real") for rewrite in step.rewrites] + ["real"] * bool(step.folds)
        weakest = max(done, key=EXACTNESS_ORDER.index, default="exact")
        found.append(_checked(step, weakest, values, values if before is None else before))
    return Answers(found)


def _checked(step: Step, exactness: str, values: tuple[Any, ...], before: tuple[Any, ...]) -> StepCheck:
    """The results after a step compared with those before it."""
    pairs = [(value, wanted) for value, wanted in zip(values, before, strict=True) if value.numel()]
    compared = [_compared(value, wanted) for value, wanted in pairs]
    difference, rounding = max(
        compared, key=lambda pair: (pair[0] != pair[0], pair[0] / pair[1]), default=(0.0, HALF_ROUNDING)
    )
    tolerance = {"exact": 0.0, "real": rounding, "lossy": float("inf")}[exactness]
    other_bits = sum(_other_bits(value, wanted) for value, wanted in pairs)
    return StepCheck(step.index, step.path, difference, exactness, tolerance, other_bits)


def _compared(value: Any, wanted: Any) -> tuple[float, float]:
    """The largest difference of two tensors, and what rounding may make of the order of sums."""
    if not value.is_floating_point() and not value.is_complex():
        return float((value != wanted).any()), ROUNDING["torch.float64"]
    difference = (value - wanted).abs()
    difference[value == wanted] = 0  # infinities that agree
    difference[(value != value) & (wanted != wanted)] = 0  # and what is no number in both
    size = wanted.abs()
    size[(size == float("inf")) | (size != size)] = 0
    rounding = ROUNDING.get(str(size.dtype), HALF_ROUNDING) * max(1.0, float(size.max()))
    return float(difference.max()), rounding


def _other_bits(value: Any, wanted: Any) -> int:
    """How many numbers of two tensors are not the same, bit by bit; NaN is the same as NaN."""
    if value.dtype != wanted.dtype:
        return int(value.numel())
    if value.is_complex():
        return _other_bits(value.real, wanted.real) + _other_bits(value.imag, wanted.imag)
    same = value == wanted
    if value.is_floating_point():
        same = (same & (value.signbit() == wanted.signbit())) | ((value != value) & (wanted != wanted))
    return int((~same).sum())

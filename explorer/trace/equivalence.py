"""Check that each step preserves the outputs, as exactly as its rules promise."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, log, nan, pi
from typing import Any, cast

from explorer.errors import ShapeError
from explorer.trace.answers import Answers, StepCheck
from explorer.trace.events import OperatorState, RuleDescription
from explorer.trace.steps import Step, start_of

COMPLEX_LOGARITHMS, LIKELIHOODS = "complex-lse-sum", "sum-product"
"""The semirings with complex logarithms as outputs, and with the numbers themselves."""
EXACTNESS_ORDER = ("exact", "real", "lossy")
ROUNDING = {"torch.float32": 1e-4, "torch.float64": 1e-9}
"""By dtype: how much the order of sums may change an output, relative to the largest one."""
HALF_ROUNDING = 1e-2
"""The same for all other, shorter dtypes."""
SMALLEST_NORMAL = {"torch.float64": 2.0**-1022, "torch.float16": 2.0**-14}
"""By dtype: the smallest number of full precision; sums of smaller ones may differ by this much."""
OTHER_SMALLEST_NORMAL = 2.0**-126
"""The same for float32 and bfloat16."""
CANCELLED = 3
"""The rest of a cancellation is below `rounding` of the largest output, but not below this power of it."""


def check_steps(
    steps: Sequence[Step],
    rules: Sequence[RuleDescription],
    x: Any,
    on_step: Callable[[Step], None],
    needs_rows: bool,
    semiring: str = "",
    source: Callable[[Any], tuple[Any, ...]] | None = None,
) -> Answers[StepCheck]:
    """The check on `x` of each step that did not fail; `on_step` is called with each step before it is run.

    `semiring` is the circuit's. The outputs under sum-product may be tiny, so differences are relative to them.
    Complex logarithms are equal if the numbers that they represent are.
    `source` returns the values before the first step, which may round differently. The result of an operator, before
    the compilation, is compared with its values by definition, from the operands' values.
    Raises: ShapeError if it `needs_rows` and `x` has none.
    """
    promises = {rule.name: rule.exactness for rule in rules}
    start = start_of(steps)
    values: tuple[Any, ...] | None = None
    if source is not None:
        values = source(x)
    elif start and steps[start].error is None:  # it refuses rows that the compiled circuit cannot read
        values = _results(steps[start], x, semiring)
    original = values
    found: list[StepCheck] = []
    for step in steps:
        if step.error is not None:
            continue
        on_step(step)
        if step.operator is not None:
            found.append(_check_operator(step, x, semiring))
            continue
        before = values
        imported = source is not None and not found
        if values is None or imported or step.changed or step.folds:
            values = _results(step, x, semiring)
        original = values if original is None else original
        if needs_rows and not any(value.numel() for value in values):
            raise ShapeError("check needs at least one row; x has none")
        # Folding reorders sums, so it is exact in real arithmetic only.
        done = [promises.get(rewrite.rule, "real") for rewrite in step.rewrites]
        done += ["real"] * (imported or bool(step.folds))
        weakest = max(done, key=EXACTNESS_ORDER.index, default="exact")
        checked = _check(step, weakest, values, values if before is None else before, semiring)
        total = checked.max_difference if before is original else _largest(values, original, semiring)[0]
        found.append(replace(checked, from_original=nan if checked.has_no_value else total))
    return Answers(found)


def _check_operator(step: Step, x: Any, semiring: str) -> StepCheck:
    """Compare what an operator made with its values by definition."""
    values = _results(step, x, semiring)
    wanted = cast("OperatorState", step.snapshot).expected(x)
    if not isinstance(wanted, str):
        strange = [defined for value, defined in zip(values, wanted, strict=True) if type(defined) is not type(value)]
        wanted = f"its definition returned {strange[0]!r}, which is not a tensor" if strange else wanted
    if isinstance(wanted, str):
        return StepCheck(step.index, step.path, nan, "real", nan, from_original=nan, unknown=wanted)
    forms = [", ".join(map(_form, some)) for some in (values, wanted)]
    if forms[0] != forms[1]:
        other_form = f"the circuit has {forms[0]}, its definition {forms[1]}"
        return StepCheck(step.index, step.path, inf, "real", 0.0, from_original=nan, other_form=other_form)
    return replace(_check(step, "real", values, wanted, semiring), from_original=nan)


def _form(value: Any) -> str:
    """The kind and shape of a tensor: `real values of shape (2, 1, 3)`."""
    return f"{'complex' if value.is_complex() else 'real'} values of shape {tuple(value.shape)}"


def _results(step: Step, x: Any, semiring: str) -> tuple[Any, ...]:
    """The outputs after a step."""
    return tuple(_principal(value, semiring) for value in step.snapshot.results(x))


def _check(step: Step, exactness: str, values: tuple[Any, ...], before: tuple[Any, ...], semiring: str) -> StepCheck:
    """Compare the results after a step with those before it."""
    difference, rounding = _largest(values, before, semiring)
    tolerance = {"exact": 0.0, "real": rounding, "lossy": inf}[exactness]
    other_bits = sum(_other_bits(value, wanted) for value, wanted in zip(values, before, strict=True))
    checked = StepCheck(step.index, step.path, difference, exactness, tolerance, other_bits)
    undefined = sum(_undefined(value, wanted) for value, wanted in zip(values, before, strict=True))
    if undefined and checked.ok:
        return replace(checked, max_difference=nan, undefined=undefined)
    return checked


def _undefined(value: Any, wanted: Any) -> int:
    """Count the numbers that are NaN in both tensors."""
    if not value.is_floating_point() and not value.is_complex():
        return 0
    return int(((value != value) & (wanted != wanted)).sum())


def _largest(values: tuple[Any, ...], wanted: tuple[Any, ...], semiring: str) -> tuple[float, float]:
    """The worst difference of several tensors, and its tolerance; empty tensors have none."""
    pairs = [(value, before) for value, before in zip(values, wanted, strict=True) if value.numel()]
    compared = [largest_difference(value, before, semiring) for value, before in pairs]
    return max(compared, key=lambda pair: (pair[0] != pair[0], pair[0] / pair[1]), default=(0.0, HALF_ROUNDING))


def _principal(logarithm: Any, semiring: str) -> Any:
    """Complex logarithms with one form for each number: no angle for log 0, and pi in place of -pi."""
    if semiring != COMPLEX_LOGARITHMS or not logarithm.is_complex():
        return logarithm
    result = logarithm.clone()
    result.imag[result.real == -inf] = 0
    result.imag[result.imag == -pi] = pi
    return result


def largest_difference(value: Any, wanted: Any, semiring: str) -> tuple[float, float]:
    """The worst difference of two tensors, and the tolerance for a different order of sums.

    Likelihoods are compared one by one. Where one of them is negative or complex, terms may have cancelled in any of
    them; then the tolerance is relative to the largest of all.
    """
    if not value.is_floating_point() and not value.is_complex():
        return float((value != wanted).any()), ROUNDING["torch.float64"]
    value, wanted = _principal(value, semiring), _principal(wanted, semiring)
    size = wanted.abs()
    size[(size == inf) | (size != size)] = 0
    rounding = ROUNDING.get(str(size.dtype), HALF_ROUNDING)
    if semiring == COMPLEX_LOGARITHMS and value.is_complex():
        difference = _difference_of_logarithms(value, wanted, rounding)
    else:
        difference = (value - wanted).abs()
    difference[value == wanted] = 0  # infinities that agree
    difference[(value != value) & (wanted != wanted)] = 0  # NaN in both
    largest = float(size.max())
    if semiring == LIKELIHOODS:
        may_cancel = value.is_complex() or bool(((value < 0) | (wanted < 0)).any())
        smallest = SMALLEST_NORMAL.get(str(size.dtype), OTHER_SMALLEST_NORMAL)
        scale = size.double().clamp(min=largest if may_cancel else 0.0)
        allowed = (rounding * scale).clamp(min=smallest)
        worst = int((difference.double() / allowed).argmax())  # the first NaN, if there is one
        return float(difference.flatten()[worst]), float(allowed.flatten()[worst])
    return float(difference.max()), rounding * max(1.0, largest)


def _difference_of_logarithms(value: Any, wanted: Any, rounding: float) -> Any:
    """The distance of complex logarithms up to full turns.

    Where terms cancelled, a rounding error remains, and its logarithm means nothing; there it is the difference
    of the numbers relative to the largest one.
    """
    difference = value - wanted
    difference.imag = (difference.imag + pi) % (2 * pi) - pi
    difference = difference.abs()
    finite = wanted.real[wanted.real.abs() < inf]
    largest = float(finite.max()) if finite.numel() else 0.0
    numbers = ((value - largest).exp() - (wanted - largest).exp()).abs()
    size = value.real.maximum(wanted.real) - largest
    may_have_cancelled = (size < log(rounding)) & (size > CANCELLED * log(rounding))
    return difference.where(~may_have_cancelled, difference.minimum(numbers))


def _other_bits(value: Any, wanted: Any) -> int:
    """Count the numbers of two tensors that differ in bits; NaN equals NaN."""
    if value.dtype != wanted.dtype:
        return int(value.numel())
    if value.is_complex():
        return _other_bits(value.real, wanted.real) + _other_bits(value.imag, wanted.imag)
    same = value == wanted
    if value.is_floating_point():
        same = (same & (value.signbit() == wanted.signbit())) | ((value != value) & (wanted != wanted))
    return int((~same).sum())

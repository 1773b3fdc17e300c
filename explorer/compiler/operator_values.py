"""The values of a circuit that an operator made, by the definition of the operator, from the values of its operands."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from explorer.backend import Semiring, get_semiring
from explorer.backend.semiring import convert
from explorer.errors import CircuitError, DuplicateNameError, RuleError
from explorer.symbolic import Circuit, Derivation, InputLayer

Run = Callable[[Circuit, Tensor], Tensor]
"""Evaluates a circuit on rows (B, D): (B, outputs, units), in the form of the semiring."""
Definition = Callable[[Derivation, Tensor, Run, Semiring], "Tensor | str"]
"""Computes the values of a result from the values of its operands; see `define_operator`."""
MAX_ASSIGNMENTS = 4_096
"""More values of all variables that are summed out are not tried one by one."""


_DEFINITIONS: dict[str, Definition] = {}


def define_operator(operator: str) -> Callable[[Definition], Definition]:
    """Decorator: register the definition of an operator on circuits, with which `Trace.check` compares its results.

    The function gets the derivation of the result, rows of data (B, D), a function that evaluates an operand on rows,
    and the semiring. It returns the values of the result (B, outputs, units) in the form of the semiring, or a string
    that says why they are not known. Raises: DuplicateNameError.
    """

    def register(definition: Definition) -> Definition:
        if operator in _DEFINITIONS:
            raise DuplicateNameError(f"the operator {operator!r} has a definition already")
        _DEFINITIONS[operator] = definition
        return definition

    return register


def expected_values(made: Circuit, x: Tensor, run: Run, semiring: Semiring) -> tuple[Tensor, ...] | str:
    """Return the outputs for rows (B, D) by definition; or why they are not known."""
    derivation = made.derivation
    assert derivation is not None
    definition = _DEFINITIONS.get(derivation.operator)
    if definition is None:
        return f"{derivation.operator} has no definition; register one with @define_operator({derivation.operator!r})"
    is_undefined = False

    def run_operand(operand: Circuit, rows: Tensor) -> Tensor:
        nonlocal is_undefined
        values = run(operand, columns_of(operand, rows))
        is_undefined |= bool(values.isnan().any())
        return values

    try:
        found = _defined(definition, derivation, x, run_operand, semiring)
    except RuleError as error:
        return str(error)
    if isinstance(found, str):
        return found
    if is_undefined and isinstance(found, Tensor) and found.isnan().any():
        return f"an operand has outputs that are NaN in the semiring {semiring.name}"
    return (found,)


def _defined(definition: Definition, derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor | str:
    """Call a definition; an exception becomes a RuleError that names the operator."""
    try:
        with torch.no_grad():
            return definition(derivation, x, run, semiring)
    except CircuitError:
        raise
    except Exception as error:
        raise RuleError(f"the definition of {derivation.operator} failed: {type(error).__name__}: {error}") from error


def columns_of(circuit: Circuit, x: Tensor) -> Tensor:
    """The columns that an operand accepts, of rows (B, D) of the circuit that was made of it."""
    return x[:, : circuit.num_variables]


@define_operator("multiply")
def _product(derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor:
    """All pairs of outputs and of units, the first circuit varying slowest."""
    first, *others = (run(operand, x) for operand in derivation.operands)
    for other in others:
        pairs = semiring.multiply(first[:, :, None, :, None], other[:, None, :, None, :])
        first = pairs.reshape(len(x), first.shape[1] * other.shape[1], first.shape[2] * other.shape[2])
    return first


@define_operator("concatenate")
def _all_outputs(derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor:
    return torch.cat([run(operand, x) for operand in derivation.operands], 1)


@define_operator("conjugate")
def _conjugate(derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor:
    (operand,) = derivation.operands
    return run(operand, x).conj()


@define_operator("evidence")
def _at_observations(derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor:
    (operand,) = derivation.operands
    return run(operand, _with(x, operand, _numbers(derivation, "variables"), _numbers(derivation, "values")))


@define_operator("integrate")
def _sum_over_values(derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor | str:
    """The sum over all values of the variables that an output depends on."""
    (operand,) = derivation.operands
    wanted = [int(variable) for variable in _numbers(derivation, "variables")]
    states = _numbers_of_values(operand)
    continuous = [variable for variable in wanted if variable not in states]
    if continuous:
        return f"variable {continuous[0]} is continuous: its integral is not computed by trying all values"
    sums: list[Tensor] = []
    for position, output in enumerate(operand.outputs):
        inside = [variable for variable in wanted if variable in operand.scopes[output]]
        count = 1
        for variable in inside:
            count *= states[variable]
        if count > MAX_ASSIGNMENTS:
            return f"{count:,} values would have to be tried; at most {MAX_ASSIGNMENTS:,} are"
        rows = product(*(range(states[variable]) for variable in inside))
        terms = torch.stack([run(operand, _with(x, operand, inside, row))[:, position] for row in rows], -1)
        ones = torch.ones((1, 1, terms.shape[-1]), dtype=terms.real.dtype, device=terms.device)
        sums.append(semiring.weighted_sum(terms.flatten(0, 1)[None], ones)[0].reshape(terms.shape[:2]))
    return torch.stack(sums, 1)


@define_operator("differentiate")
def _derivatives(derivation: Derivation, x: Tensor, run: Run, semiring: Semiring) -> Tensor:
    """The derivative of each output by each variable, by automatic differentiation."""
    (operand,) = derivation.operands
    (order,) = _numbers(derivation, "order")
    linear = get_semiring("sum-product")
    found: list[Tensor] = []
    with torch.enable_grad():
        rows = columns_of(operand, x).to(torch.get_default_dtype()).detach().requires_grad_()
        values = convert(run(operand, rows), semiring, linear)
        for output in range(values.shape[1]):
            for variable in _numbers(derivation, "variables"):
                units = [_derivative(unit, rows, int(variable), int(order)) for unit in values[:, output].unbind(1)]
                found.append(torch.stack(units, 1))
        return convert(torch.stack(found, 1), linear, semiring).detach()


def _derivative(values: Tensor, rows: Tensor, variable: int, order: int) -> Tensor:
    """The derivative (B,) of values (B,) by a variable, `order` times; complex ones by parts."""
    if values.is_complex():
        parts = [_derivative(part, rows, variable, order) for part in (values.real, values.imag)]
        return torch.complex(*parts)
    for _ in range(order):
        if not values.requires_grad:
            return torch.zeros(len(rows), dtype=rows.dtype)
        (gradient,) = torch.autograd.grad(values.sum(), rows, create_graph=True, allow_unused=True)
        values = torch.zeros(len(rows), dtype=rows.dtype) if gradient is None else gradient[:, variable]
    return values


def _numbers(derivation: Derivation, name: str) -> Sequence[Any]:
    """An argument of numbers."""
    found: Any = derivation.arguments[name]
    return found if isinstance(found, tuple) else (found,)


def _with(x: Tensor, circuit: Circuit, variables: Sequence[Any], values: Sequence[Any]) -> Tensor:
    """Rows with other values of some variables."""
    rows = columns_of(circuit, x).clone()
    if any(value != int(value) for value in values) and not rows.is_floating_point():
        rows = rows.to(torch.get_default_dtype())
    for variable, value in zip(variables, values, strict=True):
        rows[:, int(variable)] = value
    return rows


def _numbers_of_values(circuit: Circuit) -> Mapping[int, int]:
    """Count the values of each discrete variable."""
    inputs = [layer for layer in circuit.graph.nodes.values() if isinstance(layer, InputLayer)]
    return {v: layer.num_values for layer in inputs if layer.num_values is not None for v in layer.scope}

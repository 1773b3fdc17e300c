"""Chains of sums: the smallest circuit in which one rewrite enables the next."""

from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates.inputs import CategoricalInput, ParameterFactory
from explorer.templates.regions.checks import check_at_least_one


def sum_chain(length: int, *, num_units: int, weight_param: ParameterFactory | None = None) -> Circuit:
    """`length` consecutive sums of one input over a categorical input; all have `num_units` units but the last has one.

    Raises: ValueRangeError.

    >>> sum_chain(40, num_units=3)
    <Circuit: 41 layers, 1 variables, 1 output(s)>
    """
    check_at_least_one(length=length, num_units=num_units)
    builder = CircuitBuilder()
    top = builder.add(CategoricalInput(max(num_units, 2))(0, num_units))
    for position in range(length):
        O = 1 if position == length - 1 else num_units
        top = builder.sum(top, num_units=O, weight=weight_param and weight_param((O, num_units)))
    return builder.build(top)

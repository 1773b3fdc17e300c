"""What expectation-maximization knows about each operator of parameter graphs: its links, and what passes through it.

An M-step finds the values of a leaf behind a link, such as a softmax. Between these values and the parameter of a layer
may be operators that only add and multiply, so that the likelihood is a polynomial in the values.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Any

from explorer.backend.parameters import (
    TorchClampParameter,
    TorchEinsumParameter,
    TorchExpParameter,
    TorchFlattenParameter,
    TorchHadamardParameter,
    TorchIndexParameter,
    TorchKroneckerIdentityParameter,
    TorchKroneckerParameter,
    TorchLogParameter,
    TorchLogSoftmaxParameter,
    TorchMatMulParameter,
    TorchMixingWeightParameter,
    TorchOuterProductParameter,
    TorchOuterSumParameter,
    TorchParameterNode,
    TorchParameterOp,
    TorchReduceLSEParameter,
    TorchReduceProductParameter,
    TorchReduceSumParameter,
    TorchReorderParameter,
    TorchScaledSigmoidParameter,
    TorchSigmoidParameter,
    TorchSoftmaxParameter,
    TorchSoftplusParameter,
    TorchSquareParameter,
    TorchSumParameter,
)
from explorer.errors import DuplicateNameError
from explorer.learning.links import ClampLink, ExpLink, Link, SigmoidLink, SoftmaxLink, SoftplusLink, SquareLink


class Domain(Enum):
    """What the entries of a value are factors of terms as: themselves, or their exponentials."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, slots=True, eq=False)
class OperatorRole:
    """What is declared of an operator; see `declare_operator`."""

    operands: Mapping[Domain, Domain]
    link: Callable[[Any], Link] | None
    link_domain: Domain


OPERATORS: dict[type[TorchParameterOp], OperatorRole] = {}
"""The declared operators. There is no M-step for a leaf below any other one."""


def declare_operator(
    operator: type[TorchParameterOp],
    *,
    operands: Mapping[Domain, Domain] | None = None,
    link: Callable[[Any], Link] | None = None,
    link_domain: Domain = Domain.LINEAR,
) -> None:
    """Declare an operator, so that expectation-maximization can learn the leaves below it.

    `operands` has the domain of the operands for each domain that the result may have: the result, or its exponential,
    is then a polynomial in the operands, or in their exponentials, with coefficients that are not negative. `link`
    makes the link that the operator is to a leaf, from the operator; with `link_domain` LOG, it is that of the
    exponential of the result. An operator that is neither is not declared.
    Raises: DuplicateNameError if the operator is declared already.
    """
    if operator in OPERATORS:
        raise DuplicateNameError(f"{operator.__name__} is declared already")
    OPERATORS[operator] = OperatorRole(operands or {}, link, link_domain)


def is_declared(value: TorchParameterNode) -> bool:
    """Whether the operator is declared."""
    return type(value) in OPERATORS


def link_of(value: TorchParameterNode, domain: Domain = Domain.LINEAR) -> Link | None:
    """The link to its leaf that an operator is, or for LOG, that its exponential is; None if it is none."""
    role = OPERATORS.get(type(value))  # pyright: ignore[reportArgumentType] (a leaf is not among them)
    return role.link(value) if role is not None and role.link is not None and role.link_domain is domain else None


def operand_domain(value: TorchParameterNode, domain: Domain) -> Domain | None:
    """The domain of the operands of an operator whose result has this domain; None if it has none."""
    role = OPERATORS.get(type(value))  # pyright: ignore[reportArgumentType] (a leaf is not among them)
    return role.operands.get(domain) if role is not None else None


LINEAR, LOG = Domain.LINEAR, Domain.LOG

for _operator in (
    TorchEinsumParameter,
    TorchFlattenParameter,
    TorchHadamardParameter,
    TorchIndexParameter,
    TorchKroneckerIdentityParameter,
    TorchKroneckerParameter,
    TorchMatMulParameter,
    TorchMixingWeightParameter,
    TorchOuterProductParameter,
    TorchReduceProductParameter,
    TorchReorderParameter,
):
    declare_operator(_operator, operands={LINEAR: LINEAR})
for _operator in (TorchOuterSumParameter, TorchReduceLSEParameter):
    declare_operator(_operator, operands={LOG: LOG})
for _operator in (TorchReduceSumParameter, TorchSumParameter):
    declare_operator(_operator, operands={LINEAR: LINEAR, LOG: LOG})
declare_operator(TorchLogParameter, operands={LOG: LINEAR})
declare_operator(TorchExpParameter, operands={LINEAR: LOG}, link=lambda op: ExpLink())
declare_operator(TorchSquareParameter, operands={LINEAR: LINEAR}, link=lambda op: SquareLink())
declare_operator(TorchSoftmaxParameter, link=lambda op: SoftmaxLink(op.axis))
declare_operator(TorchLogSoftmaxParameter, link=lambda op: SoftmaxLink(op.axis), link_domain=LOG)
declare_operator(TorchSoftplusParameter, link=lambda op: SoftplusLink())
declare_operator(TorchSigmoidParameter, link=lambda op: SigmoidLink())
declare_operator(TorchScaledSigmoidParameter, link=lambda op: SigmoidLink(op.vmin, op.vmax))
declare_operator(
    TorchClampParameter,
    link=lambda op: ClampLink(-inf if op.vmin is None else op.vmin, inf if op.vmax is None else op.vmax),
)

"""The role of each parameter of a layer in its density: what expectation-maximization must know about a layer."""

from collections.abc import Iterator, Mapping
from enum import Enum

from explorer.backend import (
    TorchBinomialLayer,
    TorchCategoricalLayer,
    TorchCPTLayer,
    TorchEmbeddingLayer,
    TorchEvidenceLayer,
    TorchGaussianLayer,
    TorchLayer,
    TorchMixingLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    TorchTuckerLayer,
)
from explorer.backend.parameters import TorchParameter
from explorer.errors import DuplicateNameError
from explorer.graph import nested_of, parameters_of


class Role(Enum):
    """What a parameter is in the value of a unit."""

    WEIGHTS = "factors of the terms of a sum"
    LOG_WEIGHTS = "logarithms of such factors"
    PROBABILITY = "the probability of success of a binomial distribution"
    LOG_ODDS = "its log-odds"
    MEAN = "the mean of a normal distribution"
    STDDEV = "its standard deviation"


ROLES: dict[type[TorchLayer], Mapping[str, Role]] = {}
"""The roles of the parameters of each class of layers, by name. `declare_roles` adds a class."""


def declare_roles(layer: type[TorchLayer], **roles: Role) -> None:
    """Declare the roles of the parameters of a layer class, so that expectation-maximization can learn them.

    Weights are factors: each output unit is a sum of terms, and each term a product of inputs and entries of weights.
    Raises: DuplicateNameError if the class has roles already.
    """
    if layer in ROLES:
        raise DuplicateNameError(f"{layer.__name__} has roles already")
    ROLES[layer] = roles


for _layer in (TorchSumLayer, TorchCPTLayer, TorchTuckerLayer, TorchTensorDotLayer, TorchMixingLayer):
    declare_roles(_layer, weight=Role.WEIGHTS)
declare_roles(TorchEmbeddingLayer, weight=Role.WEIGHTS)
declare_roles(TorchCategoricalLayer, probs=Role.WEIGHTS, logits=Role.LOG_WEIGHTS)
declare_roles(TorchBinomialLayer, probs=Role.PROBABILITY, logits=Role.LOG_ODDS)
declare_roles(TorchGaussianLayer, mean=Role.MEAN, stddev=Role.STDDEV)


def has_roles(layer: TorchLayer) -> bool:
    """Whether the roles of the parameters of a layer, or of the layers inside it, are declared."""
    return bool(nested_of(layer)) or any(kind in ROLES for kind in type(layer).__mro__)


def roles_of(layer: TorchLayer) -> Iterator[tuple[str, TorchParameter, Role | None]]:
    """The parameters of a layer and of the layers inside it: path (`below.weight`), graph, and role, if it has one.

    An observed layer is a constant factor: of its parameters, only weights have a role.
    """
    yield from _roles("", layer, observed=False)


def _roles(path: str, layer: TorchLayer, observed: bool) -> Iterator[tuple[str, TorchParameter, Role | None]]:
    known = next((ROLES[kind] for kind in type(layer).__mro__ if kind in ROLES), {})
    for name, parameter in parameters_of(layer).items():
        role = known.get(name)
        yield f"{path}{name}", parameter, role if not observed or role in (Role.WEIGHTS, Role.LOG_WEIGHTS) else None
    for name, nested in nested_of(layer).items():
        yield from _roles(f"{path}{name}.", nested, observed or isinstance(layer, TorchEvidenceLayer))

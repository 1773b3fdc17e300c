"""The closed M-steps of the leaves of a compiled circuit, and the nodes that have their expected counts.

A parameter graph is read from its result down to its leaves. As long as its operators only add and multiply, the
likelihood is a polynomial in the values below, with coefficients that are not negative. So the values that a leaf gives
through one link, such as a softmax, have the closed M-step of Baum and Eagon 1967, An inequality with applications to
statistical estimation: expected counts, divided by their sum. It holds in every mode of compilation, for shared leaves,
and for weights that are products of matrices.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from explorer.backend import (
    TorchBinomialLayer,
    TorchCircuit,
    TorchEvidenceLayer,
    TorchGaussianLayer,
    TorchLayer,
    TorchMultivariateGaussianLayer,
)
from explorer.backend.declarations import ExpLink, IdentityLink, SigmoidLink
from explorer.backend.parameters import (
    Domain,
    Link,
    Role,
    TorchLeafParameter,
    TorchParameter,
    TorchParameterNode,
    TorchParameterOp,
)
from explorer.errors import LearningError
from explorer.graph import nested_of, parameters_of
from explorer.symbolic import TensorParameter

MAX_LOWER_BOUND = 1e-6
"""Largest lower bound of a weight, such as by a clamp, that is accepted: rows still sum to one."""


@dataclass(frozen=True, eq=False)
class Site:
    """A node of a parameter graph that is a link of leaves: the gradient by its value has their expected counts.

    `leaves` has the leaf of each fold that is learned in this way.
    """

    layer: int
    name: str
    node: int
    domain: Domain
    link: Link
    leaves: Mapping[int, TensorParameter]


@dataclass(frozen=True, eq=False)
class Single:
    """The parameter of each fold of a layer, which is a leaf or a link of one; `leaves` is all of them."""

    leaves: tuple[TensorParameter, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, eq=False)
class Normals:
    """A layer of normal distributions; the counts are the responsibilities of its units."""

    layer: int
    mean: Single
    stddev: Single


@dataclass(frozen=True, eq=False)
class Joints:
    """A layer of joint normal densities; the counts are its responsibilities, and kept under the slopes."""

    layer: int
    mean: Single
    stddev: Single
    slope: Single


@dataclass(frozen=True, eq=False)
class Binomials:
    """A layer of binomial distributions over 0 .. total_count."""

    layer: int
    total_count: int
    probability: Single


@dataclass(frozen=True, eq=False)
class Averages:
    """A layer of distributions that their expected values determine, which are the averages of x in an M-step."""

    layer: int
    value: Single


@dataclass(frozen=True, eq=False)
class ClosedForms:
    """The leaves that are learned in a circuit, and the sites of their counts. `links` has the links of weights."""

    learned: frozenset[TensorParameter]
    links: Mapping[TensorParameter, Link]
    sites: tuple[Site, ...]
    normals: tuple[Normals, ...]
    joints: tuple[Joints, ...]
    averages: tuple[Averages, ...]
    binomials: tuple[Binomials, ...]


def find_closed_forms(circuit: TorchCircuit) -> ClosedForms:
    """The closed M-step of each leaf that is learned.

    Raises: LearningError, which names the parameter, if a leaf has none, or has different ones at several places.
    """
    return _Search(circuit).run()


class _Search:
    def __init__(self, circuit: TorchCircuit) -> None:
        self.circuit = circuit
        slots = circuit.leaf_slots
        names = circuit.leaf_names
        self.learned = {
            leaf
            for leaf, name in names.items()
            if name in slots and leaf.learnable and circuit.tensors[slots[name][0]].requires_grad
        }
        self.uses: dict[TensorParameter, object] = {}

    def run(self) -> ClosedForms:
        sites: list[Site] = []
        normals: list[Normals] = []
        joints: list[Joints] = []
        averages: list[Averages] = []
        binomials: list[Binomials] = []
        for node, layer in self.circuit.graph.nodes.items():
            singles: dict[Role, Single] = {}
            for name, parameter, role in _roles(layer):
                if not self._below(parameter):
                    if role in (Role.MEAN, Role.STDDEV, Role.SLOPE) and self._is_learned(layer):
                        singles[role] = self._single(layer, name, parameter)
                elif role is Role.WEIGHTS:
                    sites += self._sites(node, layer, name, parameter, Domain.LINEAR)
                elif role is Role.LOG_WEIGHTS:
                    sites += self._sites(node, layer, name, parameter, Domain.LOG)
                elif role is None:
                    raise self._error(next(iter(self._below(parameter))), _without_role(layer, name))
                else:
                    singles[role] = self._single(
                        layer, name, parameter, SigmoidLink() if role is Role.LOG_ODDS else None
                    )
            if isinstance(layer, TorchGaussianLayer) and singles:
                normals.append(self._normals(node, singles[Role.MEAN], singles[Role.STDDEV]))
            elif isinstance(layer, TorchMultivariateGaussianLayer) and singles:
                joints.append(self._joints(node, *(singles[one] for one in (Role.MEAN, Role.STDDEV, Role.SLOPE))))
            elif Role.EXPECTED_VALUE in singles:
                value = singles[Role.EXPECTED_VALUE]
                self._use_all(value.leaves, value.links, "an expected value")
                averages.append(Averages(node, value))
            elif isinstance(layer, TorchBinomialLayer) and singles:
                (probability,) = singles.values()
                self._use_all(probability.leaves, probability.links, "the probability of a binomial distribution")
                binomials.append(Binomials(node, layer.total_count, probability))
        links = {leaf: site.link for site in sites for leaf in site.leaves.values()}
        return ClosedForms(
            frozenset(self.learned),
            links,
            tuple(sites),
            tuple(normals),
            tuple(joints),
            tuple(averages),
            tuple(binomials),
        )

    # ---- weights

    def _sites(self, node: int, layer: TorchLayer, name: str, parameter: TorchParameter, top: Domain) -> Iterator[Site]:
        """Walk from the result to the leaves, slice by slice: what is folded together may be used in different ways."""
        wanted: dict[int, dict[int, Domain]] = defaultdict(dict)
        for at, fold in _results_of_folds(parameter):
            wanted[at][fold] = top
        for at in reversed(list(parameter.graph.nodes)):
            value = parameter.graph.nodes[at]
            leaves: dict[tuple[Domain, Link], dict[int, TensorParameter]] = defaultdict(dict)
            for fold, domain in wanted[at].items():
                below = self._leaves_below(parameter, at, fold)
                if not self.learned.intersection(below):
                    continue
                found = self._site(parameter, at, fold, domain)
                if found is not None:
                    link, leaf = found
                    leaves[domain, link][fold] = leaf
                    continue
                assert isinstance(value, TorchParameterOp)
                leaf = next(leaf for leaf in below if leaf in self.learned)
                inner = value.operand_domains.get(domain)
                if inner is None:
                    raise self._error(leaf, _passes_through(value, name, layer))
                for source, slice_idx in _operands(parameter, at, fold):
                    if wanted[source].setdefault(slice_idx, inner) is not inner:
                        raise self._error(leaf, f"the {name} of {_a(layer)} reads it and its logarithm")
            for (domain, link), by_fold in leaves.items():
                self._check_weights(link, list(by_fold.values()), layer, name)
                yield Site(node, name, at, domain, link, by_fold)

    def _site(
        self, parameter: TorchParameter, node: int, fold: int, domain: Domain
    ) -> tuple[Link, TensorParameter] | None:
        """The link and the leaf of a slice of a node that is one; None if it is not."""
        value = parameter.graph.nodes[node]
        if isinstance(value, TorchLeafParameter):
            return IdentityLink() if domain is Domain.LINEAR else ExpLink(), value.leaves[fold]
        assert isinstance(value, TorchParameterOp)
        link = value.link() if value.link_domain is domain else None
        leaf = _leaf_of(parameter, node, fold)
        return None if link is None or leaf is None else (link, leaf)

    def _check_weights(self, link: Link, learned: Sequence[TensorParameter], layer: TorchLayer, name: str) -> None:
        if isinstance(link, SigmoidLink):
            raise self._error(learned[0], f"the {name} of {_a(layer)} is its sigmoid, whose rows do not sum to one")
        low, high = link.bounds
        if low > MAX_LOWER_BOUND or high < 1:
            raise self._error(learned[0], f"the {name} of {_a(layer)} is only from {low} to {high}")
        self._use_all(learned, [link] * len(learned), "factors")

    # ---- parameters of input distributions

    def _single(self, layer: TorchLayer, name: str, parameter: TorchParameter, leaf_link: Link | None = None) -> Single:
        """Return the leaf of each fold, and its link; `leaf_link` is the link of a plain leaf."""
        leaves: list[TensorParameter] = []
        links: list[Link] = []
        for node, fold in _results_of_folds(parameter):
            value = parameter.graph.nodes[node]
            if isinstance(value, TorchLeafParameter):
                leaves.append(value.leaves[fold])
                links.append(leaf_link or IdentityLink())
                continue
            assert isinstance(value, TorchParameterOp)
            link = value.link() if value.link_domain is Domain.LINEAR and leaf_link is None else None
            leaf = _leaf_of(parameter, node, fold)
            if link is None or link.normalized_axis is not None or leaf is None:
                odd = next(iter(self._leaves_below(parameter, node, fold)))
                raise self._error(odd, _passes_through(value, name, layer))
            leaves.append(leaf)
            links.append(link)
        return Single(tuple(leaves), tuple(links))

    def _normals(self, node: int, mean: Single, stddev: Single) -> Normals:
        for leaf, link in zip(mean.leaves, mean.links, strict=True):
            if leaf in self.learned and link != IdentityLink():
                raise self._error(leaf, "a mean that is learned must be a leaf itself")
        for m, s, link in zip(mean.leaves, stddev.leaves, stddev.links, strict=True):
            if m in self.learned:
                self._use(m, ("mean", s, link), "the mean of a normal distribution")
            if s in self.learned:
                self._use(s, ("stddev", m, link), "the standard deviation of a normal distribution")
        return Normals(node, mean, stddev)

    def _joints(self, node: int, mean: Single, stddev: Single, slope: Single) -> Joints:
        for fold, leaves in enumerate(zip(mean.leaves, stddev.leaves, slope.leaves, strict=True)):
            links = mean.links[fold], slope.links[fold]
            if any(link != IdentityLink() for link in links):
                raise self._error(leaves[0], "a mean and slopes that are learned must be leaves themselves")
            fixed = [leaf for leaf in leaves if leaf not in self.learned]
            if fixed and len(fixed) < len(leaves):
                learned = next(leaf for leaf in leaves if leaf in self.learned)
                raise self._error(learned, "the mean, deviations and slopes of a joint density are learned together")
            if not fixed:
                for leaf in leaves:
                    self._use(leaf, (*leaves, stddev.links[fold]), "a part of a joint normal density")
        return Joints(node, mean, stddev, slope)

    # ---- uses

    def _use_all(self, leaves: Sequence[TensorParameter], links: Sequence[Link], what: str) -> None:
        for leaf, link in zip(leaves, links, strict=True):
            if leaf in self.learned:
                self._use(leaf, (what, link), what)

    def _use(self, leaf: TensorParameter, use: object, what: str) -> None:
        if self.uses.setdefault(leaf, use) != use:
            raise self._error(leaf, f"several layers share it, and use it in different ways, one of them as {what}")

    def _is_learned(self, layer: TorchLayer) -> bool:
        return any(self._below(parameter) for _, parameter, _ in _roles(layer))

    def _below(self, parameter: TorchParameter) -> dict[TensorParameter, None]:
        """The learned leaves of a parameter, in order."""
        nodes = [node for node in parameter.graph.nodes.values() if isinstance(node, TorchLeafParameter)]
        return dict.fromkeys(leaf for node in nodes for leaf in node.leaves if leaf in self.learned)

    def _leaves_below(self, parameter: TorchParameter, node: int, fold: int) -> dict[TensorParameter, None]:
        """The leaves that a slice of a node depends on, in order."""
        found: dict[TensorParameter, None] = {}
        waiting, seen = [(node, fold)], {(node, fold)}
        while waiting:
            at, slice_idx = waiting.pop()
            value = parameter.graph.nodes[at]
            if isinstance(value, TorchLeafParameter):
                found[value.leaves[slice_idx]] = None
                continue
            new = [one for one in _operands(parameter, at, slice_idx) if one not in seen]
            seen.update(new)
            waiting += new
        return found

    def _error(self, leaf: TensorParameter, reason: str) -> LearningError:
        return LearningError(
            f"the parameter {self.circuit.leaf_names[leaf]} {leaf.shape} has no closed M-step: {reason}; "
            "learn it by gradient descent (--method gradient), or make it with Parameterization('softmax')"
        )


def _results_of_folds(parameter: TorchParameter) -> list[tuple[int, int]]:
    """The node and the slice of the value of each fold of a parameter."""
    if parameter.fold_index is None:
        return [(parameter.graph.outputs[0], 0)]
    return [(int(node), int(fold)) for node, fold in parameter.fold_index.out_fold_idx]


def _operands(parameter: TorchParameter, node: int, fold: int) -> list[tuple[int, int]]:
    """The node and the slice of each operand of a slice of an operator."""
    if parameter.fold_index is None:
        return [(source, 0) for source in parameter.graph.inputs[node]]
    return [(int(source), int(slice_idx)) for source, slice_idx in parameter.fold_index.in_fold_idx[node][fold]]


def _leaf_of(parameter: TorchParameter, node: int, fold: int) -> TensorParameter | None:
    """The leaf that a slice of an operator reads; None if it reads anything else."""
    operands = _operands(parameter, node, fold)
    source, slice_idx = operands[0]
    below = parameter.graph.nodes[source]
    return below.leaves[slice_idx] if len(operands) == 1 and isinstance(below, TorchLeafParameter) else None


def _roles(
    layer: TorchLayer, path: str = "", is_observed: bool = False
) -> Iterator[tuple[str, TorchParameter, Role | None]]:
    """Yield the parameters of a layer and of its nested layers: path (`below.weight`), graph, and role, if it has one.

    An observed layer is a constant factor: of its parameters, only weights have a role.
    """
    for name, parameter in parameters_of(layer).items():
        role = layer.roles.get(name)
        yield f"{path}{name}", parameter, None if is_observed and role not in (Role.WEIGHTS, Role.LOG_WEIGHTS) else role
    for name, nested in nested_of(layer).items():
        yield from _roles(nested, f"{path}{name}.", is_observed or isinstance(layer, TorchEvidenceLayer))


def _name(value: object) -> str:
    return type(value).__name__.removeprefix("Torch")


def _a(value: object) -> str:
    """The name of its class with the indefinite article."""
    name = _name(value)
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _without_role(layer: TorchLayer, name: str) -> str:
    """The reason that a parameter of a layer has no role."""
    reason = f"it is the {name} of {_a(layer)}"
    return reason if layer.roles or nested_of(layer) else f"{reason}, which declares no `roles`"


def _passes_through(value: TorchParameterNode, name: str, layer: TorchLayer) -> str:
    """The reason that an operator is between a leaf and a parameter of a layer."""
    reason = f"it passes through {_name(value)} to the {name} of {_a(layer)}"
    assert isinstance(value, TorchParameterOp)
    is_declared = value.operand_domains or type(value).link is not TorchParameterOp.link
    return reason if is_declared else f"{reason}, which declares neither `operand_domains` nor `link`"

"""The peer compiler `libcirkit`, if it is installed; no other module imports it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.cases import Case
from explorer.errors import StructureError
from explorer.graph import parameters_of
from explorer.packages import install_command
from explorer.symbolic import Circuit, TensorParameter

PACKAGE = "libcirkit"
INSTALL = install_command("peer")


def peer_is_installed() -> bool:
    """Whether the peer can be imported."""
    return find_spec("cirkit") is not None


@dataclass(frozen=True, eq=False)
class PeerCircuit:
    """The peer's compiled circuit, and its symbolic one, through which values are copied."""

    symbolic: Any
    compiled: Any
    context: Any

    @property
    def module(self) -> nn.Module:
        """The compiled circuit: x (B, D) -> (B, outputs, classes)."""
        return self.compiled

    @property
    def num_layers(self) -> int:
        """Layers after folding."""
        return len(list(self.compiled.layers))


def build_symbolic(case: Case) -> Any:
    """Build the peer's circuit of a case by its own templates with equal arguments."""
    from cirkit.symbolic import layers
    from cirkit.symbolic.parameters import mixing_weight_factory
    from cirkit.templates import utils

    inputs = {
        "categorical": partial(layers.CategoricalLayer, num_categories=case.num_categories),
        "gaussian": layers.GaussianLayer,
    }
    weights = utils.parameterization_to_factory(utils.Parameterization(activation="softmax", initialization="normal"))
    return _region_graph(case).build_circuit(
        input_factory=inputs[case.input_layer],
        sum_product=case.sum_product_layer,
        sum_weight_factory=weights,
        nary_sum_weight_factory=partial(mixing_weight_factory, param_factory=weights),
        num_input_units=case.num_units,
        num_sum_units=case.num_units,
    )


def compile_symbolic(symbolic: Any) -> PeerCircuit:
    """Compile with the peer in a fresh context: lse-sum, fold, optimize."""
    from cirkit.pipeline import PipelineContext

    context = PipelineContext(backend="torch", semiring="lse-sum", fold=True, optimize=True)
    return PeerCircuit(symbolic, context.compile(symbolic), context)


@torch.no_grad()
def carry_values(source: Circuit, values: Mapping[str, Tensor], peer: PeerCircuit) -> Tensor:
    """Copy the values of our leaves to the peer; returns its order of our variables: x_peer = x[:, order].

    Both circuits are traversed from the outputs in lockstep, which pairs corresponding layers.
    Raises: StructureError if they differ.
    """
    names = source.leaf_names
    state = peer.context._compiler.state
    order = torch.zeros(len(source.scope), dtype=torch.long)
    for node, other in _pairs(source, peer.symbolic):
        layer = source.graph.nodes[node]
        if not source.graph.inputs[node]:
            order[next(iter(peer.symbolic.layer_scope(other)))] = source.scopes[node][0]
        for name, parameter in parameters_of(layer).items():
            ours = [leaf for leaf in parameter.nodes() if isinstance(leaf, TensorParameter)]
            theirs = [leaf for leaf in other.params[name].nodes if type(leaf).__name__ == "TensorParameter"]
            if [leaf.shape for leaf in ours] != [tuple(leaf.shape) for leaf in theirs]:
                raise StructureError(f"layer {node}: its {name} has leaves {ours}; the peer's has {theirs}")
            for leaf, their_leaf in zip(ours, theirs, strict=True):
                tensor, slice_idx = state.retrieve_compiled_parameter(their_leaf)
                tensor._ptensor[slice_idx] = values[names[leaf]]
    return order


def _region_graph(case: Case) -> Any:
    from cirkit.templates import region_graph as algorithms

    shape = case.shape
    match case.region_graph:
        case "quad-tree-2":
            return algorithms.QuadTree(shape, num_patch_splits=2)
        case "quad-tree-4":
            return algorithms.QuadTree(shape, num_patch_splits=4)
        case "quad-graph":
            return algorithms.QuadGraph(shape)
        case "poon-domingos":
            return algorithms.PoonDomingos(shape, delta=max(-(-shape[1] // 8), -(-shape[2] // 8)))
        case "random-binary-tree":
            return algorithms.RandomBinaryTree(shape[0] * shape[1] * shape[2])
    raise StructureError(f"the peer has no region graph named {case.region_graph!r} for images")


def _pairs(source: Circuit, other: Any) -> Iterator[tuple[int, Any]]:
    """Yield the pairs of corresponding layers of both circuits, each once. Raises: StructureError."""
    pair: dict[int, Any] = {}
    waiting = list(zip(source.outputs, other.outputs, strict=True))
    while waiting:
        node, twin = waiting.pop()
        if node in pair:
            if pair[node] is not twin:
                raise StructureError(f"layer {node} is shared differently by the peer")
            continue
        sources, others = source.graph.inputs[node], other.layer_inputs(twin)
        layer = source.graph.nodes[node]
        if type(layer).__name__ != type(twin).__name__ or len(sources) != len(others):
            raise StructureError(f"layer {node} is a {layer!r}; the peer has {twin!r} there")
        pair[node] = twin
        yield node, twin
        waiting.extend(zip(sources, others, strict=True))

"""Small circuits of the peer, by its public functions: its templates, region graphs, layers, parameters and operators.

Import it after `pytest.importorskip("cirkit")`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from cirkit.pipeline import PipelineContext
from cirkit.symbolic import functional
from cirkit.symbolic.circuit import Circuit
from cirkit.symbolic.dtypes import DataType
from cirkit.symbolic.initializers import NormalInitializer
from cirkit.symbolic.layers import (
    BinomialLayer,
    CategoricalLayer,
    ConstantValueLayer,
    EmbeddingLayer,
    GaussianLayer,
    HadamardLayer,
    KroneckerLayer,
    PolynomialLayer,
    SumLayer,
)
from cirkit.symbolic.parameters import ConstantParameter, Parameter, TensorParameter
from cirkit.templates import data_modalities, pgms, region_graph as algorithms, tensor_factorizations, utils
from cirkit.templates.logic import LogicalCircuit
from cirkit.templates.logic.graph import ConjunctionNode, DisjunctionNode, LiteralNode, NegatedLiteralNode
from cirkit.utils.scope import Scope

SOFTMAX = utils.Parameterization(activation="softmax", initialization="normal")
TABLE = np.random.default_rng(3).integers(3, size=(40, 5))
OBSERVED: Any = {0: 1, 3: 200}
MODES = [{"fold": fold, "optimize": optimize} for fold in (False, True) for optimize in (False, True)]


def compile_peer(circuit: Circuit, semiring: str = "sum-product", **mode: bool) -> tuple[Any, PipelineContext[Any]]:
    """The compiled circuit, and its context, without which its values are lost."""
    context = PipelineContext(backend="torch", semiring=semiring, **({"fold": False, "optimize": False} | mode))
    return context.compile(circuit), context


def rows_of(circuit: Circuit, batch: int = 3) -> torch.Tensor | None:
    """Inputs that all layers accept: 0 or 1; None for a circuit without variables."""
    width = max(circuit.scope, default=-1) + 1
    return torch.from_numpy(np.random.default_rng(5).integers(2, size=(batch, width))) if width else None


def image(name: str, block: str = "cp", layer: str = "categorical", classes: int = 1, **options: Any) -> Circuit:
    return data_modalities.image_data(
        (1, 3, 3),
        name,
        input_layer=layer,
        num_input_units=2,
        sum_product_layer=block,
        num_sum_units=2,
        num_classes=classes,
        sum_weight_param=SOFTMAX,
        **options,
    )


def table(name: str) -> Circuit:
    layers = [
        {"name": "categorical", "args": {"num_categories": 3}},
        {"name": "binomial", "args": {"total_count": 4}},
        {"name": "gaussian", "args": {}},
        {"name": "embedding", "args": {"num_states": 3}},
        {"name": "categorical", "args": {"num_categories": 3}},
    ]
    return data_modalities.tabular_data(
        name,
        data=torch.from_numpy(TABLE),
        num_features=5,
        input_layers=layers if name == "random-binary-tree" else layers[0],
        num_input_units=2,
        sum_product_layer="cp-t",
        num_sum_units=2,
    )


def region(graph: Any, block: str = "cp") -> Circuit:
    return graph.build_circuit(
        input_factory=lambda scope, units: CategoricalLayer(scope, units, num_categories=2),
        sum_product=block,
        sum_weight_factory=utils.parameterization_to_factory(SOFTMAX),
        nary_sum_weight_factory=utils.parameterization_to_factory(SOFTMAX),
        num_input_units=2,
        num_sum_units=2,
    )


def hmm() -> Circuit:
    return pgms.hmm([2, 0, 1], input_layer="binomial", num_latent_states=2, input_layer_kwargs={"total_count": 2})


def chain() -> Circuit:
    """A hidden Markov model of three binomial variables, layer by layer."""
    inputs = [BinomialLayer(Scope([v]), 2, total_count=2) for v in range(3)]
    sums, products = [SumLayer(2, 2), SumLayer(2, 2), SumLayer(2, 1)], [HadamardLayer(2, 2), HadamardLayer(2, 2)]
    below = {sums[0]: inputs[:1], products[0]: [sums[0], inputs[1]], sums[1]: products[:1]}
    below |= {products[1]: [sums[1], inputs[2]], sums[2]: products[1:]}
    return Circuit([*inputs, *sums, *products], below, sums[2:])


def complex_numbers(shape: tuple[int, ...]) -> Parameter:
    return Parameter.from_input(TensorParameter(*shape, initializer=NormalInitializer(), dtype=DataType.COMPLEX))


def born() -> Circuit:
    """A complex circuit times its conjugate, integrated over nothing."""
    inputs = [EmbeddingLayer(Scope([v]), 2, num_states=2, weight_factory=complex_numbers) for v in range(2)]
    product, root = HadamardLayer(2, 2), SumLayer(2, 1, weight_factory=complex_numbers)
    circuit = Circuit([*inputs, product, root], {product: inputs, root: [product]}, [root])
    return functional.multiply(circuit, functional.conjugate(circuit))


def by_hand() -> Circuit:
    """Every symbolic layer, with the parameters that templates do not choose."""

    def logits(shape: tuple[int, ...]) -> Parameter:
        return Parameter.from_input(TensorParameter(*shape, initializer=NormalInitializer()))

    inputs = [
        CategoricalLayer(Scope([0]), 2, num_categories=2, logits_factory=logits),
        BinomialLayer(Scope([1]), 2, total_count=2, logits_factory=logits),
        GaussianLayer(Scope([2]), 2, log_partition=logits((2,))),
        PolynomialLayer(Scope([3]), 2, degree=2),
        ConstantValueLayer(2, log_space=True, value=logits((2,))),
        ConstantValueLayer(2, value=Parameter.from_input(ConstantParameter(2, value=np.array([0.5, 2.0])))),
    ]
    kronecker, mixed, hadamard = KroneckerLayer(2, 3), SumLayer(8, 2), HadamardLayer(2, 4)
    root = SumLayer(2, 2, arity=2)
    return Circuit(
        [*inputs, kronecker, mixed, hadamard, root],
        {kronecker: inputs[:3], mixed: [kronecker], hadamard: [mixed, *inputs[3:]], root: [hadamard, hadamard]},
        [root],
    )


def logic() -> Circuit:
    """(x0 and not x1) or (not x0 and x2), made smooth."""
    literals = [LiteralNode(0), NegatedLiteralNode(1), NegatedLiteralNode(0), LiteralNode(2)]
    one, other, root = ConjunctionNode(), ConjunctionNode(), DisjunctionNode()
    inputs = {one: literals[:2], other: literals[2:], root: [one, other]}
    formula = LogicalCircuit([*literals, one, other, root], inputs, [root])
    formula.smooth()
    return formula.build_circuit()


def signed_image() -> Circuit:
    """Complex weights and inputs, as in a squared image circuit with negative or complex parameters."""
    weights = utils.Parameterization(initialization="normal", dtype="complex")
    return data_modalities.image_data(
        (1, 2, 2),
        "quad-tree-2",
        input_layer="embedding",
        num_input_units=2,
        sum_product_layer="cp",
        num_sum_units=2,
        input_params={"weight": weights},
        sum_weight_param=weights,
    )


def positive_image() -> Circuit:
    """Weights by other activations than softmax."""
    return data_modalities.image_data(
        (1, 2, 2),
        "quad-graph",
        input_layer="categorical",
        num_input_units=2,
        sum_product_layer="cp-t",
        num_sum_units=2,
        input_params={"logits": utils.Parameterization(initialization="uniform")},
        sum_weight_param=utils.Parameterization(activation="positive-clamp", initialization="dirichlet"),
    )


TEMPLATES: dict[str, Callable[[], Circuit]] = {
    **{
        f"{name} {block}": lambda name=name, block=block: image(name, block)
        for name, block in (
            ("quad-tree-2", "cp"),
            ("quad-tree-4", "cp-t"),
            ("quad-graph", "cp"),
            ("quad-graph", "tucker"),
            ("random-binary-tree", "tucker"),
            ("poon-domingos", "cp-t"),
        )
    },
    "dense n-ary sums": lambda: image("quad-graph", use_mixing_weights=False),
    "binomial, two classes": lambda: image("quad-tree-2", layer="binomial", classes=2),
    "gaussian": lambda: image("quad-tree-4", layer="gaussian"),
    "embedding": lambda: image("quad-graph", "tucker", layer="embedding"),
    "table": lambda: table("random-binary-tree"),
    "learned table": lambda: table("chow-liu-tree"),
    "linear tree": lambda: region(algorithms.LinearTree(4, num_repetitions=2, randomize=True)),
    "fully factorized regions": lambda: region(algorithms.FullyFactorized(4, num_repetitions=2)),
    "random binary tree": lambda: region(algorithms.RandomBinaryTree(6, num_repetitions=2), "tucker"),
    "fully factorized": lambda: pgms.fully_factorized(
        3, input_layer="categorical", input_layer_kwargs={"num_categories": 2}
    ),
    "hidden Markov model": hmm,
    "cp": lambda: tensor_factorizations.cp((2, 3, 2), 3, weight_param=SOFTMAX),
    "tucker": lambda: tensor_factorizations.tucker((2, 3, 2), 2),
    "tensor train": lambda: tensor_factorizations.tensor_train((2, 3, 2), 2),
    "logic": logic,
    "complex image": signed_image,
    "positive image": positive_image,
    "by hand": by_hand,
}
"""Every template and region graph, and every layer."""


def _square(circuit: Circuit) -> Circuit:
    return functional.multiply(circuit, circuit)


def polynomial() -> Circuit:
    inputs = [PolynomialLayer(Scope([v]), 2, degree=2) for v in range(2)]
    product, root = HadamardLayer(2, 2), SumLayer(2, 1)
    return Circuit([*inputs, product, root], {product: inputs, root: [product]}, [root])


OPERATORS: dict[str, Callable[[], Circuit]] = {
    "integral": lambda: functional.integrate(image("quad-tree-2")),
    "integral of some variables": lambda: functional.integrate(
        image("quad-tree-2", layer="gaussian"), scope=Scope([0, 4])
    ),
    "square": lambda: _square(image("quad-tree-2", "cp-t")),
    "integral of a square": lambda: functional.integrate(_square(tensor_factorizations.cp((2, 2), 3))),
    "square of a Kronecker circuit": lambda: _square(image("quad-tree-2", "tucker", layer="embedding")),
    "square of Gaussians": lambda: _square(image("quad-tree-2", layer="gaussian")),
    "square of polynomials": lambda: _square(polynomial()),
    "squared complex image": lambda: functional.multiply(signed_image(), functional.conjugate(signed_image())),
    "integral of a squared complex image": lambda: functional.integrate(
        functional.multiply(image_ := signed_image(), functional.conjugate(image_))
    ),
    "born": born,
    "integral of born": lambda: functional.integrate(born()),
    "evidence": lambda: functional.evidence(image("quad-tree-2"), obs=OBSERVED),
    "concatenation": lambda: functional.concatenate([chain(), chain()]),
    "derivative": lambda: functional.differentiate(polynomial()),
    "second derivative": lambda: functional.differentiate(polynomial(), order=2),
}
"""Results of every operator on circuits."""

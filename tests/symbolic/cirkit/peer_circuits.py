"""Small circuits of the peer, by its public functions: its templates, region graphs, layers, parameters and operators.

Import it after `pytest.importorskip("cirkit")`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
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
from cirkit.templates.logic import SDD, LogicalCircuit
from cirkit.templates.logic.graph import ConjunctionNode, DisjunctionNode, LiteralNode, NegatedLiteralNode
from cirkit.utils.scope import Scope

POSITIVE = utils.Parameterization(activation="sigmoid", initialization="normal")
PLAIN = utils.Parameterization(initialization="normal")
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


def image(
    name: str,
    block: str = "cp",
    layer: str = "categorical",
    classes: int = 1,
    weights: utils.Parameterization = SOFTMAX,
    **options: Any,
) -> Circuit:
    """Raises: NotImplementedError if the release has no such region graph."""
    try:
        return data_modalities.image_data(
            (1, 3, 3),
            name,
            input_layer=layer,
            num_input_units=2,
            sum_product_layer=block,
            num_sum_units=2,
            num_classes=classes,
            sum_weight_param=weights,
            **options,
        )
    except (TypeError, ValueError) as error:
        if "Unknown region graph" in str(error) or "unexpected keyword argument 'data'" in str(error):
            raise NotImplementedError(str(error)) from error
        raise


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


def stored(graph: Any) -> Any:
    """The region graph after a round trip through a file."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder) / "regions.json")
        graph.dump(path)
        return algorithms.RegionGraph.load(path)


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


IMAGES = torch.from_numpy(np.random.default_rng(4).integers(256, size=(20, 1, 3, 3)))
REAL_TABLE = np.random.default_rng(5).normal(size=(60, 4)) @ np.random.default_rng(6).normal(size=(4, 4))


def learned_table(kinds: Sequence[str]) -> Circuit:
    """A Chow-Liu tree of real columns, or of columns of different types."""
    types = {"gaussian": {}, "categorical": {"num_categories": 3}}
    columns = [REAL_TABLE[:, v] if kind == "gaussian" else TABLE[:, v][:60] for v, kind in enumerate(kinds)]
    layers = [{"name": kind, "args": types[kind]} for kind in kinds]
    return data_modalities.tabular_data(
        "chow-liu-tree",
        data=torch.from_numpy(np.stack([np.resize(column, 40) for column in columns], axis=1)).float(),
        input_layers=layers if len(set(kinds)) > 1 else layers[0],
        num_input_units=2,
        sum_product_layer="cp",
        num_sum_units=2,
    )


def regions_by_factories(graph: Any) -> Circuit:
    """A circuit with sum and product layers made by functions.

    Raises: NotImplementedError if the release fails at the first partition, as 0.2.1 and 0.3.1 do.
    """
    try:
        return graph.build_circuit(
            input_factory=lambda scope, units: CategoricalLayer(scope, units, num_categories=2),
            sum_factory=lambda num_inputs, num_outputs: SumLayer(
                num_inputs, num_outputs, weight_factory=utils.parameterization_to_factory(SOFTMAX)
            ),
            prod_factory=HadamardLayer,
            num_input_units=2,
            num_sum_units=2,
        )
    except AssertionError as error:
        raise NotImplementedError(str(error)) from error


SDD_TEXT = """c (x0 and x1) or (not x0 and not x1)
sdd 5
L 1 0 1
L 2 2 2
L 3 0 -1
L 4 2 -2
D 0 1 2 1 2 3 4
"""
"""The peer takes node 0 for the root."""


def loaded_logic(**factories: Any) -> Circuit:
    """A formula that is read from a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "equal.sdd"
        path.write_text(SDD_TEXT, encoding="utf-8")
        return SDD.load(str(path)).build_circuit(**factories)


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


def signed_image(dtype: str = "complex") -> Circuit:
    """Weights and inputs of any sign, or complex, as in a squared image circuit."""
    weights = utils.Parameterization(initialization="normal", dtype=dtype)
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
        for name in ("quad-tree-2", "quad-tree-4", "quad-graph", "random-binary-tree", "poon-domingos", "linear-tree")
        for block in ("cp", "cp-t", "tucker")
    },
    "Chow-Liu tree of images": lambda: image("chow-liu-tree", data=IMAGES, num_bins=4),
    "dense n-ary sums": lambda: image("quad-graph", use_mixing_weights=False),
    "binomial, two classes": lambda: image("quad-tree-2", layer="binomial", classes=2),
    "gaussian": lambda: image("quad-tree-4", layer="gaussian"),
    "embedding": lambda: image("quad-graph", "tucker", layer="embedding"),
    "table": lambda: table("random-binary-tree"),
    "learned table": lambda: table("chow-liu-tree"),
    "learned table of real columns": lambda: learned_table(["gaussian"] * 4),
    "learned table of columns of two types": lambda: learned_table(["gaussian", "categorical"] * 2),
    "linear tree": lambda: region(algorithms.LinearTree(4, num_repetitions=2, randomize=True)),
    "fully factorized regions": lambda: region(algorithms.FullyFactorized(4, num_repetitions=2)),
    "region graph from a file": lambda: region(stored(algorithms.QuadGraph((1, 2, 3)))),
    "Poon-Domingos with two distances": lambda: region(algorithms.PoonDomingos((1, 3, 3), delta=[1.0, 2.0])),
    "random binary tree": lambda: region(algorithms.RandomBinaryTree(6, num_repetitions=2), "tucker"),
    "fully factorized": lambda: pgms.fully_factorized(
        3, input_layer="categorical", input_layer_kwargs={"num_categories": 2}
    ),
    "hidden Markov model": hmm,
    "cp": lambda: tensor_factorizations.cp((2, 3, 2), 3, weight_param=SOFTMAX),
    "tucker": lambda: tensor_factorizations.tucker((2, 3, 2), 2),
    "tensor train": lambda: tensor_factorizations.tensor_train((2, 3, 2), 2),
    "logic": logic,
    "logic from a file": loaded_logic,
    "one region by factories": lambda: regions_by_factories(algorithms.RandomBinaryTree(4, depth=0)),
    "regions by factories": lambda: regions_by_factories(algorithms.RandomBinaryTree(4, depth=1)),
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


# ---- circuits of the kinds that the peer's notebooks build


def gaussian_mixture() -> Circuit:
    """Three components of two real variables."""
    inputs = [GaussianLayer(Scope([v]), 3) for v in range(2)]
    product, root = HadamardLayer(3, 2), SumLayer(3, 1, weight_factory=utils.parameterization_to_factory(SOFTMAX))
    return Circuit([*inputs, product, root], {product: inputs, root: [product]}, [root])


def regions_with_parameterizations() -> Circuit:
    """A region graph with an input layer for each variable, and weights by several activations."""
    positive, softmax = (utils.parameterization_to_factory(one) for one in (POSITIVE, SOFTMAX))
    layers: list[Callable[[Scope, int], Any]] = [
        lambda scope, units: CategoricalLayer(scope, units, num_categories=3, probs_factory=softmax),
        lambda scope, units: BinomialLayer(scope, units, total_count=3),
        GaussianLayer,
        lambda scope, units: EmbeddingLayer(scope, units, num_states=2, weight_factory=positive),
    ]
    return algorithms.LinearTree(4).build_circuit(
        input_factory=lambda scope, num_units: layers[next(iter(scope))](scope, num_units),
        sum_product="cp",
        sum_weight_factory=positive,
        nary_sum_weight_factory=softmax,
        num_input_units=2,
        num_sum_units=2,
    )


def sum_of_squares() -> Circuit:
    """Two squares of real circuits with negative weights, each with one output."""
    squares = [_square(signed_image("real")) for _ in range(2)]
    return functional.concatenate(squares)


NOTEBOOKS: dict[str, Callable[[], Circuit]] = {
    "images": lambda: image("quad-graph", "cp", layer="categorical"),
    "compilation options": lambda: image("quad-tree-4", "tucker"),
    "compression by a CP factorization": lambda: tensor_factorizations.cp((3, 4, 4), 5),
    "compression by a Tucker factorization": lambda: tensor_factorizations.tucker((3, 4, 2), 2),
    "generative and discriminative classifiers": lambda: image("quad-tree-2", "cp", classes=4),
    "Gaussian mixture": gaussian_mixture,
    "formula": loaded_logic,
    "models of a formula": lambda: functional.integrate(loaded_logic()),
    "distribution on the models of a formula": lambda: loaded_logic(
        weight_factory=utils.parameterization_to_factory(SOFTMAX)
    ),
    "region graph and parameterizations": regions_with_parameterizations,
    "square of a real circuit": lambda: _square(signed_image("real")),
    "partition function of a square": lambda: functional.integrate(_square(signed_image("real"))),
    "sum of squares": sum_of_squares,
    "partition functions of squares": lambda: functional.integrate(sum_of_squares()),
    "sum of squares, complex": lambda: functional.multiply(circuit := signed_image(), functional.conjugate(circuit)),
}
"""Small circuits of each kind. Quadrature circuits (PIC) are compiled ones with other parameters: see their test."""

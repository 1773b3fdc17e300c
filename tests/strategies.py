"""Hypothesis strategies: random small circuits, legal inputs for them, and random graphs.

The structure is drawn, so that a failing circuit shrinks; the numbers in the leaves come from one drawn seed. Each
leaf has a ConstantInitializer (float64, complex128 or int64), so that oracle and engine start from the same values.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from explorer.graph import Graph, nested_of, parameters_of
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    ClampParameter,
    ConstantInitializer,
    ConstantValueLayer,
    DataType,
    EmbeddingLayer,
    EvidenceLayer,
    ExponentialLayer,
    GaussianLayer,
    GaussianProductLogPartitionParameter,
    HadamardLayer,
    HistogramLayer,
    InputLayer,
    KroneckerLayer,
    KroneckerParameter,
    LaplaceLayer,
    Layer,
    MixingWeightParameter,
    MultivariateGaussianLayer,
    ParameterNode,
    ParameterOp,
    PolynomialLayer,
    RearrangeLayer,
    ScaledSigmoidParameter,
    Scope,
    Shape,
    SoftmaxParameter,
    SumLayer,
    TensorParameter,
    shared_variables,
    union,
)
from tests.expressions import EXPRESSIONS, Kind, divisors

T = TypeVar("T")
MAX_LAYERS = 25
MAX_WIDTH = 9
MANY_VARIABLES = 4
"""Beyond this number, discrete variables have two states, so that there are at most 81 assignments."""
MAX_DEGREE = 8
"""Maximum power of one input in a product, which keeps every value well within the range of float64."""


@st.composite
def circuits(
    draw: st.DrawFn,
    *,
    positive: bool = True,
    complex_leaves: bool = False,
    smooth: bool = False,
    rearranged: bool = True,
    discrete: bool = False,
) -> Circuit:
    """Random decomposable circuits of at most 25 layers, with values above 0 if `positive` (as lse-sum needs).

    Up to six variables, discrete and continuous ones, unused ones, sums of arity 1 to 3, mixing and Kronecker-product
    weights, layers that read one layer twice, chains of sums, rearranged units (unless `rearranged` is False),
    evidence, constants, dead layers, leaves and expressions shared inside the circuit, ids that are not 0, 1, 2,
    several outputs of one width, interior ones and one output twice. With `smooth`, the inputs of a sum have one scope;
    with `discrete`, no variable is real. With `complex_leaves` (for complex-lse-sum), some leaves are complex.
    """
    kind: Kind = "positive" if positive else "any"
    maker = Maker(draw, kind, complex_leaves and not positive, smooth, rearranged, discrete)
    return maker.circuit()


def inputs_for(circuit: Circuit, batch: int = 3) -> st.SearchStrategy[NDArray[Any] | None]:
    """Legal inputs (batch, D) of a circuit, None if it reads no variable."""
    return st.integers(0, 2**16).map(lambda seed: random_inputs(circuit, batch, seed))


def random_inputs(circuit: Circuit, batch: int = 3, seed: int = 0) -> NDArray[Any] | None:
    """Legal inputs (batch, D): int64 if all variables are discrete, otherwise float64; None if there is no variable."""
    if circuit.num_variables == 0:
        return None
    random = np.random.default_rng(seed)
    states: dict[int, int] = {}
    real: set[int] = set()
    for layer in circuit.layers:
        if isinstance(layer, InputLayer) and layer.scope:
            count = layer.num_values
            if count is None:
                real.add(layer.scope[0])
            else:
                states[layer.scope[0]] = min(count, states.get(layer.scope[0], count))
    columns = [
        random.integers(0, states[v], batch) if v in states else random.uniform(0.1, 1.5, batch)
        for v in range(circuit.num_variables)
    ]
    x = np.stack(columns, axis=1)
    if real:
        return x
    return np.stack([column if v in states else 0 * column for v, column in enumerate(columns)], axis=1).astype(
        np.int64
    )


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 10) -> Graph[str]:
    """Random graphs of letters: any directed acyclic graph, possibly empty, with repeated inputs and outputs."""
    ids = draw(st.lists(st.integers(0, 99), max_size=max_nodes, unique=True))
    inputs: dict[int, tuple[int, ...]] = {}
    for node in ids:
        below = list(inputs)
        inputs[node] = tuple(draw(st.lists(st.sampled_from(below), max_size=3))) if below else ()
    outputs = draw(st.lists(st.sampled_from(ids), max_size=3)) if ids else []
    return Graph({node: "abcdefghij"[i % 10] for i, node in enumerate(ids)}, inputs, tuple(outputs))


@dataclass
class Maker:
    """Adds random layers to a pool and random expressions to a pool of parameters."""

    draw: st.DrawFn
    kind: Kind
    complex_leaves: bool
    smooth: bool
    rearranged: bool = True
    discrete: bool = False
    nodes: dict[int, Layer] = field(default_factory=dict)
    inputs: dict[int, tuple[int, ...]] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)
    degrees: dict[int, int] = field(default_factory=dict)
    variables: dict[int, int | None] = field(default_factory=dict)
    parameters: dict[tuple[Shape, Kind], list[ParameterNode]] = field(default_factory=dict)
    kinds: dict[ParameterNode, Kind] = field(default_factory=dict)
    num_named: int = 0

    def circuit(self) -> Circuit:
        self.random = np.random.default_rng(self.draw(st.integers(0, 2**16)))
        width = self.choose([2, 1, 3, 4])
        count = self.choose([1, 2, 3, 4, 0, 3, 4, 5, 6])
        states: list[int | None] = [2] if count > MANY_VARIABLES else [2, 3]
        for variable in self.draw(st.lists(st.integers(0, 6), min_size=count, max_size=count, unique=True)):
            self.variables[variable] = self.choose(states if self.discrete else [*states, None])
        for variable in self.variables:
            self.add_input(variable, width)
        if not self.variables:
            self.add_input(None, width)
        steps = [
            self.add_product_and_sum,
            self.add_twin,
            self.add_sum,
            self.add_product,
            self.add_chain,
            self.add_any_input,
            *([self.add_rearranged] * self.rearranged),
        ]
        for _ in range(self.choose(list(range(12)))):
            step = self.choose(steps)
            if len(self.nodes) < MAX_LAYERS - 4:
                step()
        if count > MANY_VARIABLES or (count > 1 and self.chance(2)):
            self.add_product_of_all_variables(width)
        return self.finish()

    def finish(self) -> Circuit:
        last = list(self.nodes)[-1]
        alike = [node for node in self.nodes if self.width(node) == self.width(last)]
        outputs = [last, *self.draw(st.lists(st.sampled_from(alike), max_size=2))]
        renumber: Callable[[int], int] = self.choose([lambda n: n, lambda n: 3 * n + 5, lambda n: 60 - n])
        graph = Graph(
            {renumber(n): layer for n, layer in self.nodes.items()},
            {renumber(n): tuple(map(renumber, sources)) for n, sources in self.inputs.items()},
            tuple(map(renumber, outputs)),
        )
        names = {renumber(last): "root"} if self.chance(4) else {}
        return Circuit(graph, names)

    # ---- choices

    def choose(self, options: list[T]) -> T:
        """One of the options; failing examples shrink towards the first."""
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return self.draw(st.integers(0, one_in - 1)) == one_in - 1

    def width(self, node: int) -> int:
        return self.nodes[node].num_output_units

    # ---- layers

    def add(self, layer: Layer, *inputs: int) -> int:
        node = len(self.nodes)
        self.nodes[node] = layer
        self.inputs[node] = inputs
        if isinstance(layer, InputLayer):
            self.scopes[node], self.degrees[node] = layer.scope, 1
        else:
            self.scopes[node] = union(self.scopes[source] for source in inputs)
            degrees = [self.degrees[source] for source in inputs]
            self.degrees[node] = max(degrees) if isinstance(layer, SumLayer) else sum(degrees)
        return node

    def some_node(self) -> int:
        """A node to read: preferably one without users, preferably a late one."""
        unread = [node for node in self.nodes if all(node not in sources for sources in self.inputs.values())]
        return self.choose([*reversed(unread), *reversed(self.nodes)])

    def add_any_input(self) -> int:
        return self.add_input(self.choose([*self.variables, None]), self.choose([2, 1, 3, 4]))

    def add_input(self, variable: int | None, width: int) -> int:
        """An input layer of this variable, or evidence or a constant."""
        if variable is not None:
            return self.add(self.input_layer(variable, width))
        if self.variables and self.chance(2):
            observed = self.choose(list(self.variables))
            states = self.variables[observed]
            value = self.random.uniform(0.1, 1.5, 1) if states is None else self.random.integers(0, states, 1)
            dtype = DataType.REAL if states is None else DataType.INTEGER
            observation = TensorParameter((1,), dtype, learnable=False, initializer=ConstantInitializer(value))
            layer = self.input_layer(observed, width)
            return self.add(EvidenceLayer(num_output_units=width, layer=layer, observation=observation))
        log_space = self.chance(2)
        value = self.parameter((width,), "any" if log_space else self.weight_kind())
        return self.add(ConstantValueLayer(num_output_units=width, log_space=log_space, value=value))

    def input_layer(self, variable: int, width: int) -> InputLayer:
        states = self.variables[variable]
        given: dict[str, Any] = {"scope": (variable,), "num_output_units": width}
        if states is None:
            if self.chance(2):
                degree = self.choose([1, 0, 2])
                return PolynomialLayer(
                    **given, degree=degree, coeff=self.parameter((width, degree + 1), self.weight_kind())
                )
            kind = self.choose(["normal", "normal", "joint", "exponential", "laplace", "histogram"])
            if kind == "exponential":
                return ExponentialLayer(**given, mean=self.stddev((width,)))
            if kind == "laplace":
                return LaplaceLayer(**given, location=self.parameter((width,), "any"), scale=self.stddev((width,)))
            if kind == "histogram":
                return HistogramLayer(**given, edges=(0.0, 0.5, 2.0), probs=self.parameter((width, 2), "unit"))
            if kind == "joint":
                mean, stddev = self.parameter((width, 1), "any"), self.stddev((width, 1))
                return MultivariateGaussianLayer(
                    **given, mean=mean, stddev=stddev, slope=self.parameter((width, 1, 1), "any")
                )
            log_partition = self.log_partition((width,)) if self.chance(3) else None
            mean, stddev = self.parameter((width,), "any"), self.stddev((width,))
            return GaussianLayer(**given, mean=mean, stddev=stddev, log_partition=log_partition)
        kind = self.choose(["probs", "softmax", "logits", "binomial probs", "binomial logits", "embedding"])
        if kind == "embedding":
            return EmbeddingLayer(
                **given, num_states=states, weight=self.parameter((width, states), self.weight_kind())
            )
        if kind == "binomial probs":
            return BinomialLayer(**given, total_count=states - 1, probs=self.parameter((width,), "unit"))
        if kind == "binomial logits":
            return BinomialLayer(**given, total_count=states - 1, logits=self.parameter((width,), "any"))
        if kind == "logits":
            return CategoricalLayer(**given, num_categories=states, logits=self.parameter((width, states), "any"))
        if kind == "softmax":
            probs: ParameterNode = SoftmaxParameter((self.parameter((width, states), "any"),), axis=1)
            return CategoricalLayer(**given, num_categories=states, probs=probs)
        return CategoricalLayer(**given, num_categories=states, probs=self.parameter((width, states), "unit"))

    def log_partition(self, shape: Shape) -> ParameterNode:
        if self.chance(2):
            return self.parameter(shape, "any")
        mean, stddev = self.leaf(shape, "any"), self.leaf(shape, "unit")
        one = self.leaf((1,), "unit")
        return GaussianProductLogPartitionParameter((mean, stddev, one, one))

    def add_sum(self, below: int | None = None) -> int:
        """A sum over one to three layers of one width."""
        first = self.some_node() if below is None else below
        width = self.width(first)
        inputs = [first]
        if below is None:
            alike = [n for n in self.nodes if self.width(n) == width]
            if self.smooth:
                alike = [n for n in alike if self.scopes[n] == self.scopes[first]]
            inputs += self.draw(st.lists(st.sampled_from(alike), max_size=2))
        mixing = len(inputs) > 1 and self.chance(2)
        units = width if mixing else self.choose([width if width <= 4 else 2, 1, 2, 3, 4])
        weight = self.sum_weight(units, len(inputs), width, mixing)
        layer = SumLayer(num_input_units=width, num_output_units=units, arity=len(inputs), weight=weight)
        return self.add(layer, *inputs)

    def sum_weight(self, units: int, arity: int, width: int, mixing: bool) -> ParameterNode:
        kind = self.weight_kind()
        if mixing:
            return MixingWeightParameter((self.parameter((units, arity), kind),))
        shape = (units, arity * width)
        kronecker = None if self.chance(2) else self.kronecker(shape, kind, depth=1)
        return kronecker or self.parameter(shape, kind)

    def add_product(self) -> int:
        """A Hadamard or Kronecker layer over one to three layers of one width and of disjoint scopes."""
        first = self.some_node()
        width = self.width(first)
        inputs, scope, degree = [first], self.scopes[first], self.degrees[first]
        for _ in range(self.choose([1, 1, 2, 0])):
            fits = [
                n
                for n in reversed(self.nodes)
                if self.width(n) == width
                and not shared_variables([scope, self.scopes[n]])
                and degree + self.degrees[n] <= MAX_DEGREE
            ]
            if not fits and degree < MAX_DEGREE:
                free = [v for v in self.variables if v not in scope]
                fits = [self.add_input(self.choose([*free, None]), width)]
            if fits:
                inputs.append(self.choose(fits))
                scope = union([scope, self.scopes[inputs[-1]]])
                degree += self.degrees[inputs[-1]]
        if len(inputs) == 3 and self.chance(2):
            inputs = inputs[::-1]
        arity = len(inputs)
        if width**arity <= MAX_WIDTH and self.chance(2):
            return self.add(KroneckerLayer(num_input_units=width, num_output_units=width**arity, arity=arity), *inputs)
        return self.add(HadamardLayer(num_input_units=width, num_output_units=width, arity=arity), *inputs)

    def add_product_of_all_variables(self, width: int) -> int:
        """A Hadamard layer of all variables, below a sum; of layers of most variables first."""
        chosen: list[int] = []
        alike = [node for node in self.nodes if self.width(node) == width]
        for node in sorted(alike, key=lambda n: (len(self.scopes[n]), n), reverse=True):
            degree = sum(self.degrees[n] for n in [*chosen, node])
            shared = shared_variables([union(self.scopes[n] for n in chosen), self.scopes[node]])
            if self.scopes[node] and not shared and degree <= MAX_DEGREE:
                chosen.append(node)
        layer = HadamardLayer(num_input_units=width, num_output_units=width, arity=len(chosen))
        return self.add_sum(self.add(layer, *chosen))

    def add_product_and_sum(self) -> int:
        return self.add_sum(self.add_product())

    def add_rearranged(self) -> int:
        """A layer with the units of another one in another order, or repeated."""
        node = self.some_node()
        width = self.width(node)
        first = self.choose(divisors(width))
        sizes, axes = self.choose(
            [((width // first, first), (1, 0)), ((first, width // first), (0, 1)), ((width, 2), (0, -1))]
        )
        units = width * 2 if -1 in axes else width
        if units > MAX_WIDTH:
            return self.add_sum(node)
        layer = RearrangeLayer(num_input_units=width, num_output_units=units, sizes=sizes, axes=axes)
        return self.add(layer, node)

    def add_chain(self) -> int:
        return self.add_sum(self.add_sum(self.some_node()))

    def add_twin(self) -> int:
        """A layer that may fold with an existing one: of its type and config, with inputs of the same widths."""
        node = self.some_node()
        layer = self.nodes[node]
        if not isinstance(layer, SumLayer):
            return self.add(self.twin(layer)) if isinstance(layer, InputLayer) else self.add_product()
        inputs = [
            self.choose([n for n in self.nodes if self.width(n) == self.width(s) and self.scopes[n] == self.scopes[s]])
            for s in self.inputs[node]
        ]
        return self.add(self.twin(layer), *inputs)

    def twin(self, layer: T) -> T:
        given: dict[str, Any] = {name: self.twin_parameter(p) for name, p in parameters_of(layer).items()}
        given |= {name: self.twin(nested) for name, nested in nested_of(layer).items()}
        if isinstance(layer, InputLayer) and layer.scope:
            states = self.variables[layer.scope[0]]
            given["scope"] = (self.choose([v for v, count in self.variables.items() if count == states]),)
        return replace(layer, **given)  # type: ignore[type-var]

    def twin_parameter(self, parameter: ParameterNode) -> ParameterNode:
        """A parameter that can replace this one: a different one, one of the same form, or the same one."""
        if parameter in self.kinds:
            return self.parameter(parameter.shape, self.kinds[parameter])
        if not isinstance(parameter, ParameterOp):
            return parameter
        return replace(parameter, inputs=tuple(self.twin_parameter(operand) for operand in parameter.inputs))

    # ---- parameters

    def weight_kind(self) -> Kind:
        return "complex" if self.complex_leaves and self.chance(2) else self.kind

    def stddev(self, shape: Shape) -> ParameterNode:
        return ScaledSigmoidParameter((self.leaf(shape, "any"),), vmin=0.3, vmax=2.0)

    def parameter(self, shape: Shape, kind: Kind, depth: int = 0) -> ParameterNode:
        """An expression of this shape and kind: often a leaf, sometimes one that is in use already."""
        known = self.parameters.setdefault((shape, kind), [])
        if known and self.chance(4):
            return self.choose(known)
        if depth >= 3 or self.chance(2):
            node: ParameterNode = self.leaf(shape, kind)
        else:
            make = self.choose(EXPRESSIONS[kind])
            node = make(self, shape, depth + 1) or self.leaf(shape, kind)
        known.append(node)
        self.kinds.setdefault(node, kind)
        return node

    def leaf(self, shape: Shape, kind: Kind) -> TensorParameter:
        low, high = {"any": (-1.5, 1.5), "positive": (0.1, 1.5), "unit": (0.1, 0.9), "complex": (-1.0, 1.0)}[kind]
        value: NDArray[Any] = self.random.uniform(low, high, shape)
        if kind == "complex":
            value = value + 1j * self.random.uniform(low, high, shape)
        name = None
        if self.chance(6):
            self.num_named += 1
            name = f"leaf {self.num_named}"
        dtype = DataType.COMPLEX if kind == "complex" else DataType.REAL
        return TensorParameter(shape, dtype, not self.chance(5), ConstantInitializer(value), name)

    def bounded_parameter(self, shape: Shape, depth: int) -> ParameterNode:
        """A real expression with values between -2 and 2."""
        inner = self.leaf(shape, "any")
        if self.chance(2):
            return inner
        return ClampParameter((self.parameter(shape, "any", depth),), vmin=-2.0, vmax=2.0)

    def axis(self, shape: Shape) -> int:
        return self.choose(list(range(-len(shape), len(shape))))

    def kronecker(self, shape: Shape, kind: Kind, depth: int) -> ParameterNode | None:
        left = tuple(self.choose(divisors(n)) for n in shape)
        right = tuple(n // m for n, m in zip(shape, left, strict=True))
        return KroneckerParameter((self.parameter(left, kind, depth), self.parameter(right, kind, depth)))

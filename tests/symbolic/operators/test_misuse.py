"""Misuse of an operator is a typed error that names the layers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from explorer.compiler import TorchCompiler
from explorer.errors import (
    CircuitError,
    DataTypeError,
    DuplicateNameError,
    ScopeError,
    ShapeError,
    StructureError,
    ValueRangeError,
)
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantValueLayer,
    EmbeddingLayer,
    GaussianLayer,
    InnerLayer,
    InputLayer,
    PolynomialLayer,
    SumLayer,
    circuit_from_json,
    constant,
    derivation_text,
)
from explorer.symbolic.operators import (
    concatenate,
    conjugate,
    differentiate,
    evidence,
    expand_rules,
    integrate,
    integrate_rules,
    multiply,
    multiply_rules,
    replace_inputs,
)
from explorer.templates import gallery, image_data


def discrete(b: CircuitBuilder, v: int, states: int = 2, units: int = 2) -> int:
    weight = constant(np.full((units, states), 0.5))
    return b.add(EmbeddingLayer(scope=(v,), num_output_units=units, num_states=states, weight=weight))


def gaussian(b: CircuitBuilder, v: int) -> int:
    return b.add(GaussianLayer(scope=(v,), num_output_units=2, mean=constant([0.0, 1]), stddev=constant([1.0, 2])))


def polynomial(b: CircuitBuilder, v: int) -> int:
    return b.add(PolynomialLayer(scope=(v,), num_output_units=2, degree=1, coeff=constant([[0.0, 1], [1, 2]])))


def over(*makers: Callable[[CircuitBuilder], int]) -> Circuit:
    """A Hadamard product of input layers."""
    b = CircuitBuilder()
    return b.build(b.hadamard(*(make(b) for make in makers)))


def split(*groups: tuple[int, ...]) -> Circuit:
    """A product of sums over products of embeddings."""
    b = CircuitBuilder()
    sums = [b.sum(b.hadamard(*(discrete(b, v) for v in group)), num_units=2) for group in groups]
    return b.build(b.hadamard(*sums))


def not_smooth() -> Circuit:
    b = CircuitBuilder()
    return b.build(b.sum(discrete(b, 0), discrete(b, 1), num_units=1))


def not_decomposable() -> Circuit:
    b = CircuitBuilder()
    x = discrete(b, 0)
    return b.build(b.hadamard(x, x))


def quad_graph() -> Circuit:
    return image_data(
        (1, 2, 2), "quad-graph", input_layer="categorical", num_input_units=2, sum_product_layer="cp", num_sum_units=2
    )


COIN = over(lambda b: discrete(b, 0), lambda b: discrete(b, 1))
PAIR = over(lambda b: discrete(b, 0))
REAL = over(lambda b: gaussian(b, 0), lambda b: polynomial(b, 1))

UNTYPED: dict[str, Callable[..., Any]] = {"multiply": multiply, "evidence": evidence, "differentiate": differentiate}
"""For arguments of types that a type checker refuses."""

CASES: dict[str, tuple[Callable[[], Any], type[CircuitError], str]] = {
    "too few": (lambda: multiply(COIN), StructureError, "multiply: expected at least 2 circuits, got 1"),
    "no circuit": (
        lambda: UNTYPED["multiply"](COIN, 3),
        DataTypeError,
        "multiply: expected symbolic circuits, found int",
    ),
    "compiled circuit": (
        lambda: UNTYPED["multiply"](COIN, TorchCompiler().compile(COIN)),
        DataTypeError,
        "found TorchCircuit; combine the symbolic circuits, and compile the result",
    ),
    "not smooth": (
        lambda: multiply(COIN, not_smooth()),
        StructureError,
        r"multiply: operand 1 is not smooth: sum layer %2: its input %0 does not depend on variables \[1\]",
    ),
    "not decomposable": (
        lambda: multiply(not_decomposable(), COIN),
        StructureError,
        r"operand 0 is not decomposable: product layer %1",
    ),
    "different splits": (
        lambda: multiply(split((0, 1), (2, 3)), split((0, 2), (1, 3))),
        StructureError,
        r"layer 8 \(HadamardLayer\) of operand 0 and layer 8 \(HadamardLayer\) of operand 1 split the variables that "
        r"they share differently: \(0, 1\) \| \(2, 3\) and \(0, 2\) \| \(1, 3\)",
    ),
    "a circuit without a tractable square": (
        lambda: multiply(quad_graph(), quad_graph()),
        StructureError,
        "split the variables that they share differently",
    ),
    "different numbers of values": (
        lambda: multiply(PAIR, over(lambda b: discrete(b, 0, states=3))),
        StructureError,
        r"layer 0 \(EmbeddingLayer\) of operand 0 and layer 0 \(EmbeddingLayer\) of operand 1: "
        "the variable has 2 values in one and 3 in the other",
    ),
    "no product": (
        lambda: multiply(over(lambda b: gaussian(b, 0)), over(lambda b: polynomial(b, 0))),
        StructureError,
        r"no rule for layer 0 \(GaussianLayer\) of operand 0 and layer 0 \(PolynomialLayer\) of operand 1; register "
        r"one with @multiply_rules.rule\(GaussianLayer, PolynomialLayer\)",
    ),
    "discrete times continuous": (
        lambda: multiply(PAIR, over(lambda b: gaussian(b, 0))),
        StructureError,
        "no rule for .*EmbeddingLayer.*GaussianLayer",
    ),
    "integral of a polynomial": (
        lambda: integrate(REAL),
        StructureError,
        r"integrate: layer 1 \(PolynomialLayer\): the integral of a polynomial over all real numbers is not finite",
    ),
    "integral over an unknown variable": (
        lambda: integrate(COIN, [7]),
        ScopeError,
        r"integrate: the circuit does not depend on variables \[7\]; it has \(0, 1\)",
    ),
    "integral of a circuit that is not smooth": (
        lambda: integrate(not_smooth()),
        StructureError,
        "integrate: the circuit is not smooth",
    ),
    "a variable twice": (lambda: integrate(COIN, [0, 0]), ScopeError, "once"),
    "evidence of an unknown variable": (lambda: evidence(COIN, {4: 0}), ScopeError, r"variables \[4\]"),
    "evidence that is no state": (
        lambda: evidence(COIN, {1: 2}),
        ValueRangeError,
        r"evidence: layer 1 \(EmbeddingLayer\): .*must be an integer from 0 to 1; found 2",
    ),
    "evidence between states": (lambda: evidence(COIN, {1: 0.5}), ValueRangeError, "integer from 0 to 1; found 0.5"),
    "evidence that is no number": (
        lambda: UNTYPED["evidence"](COIN, {1: "a"}),
        DataTypeError,
        "variable 1 must be a number",
    ),
    "evidence that is NaN": (lambda: evidence(REAL, {0: float("nan")}), ValueRangeError, "value of variable 0 is NaN"),
    "infinite evidence": (lambda: evidence(REAL, {0: float("inf")}), ValueRangeError, "finite"),
    "evidence that is no mapping": (lambda: UNTYPED["evidence"](COIN, [0, 1]), DataTypeError, "expected a mapping"),
    "outputs of different widths": (
        lambda: concatenate(PAIR, over(lambda b: discrete(b, 0, units=3))),
        ShapeError,
        "must have the same number of units",
    ),
    "nothing to concatenate": (lambda: concatenate(), StructureError, "at least 1"),
    "a discrete derivative": (
        lambda: differentiate(COIN),
        StructureError,
        r"differentiate: layer 0 \(EmbeddingLayer\): .*no rule for EmbeddingLayer",
    ),
    "a derivative of a Gaussian": (lambda: differentiate(REAL, [0]), StructureError, "no rule for GaussianLayer"),
    "order zero": (lambda: differentiate(REAL, [1], order=0), ValueRangeError, "at least 1; found 0"),
    "a fractional order": (
        lambda: UNTYPED["differentiate"](REAL, [1], order=1.5),
        DataTypeError,
        "order must be an integer",
    ),
    "a derivative by an unknown variable": (lambda: differentiate(REAL, [5]), ScopeError, r"variables \[5\]"),
    "a derivative by no variable": (lambda: differentiate(REAL, []), ScopeError, "expected at least one variable"),
}


@pytest.mark.parametrize("name", CASES)
def test_misuse_is_a_typed_error(name: str):
    call, kind, message = CASES[name]
    with pytest.raises(kind, match=message):
        call()


# ---- layers from outside


@dataclass(frozen=True, eq=False, kw_only=True)
class StepLayer(InputLayer):
    """1 where x is at least a threshold."""

    threshold: float = 0.0


def test_a_layer_from_outside_adds_its_rules():
    b = CircuitBuilder()
    circuit = b.build(b.add(StepLayer(scope=(0,), num_output_units=1, threshold=0.3)))
    with pytest.raises(StructureError, match=r"@multiply_rules.rule\(StepLayer, StepLayer\)"):
        multiply(circuit, circuit)
    with pytest.raises(StructureError, match=r"@integrate_rules.rule\(StepLayer\)"):
        integrate(circuit)
    assert conjugate(circuit).layers == circuit.layers

    @multiply_rules.rule(StepLayer, StepLayer)
    def multiply_steps(left: StepLayer, right: StepLayer) -> InputLayer:
        return StepLayer(scope=left.scope, num_output_units=1, threshold=max(left.threshold, right.threshold))

    @multiply_rules.rule(StepLayer, CategoricalLayer)
    def multiply_step_and_table(left: StepLayer, right: CategoricalLayer) -> InputLayer:
        return right

    @integrate_rules.rule(StepLayer)
    def integrate_step(layer: StepLayer) -> InputLayer:
        return ConstantValueLayer(num_output_units=1, value=constant([2.0]))

    try:
        with pytest.raises(DuplicateNameError):
            multiply_rules.rule(StepLayer, StepLayer)
        (product,) = multiply(circuit, circuit).layers
        assert isinstance(product, StepLayer)
        assert product.threshold == 0.3
        assert isinstance(integrate(circuit).layers[0], ConstantValueLayer)
        table = CircuitBuilder()
        coin = CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=constant([[0.2, 0.8]]))
        tables = table.build(table.add(coin))
        for pair in ((circuit, tables), (tables, circuit)):  # one rule is enough for both orders
            assert multiply(*pair).layers == (coin,)
    finally:
        for rules in (multiply_rules, integrate_rules):
            for kinds in [kinds for kinds in rules.rules if StepLayer in kinds]:
                del rules.rules[kinds]


@dataclass(frozen=True, eq=False, kw_only=True)
class CubicLayer(InnerLayer):
    """Each unit to the third power: its integral is not the cube of the integral."""

    arity: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class FirstInputLayer(InnerLayer):
    """The units of the first input: a weighted sum of single units."""

    multiplies = False


def test_an_operator_from_outside_is_a_function_that_builds_its_result():
    def raised(circuit: Circuit, by: float) -> Circuit:
        """The circuit with higher thresholds."""

        def replace_layer(layer: InputLayer) -> InputLayer:
            assert isinstance(layer, StepLayer)
            return replace(layer, threshold=layer.threshold + by)

        return replace_inputs(circuit, "raised", circuit.scope, replace_layer, {"by": by})

    b = CircuitBuilder()
    circuit = b.build(b.add(StepLayer(scope=(0,), num_output_units=1, threshold=0.5)))
    for found in (raised(circuit, 0.25), circuit_from_json(raised(circuit, 0.25).to_json())):
        (layer,) = found.layers
        assert isinstance(layer, StepLayer)
        assert layer.threshold == 0.75
        assert found.derivation is not None
        assert (found.derivation.operator, found.derivation.arguments) == ("raised", {"by": 0.25})
        assert derivation_text(found) == "The circuit is raised(A, by=0.25): A has 1 layer, and the result 1."


def below(b: CircuitBuilder, layer: type[InnerLayer], *inputs: int) -> Circuit:
    """A sum of such a layer of two units."""
    return b.build(b.sum(b.add(layer(num_input_units=2, num_output_units=2, arity=len(inputs)), inputs), num_units=1))


@pytest.mark.parametrize("operator", [integrate, differentiate])
def test_layers_that_may_not_be_linear_are_not_integrated_or_differentiated(operator: Any):
    b = CircuitBuilder()
    cubes = below(b, CubicLayer, polynomial(b, 0))
    with pytest.raises(StructureError, match=r"layer 1 \(CubicLayer\) does not say .* set CubicLayer\.multiplies"):
        operator(cubes)
    assert integrate(cubes, []).layers == cubes.layers


def test_the_inputs_of_a_custom_layer_that_adds_must_depend_on_the_same_variables():
    b = CircuitBuilder()
    assert integrate(below(b, FirstInputLayer, discrete(b, 0), discrete(b, 0))).scope == ()
    with pytest.raises(StructureError, match="not smooth"):
        integrate(below(b, FirstInputLayer, discrete(b, 0), discrete(b, 1)))


CHOOSE_FIRST = constant([[1.0, 0, 0, 0], [0, 1, 0, 0]])


def firsts(b: CircuitBuilder, *, custom: bool) -> Circuit:
    """A sum of the units of the first of two inputs, chosen by a layer from outside or by a built-in one."""
    tables = (constant([[0.1, 0.2], [0.3, 0.4]]), constant([[0.5, 0.6], [0.7, 0.8]]))
    inputs = tuple(b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=t)) for t in tables)
    if custom:
        return below(b, FirstInputLayer, *inputs)
    return b.build(b.sum(b.sum(*inputs, num_units=2, weight=CHOOSE_FIRST), num_units=1))


def test_custom_inner_layer_is_multiplied_once_it_is_expressed_by_a_built_in_one(
    monkeypatch: pytest.MonkeyPatch,
):
    custom, built_in = (firsts(CircuitBuilder(), custom=custom) for custom in (True, False))
    with pytest.raises(StructureError, match=r"express FirstInputLayer by a built-in layer with @expand_rules\.rule"):
        multiply(custom, custom)

    def too_wide(layer: FirstInputLayer) -> InnerLayer:
        return SumLayer(num_input_units=2, num_output_units=3, arity=2, weight=constant(np.ones((3, 4))))

    def as_sum(layer: FirstInputLayer) -> InnerLayer:
        return SumLayer(num_input_units=2, num_output_units=2, arity=2, weight=CHOOSE_FIRST)

    monkeypatch.setitem(expand_rules.rules, (FirstInputLayer,), too_wide)
    with pytest.raises(ShapeError, match=r"expand: layer 2 \(FirstInputLayer\): .*\(2, 2, 2\); found SumLayer with"):
        multiply(custom, built_in)
    monkeypatch.setitem(expand_rules.rules, (FirstInputLayer,), as_sum)
    rows = torch.tensor([[0], [1]])
    expected = TorchCompiler(seed=3).compile(multiply(built_in, built_in))(rows)
    for pair in ((custom, custom), (custom, built_in)):
        squared = multiply(*pair)
        assert squared.derivation is not None
        assert squared.derivation.operands == pair
    torch.testing.assert_close(TorchCompiler(seed=3).compile(multiply(custom, custom))(rows), expected)


def test_the_gallery_can_be_squared_or_the_reason_is_given():
    for name in gallery.names():
        if name in ("mnist", "poon-domingos", "digits"):
            continue
        circuit = gallery.load_named(name)
        assert multiply(circuit, circuit).is_decomposable

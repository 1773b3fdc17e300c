"""Integrals, evidence, conjugates and concatenations have the values that follow from their definitions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from scipy.integrate import quad

from explorer.compiler import TorchCompiler, record, rerun
from explorer.errors import FileFormatError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    DataType,
    EmbeddingLayer,
    GaussianLayer,
    Parameterization,
    PolynomialLayer,
    TensorParameter,
    UniformInitializer,
    circuit_from_json,
    constant,
)
from explorer.symbolic.operators import concatenate, conjugate, differentiate, evidence, integrate, multiply
from explorer.templates import fully_factorized, gallery
from explorer.trace import Trace
from tests.fuzzing import covering, examples
from tests.levels.modes import MODES, PRESETS, SWITCHES, Mode, compile_circuit, output
from tests.symbolic.operators.building import all_assignments, all_pairs, assert_close, evaluate_at, values
from tests.symbolic.operators.structured import compatible_circuits

SEEDS = st.integers(0, 2**16)


@examples(40)
@given(compatible_circuits(1, positive=False, continuous=False), SEEDS)
def test_an_integral_is_the_sum_over_all_values_of_its_variables(circuits: tuple[Circuit, ...], seed: int):
    (circuit,) = circuits
    random = np.random.default_rng(seed)
    chosen = [v for v in circuit.scope if random.random() < 0.6]
    x = all_assignments(circuit)
    every = values(circuit, x)
    found = values(integrate(circuit, chosen), x)
    kept = [v for v in circuit.scope if v not in chosen]
    for row in x:
        alike = (x[:, kept] == row[kept]).all(axis=1)
        wanted = every[alike].sum(axis=0)
        index = int(np.flatnonzero((x == row).all(axis=1))[0])
        np.testing.assert_allclose(found[index], wanted, atol=1e-9 * max(1.0, np.abs(every[alike]).max() * alike.sum()))


def test_an_output_without_the_variable_keeps_its_value():
    one, both = (fully_factorized(count, num_categories=3) for count in (1, 2))
    integral = compile_circuit(integrate(concatenate(one, both), [1]))
    x = np.array([[0, 1], [2, 0]])
    alone = output(compile_circuit(one), x[:, :1])
    np.testing.assert_allclose(output(integral, x)[:, 0], alone[:, 0], rtol=1e-12)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_an_integral_over_real_variables_agrees_with_quadrature(power: int):
    b = CircuitBuilder()
    x = [
        b.add(
            GaussianLayer(
                scope=(v,),
                num_output_units=2,
                mean=constant([0.3, -0.8]),
                stddev=constant([0.7, 1.1]),
                log_partition=None if v else constant([0.2, -0.4]),
            )
        )
        for v in range(2)
    ]
    circuit = b.build(b.sum(b.hadamard(*x), num_units=1, weight=constant([[0.5, -0.9]])))
    product = multiply(*[circuit] * power) if power > 1 else circuit

    def value(first: float) -> float:
        inner = evaluate_at(integrate(product, [1]), [first, 0.0])
        return float(inner)

    partition = float(evaluate_at(integrate(product), None))
    np.testing.assert_allclose(quad(value, -9, 9)[0], partition, rtol=1e-7)
    one = quad(lambda y: evaluate_at(product, [0.4, y]), -9, 9)[0]
    np.testing.assert_allclose(value(0.4), one, rtol=1e-7)


@examples(40)
@given(compatible_circuits(1, positive=False, complex_leaves=True), SEEDS)
def test_evidence_fixes_variables(circuits: tuple[Circuit, ...], seed: int):
    (circuit,) = circuits
    random = np.random.default_rng(seed)
    seen = {v: int(random.integers(0, 2)) for v in circuit.scope if random.random() < 0.6}
    x = np.zeros((3, circuit.num_variables))
    for v in circuit.scope:
        x[:, v] = seen.get(v, 0) if v in seen else random.integers(0, 2, 3)
    conditioned = evidence(circuit, seen)
    assert set(conditioned.scope) == set(circuit.scope) - set(seen)
    assert_close(values(conditioned, x), values(circuit, x))
    twice = evidence(conditioned, dict.fromkeys(conditioned.scope, 1))
    assert twice.scope == ()


@examples(40)
@given(compatible_circuits(1, positive=False, complex_leaves=True), SEEDS)
def test_a_conjugate_has_conjugate_values(circuits: tuple[Circuit, ...], seed: int):
    (circuit,) = circuits
    x = np.random.default_rng(seed).integers(0, 2, (3, circuit.num_variables)).astype(float)
    found = values(conjugate(circuit), x)
    assert_close(found, np.conj(values(circuit, x)))
    squared = values(multiply(circuit, conjugate(circuit)), x)
    assert_close(squared, all_pairs(values(circuit, x), found))


def test_a_conjugate_keeps_the_log_partition_of_a_gaussian():
    layer = GaussianLayer(
        scope=(0,),
        num_output_units=1,
        mean=constant([0.0]),
        stddev=constant([1.0]),
        log_partition=constant([0.75]),
    )
    b = CircuitBuilder()
    circuit = b.build(b.add(layer))
    conjugated = conjugate(circuit)
    assert conjugated.layers == circuit.layers  # nothing in it is complex
    np.testing.assert_allclose(evaluate_at(conjugated, [0.5]), evaluate_at(circuit, [0.5]))


@pytest.mark.parametrize(("optimize", "fold", "preset"), covering(*SWITCHES, PRESETS))
def test_a_conjugate_keeps_the_log_partition_below_a_complex_sum_and_a_product(optimize: bool, fold: bool, preset: str):
    """Its integral, and the integral of its product with the circuit, agree with quadrature."""
    mode = {"optimize": optimize, "fold": fold}
    b = CircuitBuilder()
    random = np.random.default_rng(2)
    normal = GaussianLayer(
        scope=(0,),
        num_output_units=2,
        mean=constant([0.4, -0.6]),
        stddev=constant([0.8, 1.1]),
        log_partition=constant([0.75, -1.2]),
    )
    table = constant(random.normal(size=(2, 2)) + 1j * random.normal(size=(2, 2)))
    states = EmbeddingLayer(scope=(1,), num_output_units=2, num_states=2, weight=table)
    weight = constant(random.normal(size=(1, 4)) + 1j * random.normal(size=(1, 4)))
    circuit = b.build(b.sum(b.kronecker(b.add(normal), b.add(states)), num_units=1, weight=weight))

    def value(x: float, state: int) -> complex:
        return complex(values(circuit, np.array([[x, state]])).item())

    def integral(of: Callable[[complex], complex]) -> complex:
        return sum(quad(lambda x, s=state: of(value(x, s)), -10, 10, complex_func=True)[0] for state in range(2))

    conjugated = conjugate(circuit)
    x = np.array([[0.3, 0.0], [-1.1, 1.0]])
    for made, wanted in (
        (integrate(conjugated), integral(np.conj)),
        (integrate(multiply(circuit, conjugated)), integral(lambda y: y * np.conj(y))),
    ):
        found = output(compile_circuit(made, "sum-product", preset=preset, **mode), None)
        np.testing.assert_allclose(found, [[wanted]], rtol=1e-7)  # of quadrature
        logs = output(compile_circuit(made, "complex-lse-sum", preset=preset, **mode), None)
        np.testing.assert_allclose(np.exp(logs), [[wanted]], rtol=1e-7)
    found = output(compile_circuit(conjugated, "sum-product", preset=preset, **mode), x)
    np.testing.assert_allclose(found, np.conj(values(circuit, x)), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_the_square_of_a_complex_circuit_times_its_conjugate_is_real(mode: Mode):
    b = CircuitBuilder()
    complex_weights = Parameterization("none", UniformInitializer(-1, 1), DataType.COMPLEX)
    x = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=complex_weights((2, 2))))
        for v in range(2)
    ]
    circuit = b.build(b.sum(b.hadamard(*x), num_units=1, weights=complex_weights))
    rows = all_assignments(circuit)
    plain = output(compile_circuit(circuit, "sum-product", **mode), rows)
    found = output(compile_circuit(multiply(circuit, conjugate(circuit)), "sum-product", **mode), rows)
    np.testing.assert_allclose(found, np.abs(plain) ** 2, atol=1e-12)
    partition = output(compile_circuit(integrate(multiply(circuit, conjugate(circuit))), "sum-product", **mode), None)
    np.testing.assert_allclose(partition.item(), (np.abs(plain) ** 2).sum())


@examples(30)
@given(compatible_circuits(2, positive=False), SEEDS)
def test_a_concatenation_has_the_outputs_of_all_circuits(circuits: tuple[Circuit, ...], seed: int):
    one, other = circuits
    width = max(one.num_variables, other.num_variables)
    x = np.random.default_rng(seed).integers(0, 2, (3, width)).astype(float)
    first, second = values(one, x), values(other, x)
    both = concatenate(one, one)
    assert_close(values(both, x), np.concatenate([first, first], axis=1))
    assert len(both.layers) == len(one.layers)
    if first.shape[2] == second.shape[2]:
        assert_close(values(concatenate(one, other), x), np.concatenate([first, second], axis=1))


def test_a_concatenation_has_the_layers_that_its_operands_share_once():
    b = CircuitBuilder()
    coefficients = np.random.default_rng(0).uniform(0.1, 1.0, (5, 2, 3))
    inputs = [
        PolynomialLayer(scope=(v,), num_output_units=2, degree=2, coeff=constant(coeff))
        for v, coeff in enumerate(coefficients)
    ]
    circuit = b.build(b.hadamard(*map(b.add, inputs)))
    derivatives = differentiate(circuit)
    both = concatenate(derivatives, circuit)
    shared = {id(layer) for layer in circuit.layers} & {id(layer) for layer in derivatives.layers}
    assert sum(isinstance(layer, PolynomialLayer) for layer in both.layers) == 10
    assert len(both.layers) == 10 + 6
    x = np.random.default_rng(0).uniform(0.1, 1.0, (3, circuit.num_variables))
    assert_close(values(both, x), np.concatenate([values(derivatives, x), values(circuit, x)], axis=1))
    derivation = both.derivation
    assert derivation is not None
    merged = [
        node for node, layer in both.graph.nodes.items() if id(layer) in shared and isinstance(layer, PolynomialLayer)
    ]
    assert {len(derivation.origins[node]) for node in merged} == {2}
    assert all(
        check.ok for check in record(both, semiring="sum-product").check(torch.from_numpy(x)) if not check.unknown
    )


def polynomials() -> Circuit:
    """A circuit of polynomials in three variables, with a factor that depends on none."""
    b = CircuitBuilder()
    random = np.random.default_rng(3)

    def leaf(v: int, degree: int) -> int:
        coeff = constant(random.normal(size=(2, degree + 1)))
        return b.add(PolynomialLayer(scope=(v,), num_output_units=2, degree=degree, coeff=coeff))

    pair = b.sum(b.hadamard(leaf(0, 2), leaf(2, 3)), num_units=2, weight=constant(random.normal(size=(2, 2))))
    top = b.kronecker(b.sum(pair, pair, num_units=2, weight=constant(random.normal(size=(2, 4)))), leaf(3, 1))
    return b.build(b.sum(top, num_units=2, weight=constant(random.normal(size=(2, 4)))), pair)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_a_derivative_agrees_with_that_of_autograd(order: int):
    circuit = polynomials()
    wanted_variables = (0, 2)
    derivative = differentiate(circuit, wanted_variables, order=order)
    compiled = compile_circuit(circuit, "sum-product", optimize=False)
    x = np.array([[0.3, 0.0, -0.7, 1.2], [1.1, 0.0, 0.4, -0.2]])
    found = values(derivative, x)
    assert found.shape == (2, 4, 2)
    for out in range(2):
        for k, v in enumerate(wanted_variables):
            for unit in range(2):
                point = torch.from_numpy(x).clone().requires_grad_()
                y = compiled(point)[:, out, unit].sum()
                for _ in range(order):
                    y = torch.autograd.grad(y, point, create_graph=True)[0][:, v].sum()
                    y = y if y.requires_grad else y + 0 * point.sum()
                np.testing.assert_allclose(found[:, 2 * out + k, unit].sum(), y.detach().numpy(), atol=1e-9)
    for mode in MODES:
        assert_close(output(compile_circuit(derivative, "sum-product", **mode), x), found)


# ---- values, names and files


def drawn(prefix: str = "") -> Circuit:
    """A circuit with leaves that are drawn at random, one of them named."""
    b = CircuitBuilder()
    x = [
        b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=Parameterization()((2, 2))))
        for v in range(2)
    ]
    named = TensorParameter((1, 2), initializer=UniformInitializer(0.5, 1.0), name=f"{prefix}top")
    return b.build(b.sum(b.hadamard(*x), num_units=1, weight=named))


OPERATORS = {
    "multiply": lambda one, other: multiply(one, other),
    "square": lambda one, other: multiply(one, one),
    "integrate": lambda one, other: integrate(multiply(one, other), [0]),
    "evidence": lambda one, other: evidence(one, {0: 1}),
    "conjugate": lambda one, other: conjugate(one),
    "concatenate": lambda one, other: concatenate(one, other),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_leaves_keep_their_names_and_first_values_when_saved_and_loaded(name: str, tmp_path: Path):
    one, other = drawn(), drawn()
    derived = OPERATORS[name](one, other)
    states = [TorchCompiler(seed=5).compile(circuit).leaf_state() for circuit in (one, other)]
    state = TorchCompiler(seed=5).compile(derived).leaf_state()
    for leaf, label in derived.leaf_names.items():
        for circuit, own in zip((one, other), states, strict=True):
            if leaf in circuit.leaf_names:
                assert torch.equal(state[label], own[circuit.leaf_names[leaf]])
                assert label.removesuffix("/2") == circuit.leaf_names[leaf]
    derived.save(tmp_path / "derived.json")
    loaded = Circuit.load(tmp_path / "derived.json")
    assert list(loaded.leaf_names.values()) == list(derived.leaf_names.values())
    again = TorchCompiler(seed=5).compile(loaded)
    for label, value in again.leaf_state().items():
        assert torch.equal(value, state[label])
    again.reset_parameters(5)
    assert all(torch.equal(value, state[label]) for label, value in again.leaf_state().items())


def test_a_compiler_shares_the_tensors_of_a_circuit_with_its_square():
    circuit = drawn()
    compiler = TorchCompiler(semiring="sum-product")
    one, square = compiler.compile(circuit), compiler.compile(multiply(circuit, circuit))
    x = torch.tensor([[0, 1]])
    with torch.no_grad():
        for tensor in one.parameters():
            tensor.mul_(1.3)
    torch.testing.assert_close(square(x), one(x) ** 2)
    assert {id(t) for t in square.parameters()} == {id(t) for t in one.parameters()}


def test_a_file_with_wrong_labels_is_refused():
    data = multiply(drawn(), drawn()).to_json()
    for labels in ([[999, "a", "a"]], [[0, "a"]], [[0, "a", "a"], [1, "a", "b"]]):
        with pytest.raises(FileFormatError):
            circuit_from_json({**data, "labels": labels})


def test_a_derivation_is_saved_and_loaded(tmp_path: Path):
    circuit = gallery.load_named("sos")
    circuit.save(tmp_path / "sos.json")
    loaded = Circuit.load(tmp_path / "sos.json")
    one, other = circuit.derivation, loaded.derivation
    while one is not None and other is not None:
        assert (one.operator, one.arguments, one.origins) == (other.operator, other.arguments, other.origins)
        assert [str(operand) for operand in one.operands] == [str(operand) for operand in other.operands]
        assert (one.operands[0] is one.operands[-1]) == (other.operands[0] is other.operands[-1])
        one, other = one.operands[0].derivation, other.operands[0].derivation
    assert one is other is None
    square = loaded.derivation.operands[0] if loaded.derivation is not None else loaded
    assert set(loaded.leaf_names) & set(square.leaf_names)  # the operands share the leaves of the circuit
    assert circuit_from_json(loaded.to_json()).to_json() == circuit.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"operands": [7]},
        {"origins": []},
        {"origins": [[0, [[0, 99]]]]},
        {"operator": None, "operands": None},
    ],
)
def test_a_file_with_a_wrong_derivation_is_refused(change: dict[str, object]):
    data = evidence(drawn(), {0: 1}).to_json()
    data["derivation"] |= change
    with pytest.raises(FileFormatError):
        circuit_from_json(data)


def test_an_operator_is_a_step_before_the_compilation_with_lineage(tmp_path: Path):
    circuit = gallery.load_named("blackboard")
    square = multiply(circuit, circuit)
    trace = record(square)
    assert [step.summary for step in trace.steps[:2]] == ["A has 13 layers", "multiply(A, A) has 13 layers"]
    root = square.layer_id("root")
    assert "step 1 (multiply): made of layer 25 of A" in str(trace.lineage(root))
    last = max(trace.graph_at(-1).nodes)
    assert trace.lineage(last).made_of
    assert all(row.ok for row in trace.check(torch.zeros((2, 5), dtype=torch.long))[1:])
    plain = TorchCompiler().compile(square)
    assert str(plain.graph) == str(trace.compiled.graph)
    trace.save(tmp_path / "trace.json")
    loaded = Trace.load(tmp_path / "trace.json")
    assert str(loaded) == str(trace)
    assert str(loaded.lineage(root)) == str(trace.lineage(root))
    assert str(rerun(loaded)).count("multiply(A, A) has 13 layers") == 1


def test_a_derivation_names_operator_operands_arguments_and_origins():
    circuit = gallery.load_named("blackboard")
    square = multiply(circuit, circuit)
    derived = integrate(square, [0, 2]).derivation
    assert derived is not None
    assert (derived.operator, derived.arguments) == ("integrate", {"variables": (0, 2)})
    assert derived.operands == (square,)
    assert derived.origins == {node: ((0, node),) for node in square.graph.nodes}
    assert square.derivation is not None
    for node, origins in square.derivation.origins.items():
        assert {operand for operand, _ in origins} == {0, 1}
        scopes = {circuit.scopes[origin] for _, origin in origins}
        assert scopes == {square.scopes[node]}
    cube = multiply(circuit, circuit, circuit).derivation
    assert cube is not None
    assert len(cube.operands) == 3
    assert all({operand for operand, _ in found} == {0, 1, 2} for found in cube.origins.values())

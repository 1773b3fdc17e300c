"""Operators on circuits are steps before the compilation: their states, values by definition, lineage and files."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

import explorer
from explorer.backend import Semiring, allocate_parameters
from explorer.bench import random_inputs
from explorer.compiler import define_operator
from explorer.errors import CircuitError, DuplicateNameError
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    Derivation,
    EmbeddingLayer,
    ExpParameter,
    GaussianLayer,
    InputLayer,
    PolynomialLayer,
    SquareParameter,
    TensorParameter,
    describe_operator,
    operator_steps,
)
from explorer.symbolic.operators import (
    concatenate,
    conjugate,
    differentiate,
    evidence,
    integrate,
    multiply,
    replace_inputs,
)
from explorer.templates import load_named
from explorer.trace import StepCheck, Trace
from tests.fuzzing import examples


def coins() -> Circuit:
    return load_named("conflict")


OPERATORS: dict[str, Any] = {
    "multiply": lambda one, other: multiply(one, other),
    "square": lambda one, other: multiply(one, one),
    "integrate": lambda one, other: integrate(one, one.scope[:1]),
    "evidence": lambda one, other: evidence(one, {one.scope[-1]: 1}),
    "conjugate": lambda one, other: conjugate(one),
    "concatenate": lambda one, other: concatenate(one, other),
}
SEMIRINGS = ("sum-product", "lse-sum", "complex-lse-sum")


@examples(60)
@given(st.lists(st.sampled_from(sorted(OPERATORS)), min_size=1, max_size=3), st.sampled_from(SEMIRINGS))
def test_each_operator_has_the_values_of_its_definition(names: list[str], semiring: str) -> None:
    made, other = coins(), coins()
    for name in names:
        if len(made.scope) < 2 or max(layer.num_output_units for layer in made.layers) > 10:
            break
        made, other = OPERATORS[name](made, other), made
    trace = explorer.record(made, semiring=semiring)
    assert [step.operator is not None for step in trace.steps] == [at < trace.start for at in range(len(trace.steps))]
    checks = trace.check(random_inputs(trace.compiled, 3))
    assert checks[0].unknown
    assert all(check.ok for check in checks[1:])


def test_a_wrong_product_is_found() -> None:
    """The result of an operator is compared with its definition, not with itself."""
    one = coins()
    wrong = multiply(one, evidence(one, {0: 1}))
    object.__setattr__(wrong.derivation, "operands", (one, one))
    checks = explorer.record(wrong).check(torch.zeros((2, 4), dtype=torch.long))
    assert not checks[1].ok
    assert "(real: DIFFERS)" in str(checks[1])


def test_ids_are_shared_only_by_a_circuit_and_what_replaces_it() -> None:
    a = coins()
    square = multiply(a, a)
    whole = multiply(integrate(square, [0]), square)
    steps = operator_steps(whole)
    made = [one.made.derivation for one in steps.steps if one.made is not None]
    assert [one.operator for one in made if one is not None] == ["multiply", "integrate", "multiply"]
    assert [len(one.circuits) for one in steps.steps] == [1, 1, 2, 1]
    ids = [{node + steps.offsets[one] for node in one.graph.nodes} for one in steps.offsets]
    assert sum(map(len, ids)) == len(set.union(*ids))
    replaced = operator_steps(integrate(square, [0]))
    assert replaced.offsets[square] == 0
    applied = explorer.record(integrate(square, [0])).step(2).operator
    assert applied is not None
    assert len(applied.sources) == 1


def test_lineage_leads_through_operators_to_their_operands() -> None:
    a = coins()
    trace = explorer.record(integrate(multiply(a, a), [0]))
    applied = trace.step(2).operator
    assert applied is not None
    changed = next(iter(applied.sources))
    found = trace.lineage(changed)
    assert [(one.operator, [formula for formula, _ in one.sources]) for one in found.made_of] == [
        ("integrate", ["multiply(A, A)"]),
        ("multiply", ["A"]),
    ]
    (source,) = found.made_of[1].sources[0][1]
    below = trace.lineage(source)
    assert (below.first_step, below.last_step, below.symbolic) == (0, 0, (source,))
    assert f"multiply(A, A): {source} -> {changed}" in str(below)
    assert below.end.startswith("part of")
    assert trace.lineage(changed).first_step == 1


def test_the_compilation_is_that_without_a_listener() -> None:
    a = coins()
    made = integrate(multiply(a, a), [0])
    trace, plain = explorer.record(made), explorer.TorchCompiler().compile(made)
    assert str(trace.compiled.graph) == str(plain.graph)
    x = torch.zeros((1, 4), dtype=torch.long)
    assert torch.equal(trace.compiled(x), plain(x))
    assert torch.equal(trace.circuit_at(trace.start - 1)(x), plain(x))


def test_a_state_of_several_circuits_runs_with_the_present_parameters() -> None:
    a, b = coins(), coins()
    trace = explorer.record(multiply(a, b))
    with torch.no_grad():
        for tensor in trace.compiled.tensors:
            tensor.mul_(0.5)
    x = torch.zeros((2, 4), dtype=torch.long)
    operands = trace.circuit_at(0)(x)
    assert operands.shape == (2, 2, 1)
    torch.testing.assert_close(operands.sum(1, keepdim=True), trace.compiled(x))


def test_operands_with_outputs_of_different_widths_cannot_be_run_as_one_circuit() -> None:
    wide, narrow = embedding(3), embedding(2)
    trace = explorer.record(multiply(wide, narrow), semiring="sum-product")
    with pytest.raises(CircuitError, match="A has outputs of 3 and B has outputs of 2 units; choose a later step"):
        trace.circuit_at(0)
    assert trace.check(torch.ones((2, 1), dtype=torch.long))[1].ok


def embedding(units: int) -> Circuit:
    builder = CircuitBuilder()
    weight = TensorParameter((units, 2))
    return builder.build(builder.add(EmbeddingLayer(scope=(0,), num_output_units=units, num_states=2, weight=weight)))


def test_derivative_equals_autograd_and_an_integral_may_be_too_large() -> None:
    builder, coeff = CircuitBuilder(), TensorParameter((2, 4))
    curve = builder.build(builder.add(PolynomialLayer(scope=(0,), num_output_units=2, degree=3, coeff=coeff)))
    trace = explorer.record(differentiate(curve, order=2), semiring="sum-product")
    assert trace.check(torch.randn(3, 1))[1].ok
    many = explorer.record(integrate(load_named("digits")))
    assert "at most 4,096" in str(many.check(torch.zeros((1, 64))))


def test_an_operand_without_logarithms_has_no_values_to_compare_with() -> None:
    """A square is positive, but its operand is not."""
    wide = embedding(1)
    trace = explorer.record(multiply(wide, wide))
    with torch.no_grad():
        trace.compiled.tensors[0].copy_(torch.tensor([[[-2.0, 3.0]]]))
    x = torch.tensor([[0], [1]])
    assert not trace.compiled(x).isnan().any()
    assert trace.check(x)[1].unknown == "an operand has outputs that are NaN in the semiring lse-sum"


def squares(circuit: Circuit) -> Circuit:
    """An operator from outside of the package: the squares of the values of an embedding."""

    def replace_layer(layer: InputLayer) -> InputLayer:
        assert isinstance(layer, EmbeddingLayer)
        return replace(layer, weight=SquareParameter((layer.weight,)))

    return replace_inputs(circuit, "squares", circuit.scope, replace_layer)


def test_an_operator_from_outside_is_described_and_checked_by_its_definition() -> None:
    made, x = squares(embedding(3)), torch.tensor([[0], [1]])
    (unknown,) = explorer.record(made).check(x)[1:2]
    assert "register one with @define_operator('squares')" in unknown.unknown

    @describe_operator("squares")
    def description(circuit: Circuit, derivation: Derivation) -> str:
        return "Each value is squared."

    @define_operator("squares")
    def definition(derivation: Derivation, x: Tensor, run: Callable[[Circuit, Tensor], Tensor], semiring: Semiring):
        values = run(derivation.operands[0], x)
        return semiring.multiply(values, values)

    trace = explorer.record(made, semiring="sum-product")
    assert trace.step("squares").notes == ("squares(A): Each value is squared. It has no new parameters.",)
    found = trace.check(x)[1]
    assert found.ok
    assert not found.unknown
    with pytest.raises(DuplicateNameError, match="'squares' has a description already"):
        describe_operator("squares")(description)
    with pytest.raises(DuplicateNameError, match="'squares' has a definition already"):
        define_operator("squares")(definition)


def check_with(definition: Callable[[Tensor], Any], monkeypatch: pytest.MonkeyPatch) -> StepCheck:
    """The check of an operator that changes nothing, with a definition of the values of its operand (2, 1, 3)."""
    known = {"stay": lambda derivation, x, run, semiring: definition(run(derivation.operands[0], x))}
    monkeypatch.setattr("explorer.compiler.operator_values._DEFINITIONS", known)
    trace = explorer.record(replace_inputs(embedding(3), "stay", (0,), lambda layer: layer), semiring="sum-product")
    return trace.check(torch.tensor([[0], [1]]))[1]


@pytest.mark.parametrize(
    ("definition", "form"),
    [
        (lambda values: values[..., :1], "real values of shape (2, 1, 1)"),
        (lambda values: values[:1], "real values of shape (1, 1, 3)"),
        (lambda values: torch.cat([values, values], -1), "real values of shape (2, 1, 6)"),
        (lambda values: values.to(torch.complex64), "complex values of shape (2, 1, 3)"),
    ],
)
def test_values_of_another_form_than_those_by_definition_differ(
    definition: Callable[[Tensor], Any], form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that PyTorch would broadcast, which may be equal."""
    check = check_with(definition, monkeypatch)
    assert not check.ok
    assert not check.has_no_value
    assert f"the circuit has real values of shape (2, 1, 3), its definition {form} (real: DIFFERS)" in str(check)


@pytest.mark.parametrize("found", [None, 1.0, [0.5]])
def test_a_definition_that_returns_no_tensor_is_the_reason_that_nothing_is_compared(
    found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = check_with(lambda values: found, monkeypatch)
    assert check.unknown == f"its definition returned {found!r}, which is not a tensor"


@pytest.mark.parametrize("x", [None, [[0, 0, 0, 0]], torch.zeros(4), torch.zeros((2, 3)), torch.zeros((2, 5))])
def test_rows_that_do_not_fit_are_refused_as_without_operators(x: Any) -> None:
    a = coins()
    with pytest.raises(CircuitError) as built:
        explorer.record(a).check(x)
    with pytest.raises(type(built.value), match=re.escape(str(built.value))):
        explorer.record(multiply(a, a)).check(x)


@dataclass(frozen=True, eq=False, kw_only=True)
class UncompiledLayer(InputLayer):
    """A layer from outside without a compile rule."""


def test_operands_without_a_compile_rule_are_not_shown_and_the_result_compiles() -> None:
    builder, weight = CircuitBuilder(), TensorParameter((1, 2))
    circuit = builder.build(builder.add(UncompiledLayer(scope=(0,), num_output_units=1)))
    as_table = EmbeddingLayer(scope=(0,), num_output_units=1, num_states=2, weight=weight)
    trace = explorer.record(replace_inputs(circuit, "tabulate", (0,), lambda layer: as_table), semiring="sum-product")
    assert (trace.start, trace.step(0).path) == (0, "compile")
    (note,) = trace.step(0).notes
    assert note.startswith("The operators that made the circuit are not shown: no compile rule for layer Uncompiled")


def saved_square(tmp_path: Path) -> tuple[Trace, Path]:
    a = coins()
    trace, path = explorer.record(multiply(a, a)), tmp_path / "square.json"
    trace.save(path)
    return trace, path


def test_a_saved_trace_has_operators(tmp_path: Path) -> None:
    trace, path = saved_square(tmp_path)
    loaded = Trace.load(path)
    assert str(loaded) == str(trace)
    for node in (0, 12):
        assert str(loaded.lineage(node)) == str(trace.lineage(node))
    with pytest.raises(CircuitError, match="holds no tensors"):
        loaded.check(torch.zeros((1, 4)))


@pytest.mark.parametrize(
    ("step", "change", "message"),
    [
        (-1, {"circuits": [["A", []]], "sources": []}, "does not come before the compilation"),
        (1, {"circuits": []}, "has no circuits"),
        (1, {"circuits": [["A", [99]]]}, "node 99 does not exist after"),
        (1, {"circuits": [["A", [0]]]}, "do not have each of its nodes once"),
        (1, {"circuits": [["A", [*range(12), 0]]]}, "do not have each of its nodes once"),
        (1, {"sources": [[99, [12]]]}, "node 99 does not exist after"),
        (1, {"sources": [[0, [99]]]}, "node 99 does not exist before"),
    ],
)
def test_a_file_with_a_wrong_operator_step_is_refused(
    step: int, change: dict[str, object], message: str, tmp_path: Path
) -> None:
    _, path = saved_square(tmp_path)
    data = json.loads(path.read_text())
    row = data["steps"][step]
    row["operator"] = {**data["steps"][1]["operator"], **change}
    path.write_text(json.dumps(data))
    with pytest.raises(CircuitError, match=message):
        Trace.load(path)


@dataclass(frozen=True, eq=False)
class UncompiledParameter(SquareParameter):
    """A parameter operator from outside without a compile rule."""


def test_operands_with_a_parameter_without_a_compile_rule_are_not_shown() -> None:
    builder, weight = CircuitBuilder(), TensorParameter((3, 2))
    layer = EmbeddingLayer(scope=(0,), num_output_units=3, num_states=2, weight=UncompiledParameter((weight,)))
    circuit = builder.build(builder.add(layer))
    trace = explorer.record(replace_inputs(circuit, "strip", (0,), lambda _: replace(layer, weight=weight)))
    assert trace.start == 0
    assert "are not shown: no compile rule for parameter node UncompiledParameter" in str(trace)


def test_a_failing_compile_rule_leaves_a_trace_that_can_be_read() -> None:
    compiler = explorer.TorchCompiler()

    @compiler.layer_rules.rule(UncompiledLayer)
    def fail(compiler: explorer.TorchCompiler, layer: UncompiledLayer) -> None:
        raise ValueError("no luck")

    made = replace_inputs(embedding(1), "fail", (0,), lambda _: UncompiledLayer(scope=(0,), num_output_units=1))
    with pytest.raises(CircuitError, match="no luck") as failed:
        explorer.record(made, compiler)
    assert "no luck" in str(failed.value.trace)


def test_a_compiler_that_knows_the_leaves_records_what_a_file_says(tmp_path: Path) -> None:
    a, compiler = coins(), explorer.TorchCompiler()
    compiler.compile(a)
    trace = explorer.record(multiply(a, a), compiler)
    trace.save(tmp_path / "square.json")
    loaded = Trace.load(tmp_path / "square.json")
    for step in range(len(trace.steps)):
        assert loaded.graph_at(step).nodes == trace.graph_at(step).nodes


def test_operands_have_the_present_values_of_leaves_that_the_result_lacks() -> None:
    builder, mean, deviation = CircuitBuilder(), TensorParameter((2,)), ExpParameter((TensorParameter((2,)),))
    normal = builder.build(builder.add(GaussianLayer(scope=(0,), num_output_units=2, mean=mean, stddev=deviation)))
    compiler = explorer.TorchCompiler()
    trained = compiler.compile(normal)
    with torch.no_grad():
        trained.tensors[0].add_(3.0)
    x = torch.zeros((1, 1))
    assert torch.equal(explorer.record(integrate(normal), compiler).circuit_at(0)(x), trained(x))


def test_circuits_between_operators_are_compiled_once_for_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each value that an integral sums over, nor for each question about a step."""
    trace, made = explorer.record(integrate(coins())), list[object]()
    monkeypatch.setattr("explorer.compiler.operator_snapshot.allocate_parameters", _counting(made))
    assert trace.check(torch.zeros((2, 4), dtype=torch.long))[1].ok
    assert len(made) == 3  # the operand, as a step and in the definition; the result
    assert trace.step(0).snapshot.graph is trace.step(0).snapshot.graph


def _counting(made: list[object]) -> Callable[..., Any]:
    def allocate(*arguments: Any) -> Any:
        made.append(arguments)
        return allocate_parameters(*arguments)

    return allocate


def test_an_operator_may_be_called_as_the_step_that_compiles() -> None:
    trace = explorer.record(replace_inputs(coins(), "compile", (0,), lambda layer: layer))
    assert [step.path for step in trace.steps[:3]] == ["operands", "compile (2)", "compile"]
    assert trace.step("compile").index == trace.start

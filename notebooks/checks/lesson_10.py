"""Lesson 10, custom rules: the mean of layers, Kronecker layers of single units, relu of relu."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import explorer
from checks.feedback import Feedback, not_answered, show, something_else
from explorer import CircuitBuilder, TorchCompiler
from explorer.backend import TorchInnerLayer
from explorer.compiler import layer_rule
from explorer.errors import CircuitError, LimitWarning
from explorer.optimize import default_rules as package
from explorer.rewrite import Exactness, FunctionPassPipeline
from explorer.symbolic import Circuit, InnerLayer
from explorer.templates import CategoricalInput
from explorer.tensor import FunctionGraph, TensorType, Variable, call
from explorer.tensor.passes import GraphPasses
from explorer.tensor.recording.record_module import ManagedPipeline
from explorer.trace import Trace

SEMIRINGS = ("lse-sum", "sum-product")
NEAR = 1e-5
"""Tolerance for values below 1 in single precision, after a few operations."""
OF_THE_PACKAGE = (package.DEFAULT_LAYER_FUSE_OPT_RULES, package.DEFAULT_LAYER_SHATTER_OPT_RULES)
relu = torch.ops.aten.relu.default


# ---------------------------------------------------------------------- a layer


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanLayer(InnerLayer):
    """y_k = (1 / H) sum_h x_hk: the symbolic layer of exercise 1."""


def exercise_1(answer: Any) -> None:
    """A compiled layer: the mean of its inputs."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compile circuits with it and compare with the mean computed directly, in two semirings, unfolded and folded."""
    what = "the outputs (F, B, K) that forward returns"
    if answer is None:
        return not_answered(what)
    if not isinstance(answer, type) or not issubclass(answer, TorchInnerLayer):
        return Feedback(False, f"Expected the class of a compiled layer, a TorchInnerLayer; got {answer!r}.")
    for semiring in SEMIRINGS:
        for fold in (False, True):
            problem = _mean_problem(answer, semiring, fold)
            if problem is None:
                continue
            if problem == "":
                return not_answered(what)
            return Feedback(False, f"Under {semiring}{', folded' if fold else ''}: {problem}")
    return Feedback(
        True,
        "Right: it is the mean under both semirings and in every slice, because the layer leaves the sum to the "
        "semiring.",
    )


def _mean_problem(layer_type: type[TorchInnerLayer], semiring: str, fold: bool) -> str | None:
    """Return what is wrong with the layer; empty if it returns nothing yet."""
    given: list[Any] = []
    if getattr(layer_type.forward, "__isabstractmethod__", False):
        return "it does not define forward."

    class Watched(layer_type):  # type: ignore[misc, valid-type]
        def forward(self, semiring: Any, x: Tensor, parameters: Any) -> Any:
            found = super().forward(semiring, x, parameters)
            given.append((found, x))
            return found

    rows = torch.tensor([[0, 0, 1, 0, 1], [1, 0, 1, 1, 0], [1, 1, 1, 0, 0]])
    try:
        compiler = TorchCompiler(semiring=semiring, optimize=False, fold=fold)
        compiler.layer_rules.rule(MeanLayer)(layer_rule(dataclass(frozen=True, eq=False, kw_only=True)(Watched)))
        circuit = compiler.compile(_means())
        with torch.no_grad():
            circuit(rows)
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        if given and given[-1][0] is None:
            return ""
        shapes = next((problem for found, x in given if (problem := _wrong_shape(found, x)) is not None), None)
        return shapes or f"it failed: {type(error).__name__}: {error}"
    logarithms = compiler.semiring.is_logarithmic
    for found, x in given:
        problem = _wrong_shape(found, x)
        if problem is not None:
            return problem
        plain, value = (x.exp(), found.exp()) if logarithms else (x, found)
        wanted = plain.mean(dim=1)
        if not torch.allclose(value, wanted, atol=NEAR):
            return _which_mean(value, plain, wanted, logarithms)
    return None


def _wrong_shape(found: Any, x: Tensor) -> str | None:
    wanted = (x.shape[0], *x.shape[2:])
    if isinstance(found, Tensor) and found.shape == wanted:
        return None
    shape = tuple(found.shape) if isinstance(found, Tensor) else found
    return f"the output has shape {shape} for inputs of shape {tuple(x.shape)}; see the exercise for what is expected."


def _which_mean(value: Tensor, plain: Tensor, wanted: Tensor, logarithms: bool) -> str:
    if torch.allclose(value, plain.sum(dim=1), atol=NEAR):
        return "it returns the sum of the inputs, not their mean."
    if logarithms and torch.allclose(value, plain.log().mean(dim=1).exp(), atol=NEAR):
        return "x holds logarithms here, and a mean of logarithms is the logarithm of the geometric mean."
    if torch.allclose(value, plain.prod(dim=1), atol=NEAR):
        return "it returns the product of the inputs."
    at = int((value - wanted).abs().argmax())
    one, mean = float(value.flatten()[at]), float(wanted.flatten()[at])
    return f"the outputs are not means of the inputs: one is {'too large' if one > mean else 'too small'}, {one:.4f}."


def _means() -> Circuit:
    """Build means of two inputs, twice, and of three."""
    b = CircuitBuilder()
    x = [b.add(CategoricalInput(2)(v, 3)) for v in range(5)]
    y = [b.hadamard(x[i], x[i + 1]) for i in range(4)]

    def mean(*inputs: int) -> int:
        return b.add(MeanLayer(num_input_units=3, num_output_units=3, arity=len(inputs)), inputs)

    both = b.sum(x[0], num_units=3), b.sum(x[0], num_units=3)
    return b.build(mean(*both), mean(y[0], b.hadamard(x[0], x[1])), mean(*both, b.sum(x[0], num_units=3)))


# ---------------------------------------------------------------------- a pattern and a rule


def exercise_2(answer: Any) -> None:
    """A function that registers a rule: Kronecker layers of single units are Hadamard layers."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compile circuits with Kronecker layers of one unit and of several; the package's rules must not change."""
    what = "a rule, registered in compiler.rules.fuse"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("the function register, without calling it,", answer)
    kept = [dict(registry.rules) for registry in OF_THE_PACKAGE]
    try:
        return _grade_rule(answer, what)
    finally:
        for registry, rules in zip(OF_THE_PACKAGE, kept, strict=True):
            registry.rules = rules


def _grade_rule(answer: Callable[[Any], Any], what: str) -> Feedback:
    before = [set(registry.rules) for registry in OF_THE_PACKAGE]
    compiler = TorchCompiler(
        preset="handbook", fold=False, disable=("Tucker",)
    )  # so that no other rule claims the layers
    known = set(compiler.rules.names)
    try:
        answer(compiler)
    except Exception as error:  # noqa: BLE001 - a student's function may raise anything
        return Feedback(False, f"Registering failed: {type(error).__name__}: {error}")
    if [set(registry.rules) for registry in OF_THE_PACKAGE] != before:
        return Feedback(
            False,
            "The rule was added to a registry of the package, for all compilers. Register it with this compiler only.",
        )
    own = [name for name in compiler.rules.names if name not in known]
    if not own:
        return not_answered(what)
    for name, units in (("one unit each", 1), ("two units each", 2)):
        problem = _rule_problem(compiler.fresh_copy(), own, units)
        if problem is not None:
            return Feedback(False, f"With Kronecker layers whose inputs have {name}: {problem}")
    return Feedback(
        True,
        f"Right: {', '.join(own)} replaces the Kronecker layers of single units and no others, because with single "
        "units there is only one product.",
    )


def _rule_problem(compiler: TorchCompiler, own: list[str], units: int) -> str | None:
    try:
        trace = explorer.record(_kroneckers(units), compiler=compiler)
    except Exception as error:  # noqa: BLE001 - a student's rule may raise anything
        return f"the compilation failed: {error if isinstance(error, CircuitError) else _cause(error)}"
    rows = torch.tensor([[0, 1, 0, 1, 1], [1, 1, 0, 0, 1], [1, 0, 1, 0, 0]])
    differs = next((check for check in trace.check(rows) if not check.ok), None)
    if differs is not None:
        return f"the value changed: {differs}."
    matched = sum(stats.matched for stats in trace.rule_stats() if stats.rule in own)
    left = _types(trace).count("TorchKroneckerLayer")
    if units == 1 and left:
        arities = sorted(r.config["arity"] for r in _records(trace) if r.type == "TorchKroneckerLayer")
        return f"{left} not replaced, of arity {', '.join(map(str, arities))}; {matched} matched."
    if units > 1 and matched:
        return f"the rule matched {matched} times, but there a Kronecker layer is not a Hadamard layer."
    return None


def _records(trace: Trace) -> list[Any]:
    return list(trace.graph_at(-1).nodes.values())


def _types(trace: Trace) -> list[str]:
    return [record.type for record in _records(trace)]


def _kroneckers(units: int) -> Circuit:
    """Build Kronecker layers of two and of three inputs with `units` each; the first has two users."""
    b = CircuitBuilder()
    x = [b.add(CategoricalInput(2)(v, units)) for v in range(5)]
    pair, triple = b.kronecker(x[0], x[1]), b.kronecker(x[2], x[3], x[4])
    return b.build(*(b.sum(product, num_units=2) for product in (pair, pair, triple)))


# ---------------------------------------------------------------------- a rule on operators


def exercise_3(answer: Any) -> None:
    """A rule on applications of relu: relu(relu(x)) is relu(x)."""
    show(grade_3(answer))


def _chain(names: tuple[str, ...]) -> FunctionGraph:
    """Build the graph of a chain of operators, with one more above them."""
    x = result = Variable(TensorType(torch.float32, (3, 4)), name="x")
    for name in (*names, "cos"):
        result = call(getattr(torch.ops.aten, name).default, result)
    return FunctionGraph([x], [result])


CASES: tuple[tuple[tuple[str, ...], int], ...] = (
    (("relu", "relu", "tanh"), 1),
    (("tanh", "relu", "relu"), 1),
    (("relu", "tanh"), 1),
    (("sin", "relu"), 1),
    (("relu", "sin", "relu"), 2),
    (("relu", "relu", "relu"), 1),
)
"""Chains of operators, and how many relus should be left."""


def grade_3(answer: Any) -> Feedback:
    """Run it as the only rule of a pass, in a separate registry."""
    what = "the replacement of relu(relu(x)), returned by the function"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("the function itself, without calling it,", answer)
    given: list[Any] = []

    def recording(node: Any) -> Any:
        found = answer(node)
        given.append(found)
        return False if found is None else found

    problems = [problem for names, left in CASES if (problem := _relu_problem(recording, names, left)) is not None]
    if given and all(found is None for found in given) and not any("failed" in problem for problem in problems):
        return not_answered(what)
    if problems:
        return Feedback(False, problems[0])
    return Feedback(
        True,
        "Right: a relu of a relu is removed with identical bits, because the output of a relu is not negative; all "
        "others stay.",
    )


def _relu_problem(rule: Callable[[Any], Any], names: tuple[str, ...], left: int) -> str | None:
    text = "x"
    for name in names:
        text = f"{name}({text})"
    registry = GraphPasses()
    registry.new("Mine", "The student's rule.").rule([relu], name="mine", exactness=Exactness.EXACT)(rule)
    data = torch.linspace(-3, 3, 12).reshape(3, 4)
    try:
        pipeline = ManagedPipeline(FunctionPassPipeline.of("Mine", "Mine"), passes=registry)
        with warnings.catch_warnings():
            warnings.simplefilter("error", LimitWarning)
            trace = explorer.record(_chain(names), (data,), pipeline)
    except LimitWarning:
        return f"On {text} the rule never ended: it applies to its own result."
    except Exception as error:  # noqa: BLE001 - a student's function may raise anything
        return f"On {text} the rule failed: {_cause(error)}."
    if not all(check.ok for check in trace.check()):
        return f"On {text} the value changed."
    relus = sum(record.title == "relu" for record in _records(trace))
    if relus > left:
        return f"{relus} relus of {text} are left; fewer are enough."
    return None


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"

"""Lesson 2, patterns and matches: checked by the matcher itself."""

from typing import Any

import explorer
from checks.feedback import Feedback, not_answered, show, something_else
from explorer.backend import TorchLayer, TorchSumLayer
from explorer.backend.parameters import TorchSoftmaxParameter
from explorer.errors import CircuitError
from explorer.graph import Graph
from explorer.rewrite import LayerOptPattern, match_pattern, match_pattern_graph
from explorer.symbolic import Circuit, CircuitBuilder, KroneckerParameter, Parameterization, ParameterNode
from explorer.templates import CategoricalInput
from explorer.trace import Refusal, RefusalKind

COMPILED_ONLY: dict[str, Any] = {"optimize": False, "fold": False}


def exercise_1(answer: Any) -> None:
    """A pattern of three entries."""
    show(grade_1(answer))


def exercise_2(answer: Any) -> None:
    """A pattern with a condition on a weight."""
    show(grade_2(answer))


def exercise_3(answer: Any) -> None:
    """A circuit in which one match is found and another one is blocked."""
    show(grade_3(answer))


def grade_1(answer: Any) -> Feedback:
    """Check that a pattern matches `upper` over `lower` over an input layer in the tower of the lesson."""
    if answer is None:
        return not_answered("a LayerOptPattern of three entries")
    if not isinstance(answer, LayerOptPattern):
        return something_else("a LayerOptPattern", answer)
    if wrong := _no_compiled_types(answer):
        return wrong
    circuit = _tower()
    graph = _layers(circuit)
    try:
        at_root = match_pattern(graph, answer, circuit.layer_id("upper"))
    except Exception as error:  # noqa: BLE001 - conditions in a student's pattern may raise anything
        return _unusable(error)
    if isinstance(at_root, Refusal):
        where = f"At upper, layer {at_root.root}, it stops at entry {at_root.entry + 1}"
        return Feedback(False, f"{where}: {at_root.reason}. Which entry comes first, the root or the input?")
    if len(at_root) != 3:
        return Feedback(False, f"At upper it matches {len(at_root)} layers, {list(at_root.nodes)}; expected three.")
    return Feedback(
        True, "Right: entries go from the root towards the inputs, and only the last one may be an input layer."
    )


def grade_2(answer: Any) -> Feedback:
    """Check that a pattern matches a sum exactly if its weight is a softmax."""
    if answer is None:
        return not_answered("a LayerOptPattern of one entry with sub_patterns")
    if not isinstance(answer, LayerOptPattern):
        return something_else("a LayerOptPattern", answer)
    if len(answer.entries) != 1:
        return Feedback(False, f"One entry is enough: the question is about one layer. Found {len(answer.entries)}.")
    if wrong := _no_compiled_types(answer):
        return wrong
    circuits = {"kronecker": _kronecker_tower(), "the gallery's conflict": explorer.gallery.load_named("conflict")}
    for name, circuit in circuits.items():
        graph = _layers(circuit)
        try:
            found = {match.root for match in match_pattern_graph(graph, [answer]).matches}
        except Exception as error:  # noqa: BLE001 - conditions in a student's pattern may raise anything
            return _unusable(error)
        for node, layer in graph.nodes.items():
            problem = _softmax_problem(
                f"layer {node} of {name}", layer, node in found, match_pattern(graph, answer, node)
            )
            if problem:
                return Feedback(False, problem)
    return Feedback(
        True, "Right: a sub-pattern is matched on the parameter, and is_output says that the parameter must end there."
    )


def grade_3(answer: Any) -> Feedback:
    """Check that SumCollapse matches at least once, and is blocked by several users at least once, in one step."""
    if answer is None:
        return not_answered("a circuit, as returned by builder.build")
    if not isinstance(answer, Circuit):
        return something_else("a circuit of builder.build(root)", answer)
    try:
        trace = explorer.record(answer, preset="handbook", fold=False)
    except CircuitError as error:
        return Feedback(False, f"The circuit cannot be compiled: {error}.")
    (misses,) = trace.near_misses("SumCollapse", "optimize/round 1/fuse")
    blocked = [refusal for refusal in misses.refusals if refusal.kind is RefusalKind.SEVERAL_USERS]
    if not blocked:
        seen = ", ".join(f"{kind.value} ({count})" for (_, kind), count in misses.reasons.items())
        found = f"The near misses are: {seen}." if seen else "There is no near miss."
        return Feedback(False, f"No attempt of SumCollapse is blocked by several users. {found}")
    if not misses.matched:
        return Feedback(False, f"{blocked[0].reason.capitalize()}; but SumCollapse matches nowhere in this circuit.")
    return Feedback(
        True, "Right: only the users of the lower sum block a match; the upper one may have any number of them."
    )


def _tower(*weights: ParameterNode) -> Circuit:
    """Build the tower of the lesson: the same layers with the same numbers and names."""
    builder = CircuitBuilder()
    coin = CategoricalInput(2)
    x0, x1, another_x1 = (builder.add(coin(variable, 8)) for variable in (0, 1, 1))
    of_lower, of_upper = weights or (None, None)
    lower = builder.sum(x0, num_units=8, weight=of_lower, name="lower")
    upper = builder.sum(lower, num_units=8, weight=of_upper, name="upper")
    products = [builder.hadamard(upper, one) for one in (x1, another_x1)]
    return builder.build(builder.sum(*products, num_units=8, name="root"))


def _kronecker_tower() -> Circuit:
    matrix = Parameterization("softmax")
    two = KroneckerParameter((matrix((2, 2)), matrix((4, 4))))
    nested = KroneckerParameter((KroneckerParameter((matrix((2, 2)), matrix((2, 2)))), matrix((2, 2))))
    return _tower(two, nested)


def _softmax_problem(where: str, layer: TorchLayer, is_found: bool, result: object) -> str:
    """Return what is wrong with a pattern for sums whose weight is a softmax, at one layer; empty if nothing is."""
    if not isinstance(layer, TorchSumLayer):
        return f"It matches {where}, a {type(layer).__name__}; it should only match sums." if is_found else ""
    feedback = f"{where}, a sum with weight {layer.weight}"
    is_softmax = isinstance(layer.weight.output, TorchSoftmaxParameter)
    if is_found and not is_softmax:
        return f"It matches {feedback}. This weight contains a softmax, but does not end in it."
    if is_softmax and not is_found:
        reason = result.reason if isinstance(result, Refusal) else "the matcher did not try it there"
        return f"It does not match {feedback}: {reason}."
    return ""


def _no_compiled_types(pattern: LayerOptPattern) -> Feedback | None:
    """Return the problem if an entry of a pattern is not a type of compiled layers."""
    others = [entry.__name__ for entry in pattern.entries if not issubclass(entry, TorchLayer)]
    if not others:
        return None
    return Feedback(False, f"{others[0]} is not a type of compiled layers, so it cannot match; see explorer.backend.")


def _unusable(error: Exception) -> Feedback:
    kind = "" if isinstance(error, CircuitError) else f"{type(error).__name__}: "
    return Feedback(False, f"The matcher cannot use this pattern: {kind}{error}.")


def _layers(circuit: Circuit) -> Graph[TorchLayer]:
    """Return the compiled layers, before optimization."""
    return explorer.TorchCompiler(**COMPILED_ONLY).compile(circuit).graph

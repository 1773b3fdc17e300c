"""Tries the pattern of a form on a step of a trace, explains refusals, and records a new trace with its rule."""

from collections.abc import Sequence
from typing import Any, cast

from explorer.app.session.pattern_form import PatternForm, build_pattern
from explorer.compiler import TorchCompiler, record
from explorer.compiler.snapshot import CompiledSnapshot
from explorer.errors import CircuitError, FormError, UnknownNameError
from explorer.graph import Graph
from explorer.optimize import put_rule_first, replacements_of
from explorer.rewrite import match_optimization_patterns, match_pattern
from explorer.symbolic import Circuit
from explorer.trace import Check, Listener, Refusal, Trace
from explorer.views import PatternTrial


def try_pattern(trace: Trace, step: "int | str", form: PatternForm, after: bool = False) -> PatternTrial:
    """Match the pattern of a form on the layers before a step, or after it.

    Raises: FormError; UnknownNameError for an unknown step; CircuitError for a loaded trace.
    """
    graph = _graph(trace, step, after)
    pattern = build_pattern(form)
    found = match_optimization_patterns(graph, (pattern,))
    kind = pattern.entries[0]
    return PatternTrial(
        form.name,
        kind.__name__,
        len(graph),
        sum(isinstance(node, kind) for node in graph.nodes.values()),
        tuple(match.nodes for match in found.found),
        len(found.chosen),
        found.refusals,
        after,
    )


def explain_pattern(
    trace: Trace, step: "int | str", form: PatternForm, node: int, after: bool = False
) -> tuple[tuple[Check, ...], str]:
    """Return the matcher's checks of a form's pattern at a node, up to the first that fails, and the reason.

    Raises: FormError; UnknownNameError for an unknown step or node; CircuitError for a loaded trace.
    """
    graph = _graph(trace, step, after)
    if node not in graph.nodes:
        raise UnknownNameError(f"there is no layer {node} {'after' if after else 'before'} step {step}")
    checks: list[Check] = []
    result = match_pattern(graph, build_pattern(form), node, checks=checks)
    return tuple(checks), result.reason if isinstance(result, Refusal) else f"it matches {list(result.nodes)}"


def replacements(form: PatternForm) -> tuple[str, ...]:
    """Return the names of rules that can replace the matches of a form, and `one layer`. Raises: FormError."""
    return replacements_of(build_pattern(form))


def apply_form(trace: Trace, form: PatternForm, replacement: str, listeners: Sequence[Listener] = ()) -> Trace:
    """Compile the circuit of a trace again with the form's rule before all others of its pass.

    `listeners` receive every event. Raises: FormError, also if a rule has the form's name; UnknownNameError for a
    replacement that does not fit; CircuitError for a loaded trace; RuleError if the rule fails.
    """
    pattern = build_pattern(form)
    compiler = _compiler(trace).fresh_copy()
    compiler.listeners = tuple(listeners)
    if form.name in compiler.rules.names:
        error = FormError(f"name: there is already a rule named {form.name!r}; choose a different name")
        error.field = "name"
        raise error
    put_rule_first(compiler.rules, pattern, replacement)
    return record(cast("Circuit", trace.subject), compiler=compiler)


def _compiler(trace: Trace) -> TorchCompiler:
    """Return the compiler that recorded a live trace. Raises: CircuitError."""
    snapshot = trace.steps[trace.start].snapshot if trace.steps else None
    if not isinstance(snapshot, CompiledSnapshot) or trace.subject is None:
        raise CircuitError(
            "this trace was loaded from a file, and patterns are tried on live layers; compile it again first: "
            "explorer.rerun(trace)"
        )
    return snapshot.compiler


def _graph(trace: Trace, step: "int | str", after: bool) -> Graph[Any]:
    """Return the live layers before or after a step; before the first step, its result."""
    _compiler(trace)
    index = trace.step(step).index
    return trace.steps[index if after else max(index - 1, 0)].snapshot.graph

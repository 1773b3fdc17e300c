"""Optimizing a circuit: rounds of parameter rules, shattering, fusing, until a round changes nothing.

Source: handbook, Optimizing the Full Circuit (_optimize_circuit, _optimize_parameter_nodes, _optimize_layers).
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, pairwise

from explorer.backend import TorchInnerLayer, TorchInputLayer, TorchLayer, all_parameters
from explorer.backend.parameters import TorchParameter, TorchParameterNode
from explorer.errors import LimitWarning
from explorer.graph import Graph, nested_of, parameters_of
from explorer.optimize.cost import cost_change
from explorer.optimize.layers import RuleCompiler
from explorer.optimize.presets import RuleSet
from explorer.optimize.skips import Skips, Switches
from explorer.rewrite import (
    GraphOptMatch,
    OptMatchStrategy,
    RewriteContext,
    Rule,
    is_possible,
    optimize_graph,
)
from explorer.trace import LimitReached, Listener, MatchFound

Work = Callable[[Graph[TorchLayer]], Graph[TorchLayer] | None]
"""The work of a step: a new graph, or None if nothing changed."""

StepRunner = Callable[[str, Graph[TorchLayer], Work], Graph[TorchLayer] | None]
"""Runs the work of a step at a path: tells listeners that it begins and ends, and times it."""


@dataclass(frozen=True)
class OptimizeOptions:
    """How to optimize: the rules, how conflicts are decided, the bound on rounds, who listens, what is switched off."""

    rules: RuleSet
    strategy: OptMatchStrategy
    max_rounds: int
    listeners: tuple[Listener, ...] = ()
    switches: Switches = field(default_factory=lambda: Switches(Skips()))


def _optimize_circuit(
    compiler: RuleCompiler, graph: Graph[TorchLayer], options: OptimizeOptions, fresh: Iterator[int], run: StepRunner
) -> Graph[TorchLayer]:
    """Rounds until nothing changes, at most `max_rounds`; a bound that cuts them short is an event and a warning."""

    def context(path: str = "") -> RewriteContext:
        return RewriteContext(
            compiler,
            fresh,
            options.strategy,
            check_replacement,
            lambda match, nodes: cost_change(compiler, match, nodes),
            options.listeners,
            partial(options.switches.reason, path),
        )

    def parameters(path: str, graph: Graph[TorchLayer]) -> Graph[TorchLayer] | None:
        return _optimize_parameter_nodes(compiler, graph, tuple(options.rules.parameter), options, path)

    def shatter(path: str, graph: Graph[TorchLayer]) -> Graph[TorchLayer] | None:
        return _optimize_layers(graph, tuple(options.rules.shatter), context(path))

    def fuse(path: str, graph: Graph[TorchLayer]) -> Graph[TorchLayer] | None:
        return _optimize_layers(graph, tuple(options.rules.fuse), context(path))

    for round_number in range(1, options.max_rounds + 1):
        changed = False
        for name, work in (("parameters", parameters), ("shatter", shatter), ("fuse", fuse)):
            path = f"optimize/round {round_number}/{name}"
            result = run(path, graph, partial(work, path))
            if result is not None:
                graph, changed = result, True
        if not changed:
            return graph
    if options.max_rounds and _more_is_possible(graph, options, context()):
        message = f"Stopped at the limit of {options.max_rounds} rounds; more rewrites were possible."
        for listener in options.listeners:
            listener(LimitReached("rounds", options.max_rounds, message))
        warnings.warn(f"{message} Give a larger max_rounds to go on.", LimitWarning, stacklevel=2)
    return graph


def _optimize_layers(
    graph: Graph[TorchLayer], rules: Sequence[Rule], context: RewriteContext
) -> Graph[TorchLayer] | None:
    """One pass of fusing or shattering rules; None if nothing matched."""
    result = optimize_graph(graph, rules, context)
    return None if result is None else result[0]


def _optimize_parameter_nodes(
    compiler: RuleCompiler, graph: Graph[TorchLayer], rules: Sequence[Rule], options: OptimizeOptions, path: str = ""
) -> Graph[TorchLayer] | None:
    """Parameter rules on the parameter graphs of every layer, those inside evidence layers too."""
    roots = tuple(rule.pattern.entries[0] for rule in rules)
    changed: dict[int, TorchLayer] = {}
    numbers = _MatchNumbers(options.listeners)
    skip = partial(options.switches.reason, path)
    for node, layer in graph.nodes.items():
        new = _optimized_layer(compiler, str(node), layer, rules, roots, options, numbers, skip)
        if new is not layer:
            changed[node] = new
    if not changed:
        return None
    return Graph({node: changed.get(node, layer) for node, layer in graph.nodes.items()}, graph.inputs, graph.outputs)


class _MatchNumbers:
    """Counts the matches of a step over all its parameter graphs, so that their numbers stay unique."""

    def __init__(self, listeners: tuple[Listener, ...]) -> None:
        self.next = 0
        self.listeners = (*listeners, self._count) if listeners else ()

    def _count(self, event: object) -> None:
        if isinstance(event, MatchFound):
            self.next = event.number + 1


def _optimized_layer(
    compiler: RuleCompiler,
    place: str,
    layer: TorchLayer,
    rules: Sequence[Rule],
    roots: tuple[type, ...],
    options: OptimizeOptions,
    numbers: _MatchNumbers,
    skip: Callable[[GraphOptMatch], str | None],
) -> TorchLayer:
    new: dict[str, object] = {}
    for name, parameter in parameters_of(layer).items():
        if not any(isinstance(value, roots) for value in parameter.graph.nodes.values()):
            continue
        context = RewriteContext(
            compiler,
            count(parameter.graph.next_id),
            options.strategy,
            check_parameter_replacement,
            None,
            numbers.listeners,
            skip,
        )
        result = optimize_graph(parameter.graph, rules, context, f"{place}.{name}", numbers.next)
        if result is not None:
            new[name] = TorchParameter(result[0])
    for name, nested in nested_of(layer).items():
        inner = _optimized_layer(compiler, f"{place}.{name}", nested, rules, roots, options, numbers, skip)
        if inner is not nested:
            new[name] = inner
    return replace(layer, **new) if new else layer  # type: ignore[arg-type]


def _more_is_possible(graph: Graph[TorchLayer], options: OptimizeOptions, context: RewriteContext) -> bool:
    """Whether another round would change something."""
    rules = options.rules
    if is_possible(graph, tuple(rules.shatter), context) or is_possible(graph, tuple(rules.fuse), context):
        return True
    return any(
        is_possible(parameter.graph, tuple(rules.parameter), context, f"{node}.{name}")
        for node, layer in graph.nodes.items()
        for name, parameter in all_parameters(layer).items()
    )


def parameter_cost_change(match: GraphOptMatch, nodes: tuple[TorchParameterNode, ...]) -> float:
    """What replacing parameter nodes adds to the operations of an evaluation; for LOWEST_COST."""
    return sum(node.flops for node in nodes) - sum(node.flops for node in match.entries)


def check_replacement(match: GraphOptMatch, nodes: tuple[TorchLayer, ...]) -> str | None:
    """Why layers cannot replace a match: other type, width or arity than the neighbours need; None if they can."""
    for node in nodes:
        if not isinstance(node, TorchLayer):
            return f"a rule on layers gives layers; found {type(node).__name__}"
    root, entry = match.entries[0], match.entries[-1]
    if nodes[-1].num_output_units != root.num_output_units:
        found, wanted = nodes[-1].num_output_units, root.num_output_units
        return f"the last layer has {found} output units, the root it replaces {wanted}"
    if isinstance(entry, TorchInputLayer) and getattr(nodes[0], "scope_idx", None) != entry.scope_idx:
        return f"it reads variables {entry.scope_idx}, and the layer that replaces it reads others"
    if _takes(nodes[0]) != _takes(entry):
        return f"the first layer takes (arity, units) {_takes(nodes[0])}, the one it replaces {_takes(entry)}"
    for below, above in pairwise(nodes):
        if _takes(above) != (1, below.num_output_units):
            return f"{type(above).__name__} does not fit on {type(below).__name__}: each layer reads the one before it"
    return None


def _takes(layer: TorchLayer) -> tuple[int, int] | None:
    """How many layers of how many units a layer reads; None for an input layer."""
    return (layer.arity, layer.num_input_units) if isinstance(layer, TorchInnerLayer) else None


def check_parameter_replacement(match: GraphOptMatch, nodes: tuple[TorchParameterNode, ...]) -> str | None:
    """Why parameter nodes cannot replace a match; None if they can."""
    for node in nodes:
        if not isinstance(node, TorchParameterNode):
            return f"a rule on parameters gives parameter nodes; found {type(node).__name__}"
    if nodes[-1].shape != match.entries[0].shape:
        return f"the last node has shape {nodes[-1].shape}, the root it replaces {match.entries[0].shape}"
    return None

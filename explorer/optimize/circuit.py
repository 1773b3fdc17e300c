"""Optimizing a circuit: rounds of parameter rules, shattering, fusing, until a round changes nothing.

Source: handbook, Optimizing the Full Circuit (_optimize_circuit, _optimize_parameter_nodes, _optimize_layers).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count, pairwise

from explorer.backend import TorchInnerLayer, TorchInputLayer, TorchLayer, all_parameters
from explorer.backend.parameters import TorchParameter, TorchParameterNode
from explorer.graph import Graph, nested_of, parameters_of
from explorer.optimize.cost import cost_change
from explorer.optimize.layers import RuleCompiler
from explorer.optimize.presets import RuleSet
from explorer.optimize.skips import Skips, Switches
from explorer.optimize.working import StepRunner, WorkingCircuit
from explorer.rewrite import (
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
    GraphOptMatch,
    OptMatchStrategy,
    PassGroup,
    PassManager,
    PassOptions,
    PassRegistry,
    RewriteContext,
    Rule,
    is_possible,
    optimize_graph,
)
from explorer.trace import Listener, MatchFound

ROUND = FunctionPassPipeline.of(
    *[FunctionPassConfig(name, dce=DCERequiredMode.NONE) for name in ("parameters", "shatter", "fuse")]
)
"""One round of optimization."""

OPTIMIZE = FunctionPassPipeline.of(
    FunctionPassConfig("optimize", ConvergenceMode.UNTIL_FIXED_POINT, dce=DCERequiredMode.NONE)
)
"""Rounds until one changes nothing."""

MORE = "more rewrites were possible"


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
    if not options.max_rounds:
        return graph
    rules = options.rules
    optimizer = _Optimizer(compiler, options, fresh)
    once: PassRegistry[WorkingCircuit] = PassRegistry()
    once.register(_ParameterPass("parameters", "Rules on parameter graphs.", tuple(rules.parameter), optimizer))
    once.register(_LayerPass("shatter", "Rules that split layers.", tuple(rules.shatter), optimizer))
    once.register(_LayerPass("fuse", "Rules that join layers.", tuple(rules.fuse), optimizer))
    rounds: PassRegistry[WorkingCircuit] = PassRegistry()
    # Each replacement is checked where it is made; the whole graph at the end.
    unchecked: PassOptions[WorkingCircuit] = PassOptions(verify_after=())
    rounds.register(PassGroup("optimize", "Rounds of all rules.", PassManager(ROUND, once, unchecked)))
    working = WorkingCircuit(graph, run, options.listeners)
    PassManager(OPTIMIZE, rounds, PassOptions(max_rounds=options.max_rounds)).run(working)
    return working.graph


@dataclass(frozen=True)
class _Optimizer:
    """What the passes of one compilation have in common."""

    compiler: RuleCompiler
    options: OptimizeOptions
    fresh: Iterator[int]

    def context(self, path: str) -> RewriteContext:
        return RewriteContext(
            self.compiler,
            self.fresh,
            self.options.strategy,
            check_replacement,
            lambda match, nodes: cost_change(self.compiler, match, nodes),
            self.options.listeners,
            partial(self.options.switches.reason, path),
        )


@dataclass(frozen=True)
class _RulesPass:
    """A pass that tries rules; what of the circuit it tries them on is said by its kinds."""

    name: str
    doc: str
    rules: tuple[Rule, ...]
    optimizer: _Optimizer

    def rule_names(self) -> tuple[str, ...]:
        return tuple(rule.name for rule in self.rules)


class _LayerPass(_RulesPass):
    """Rules on layers, once through the graph."""

    def run(self, graph: WorkingCircuit, mode: CompilationMode = CompilationMode.INFER) -> None:
        del mode
        context = self.optimizer.context(graph.path)
        graph.change(lambda before: _optimize_layers(before, self.rules, context))

    def unfinished(self, graph: WorkingCircuit) -> str | None:
        return MORE if is_possible(graph.graph, self.rules, self.optimizer.context("")) else None


class _ParameterPass(_RulesPass):
    """Rules on parameters, once through the parameter graphs of all layers."""

    def run(self, graph: WorkingCircuit, mode: CompilationMode = CompilationMode.INFER) -> None:
        del mode
        compiler, options, path = self.optimizer.compiler, self.optimizer.options, graph.path
        graph.change(lambda before: _optimize_parameter_nodes(compiler, before, self.rules, options, path))

    def unfinished(self, graph: WorkingCircuit) -> str | None:
        context = self.optimizer.context("")
        possible = (
            is_possible(parameter.graph, self.rules, context, f"{node}.{name}")
            for node, layer in graph.graph.nodes.items()
            for name, parameter in all_parameters(layer).items()
        )
        return MORE if any(possible) else None


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

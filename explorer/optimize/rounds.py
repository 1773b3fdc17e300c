"""Optimizes a compiled circuit: rounds of parameter rules, shattering and fusing, until a round changes nothing."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import count, pairwise

from explorer.backend import TorchInnerLayer, TorchInputLayer, TorchLayer, all_parameters
from explorer.backend.parameters import TorchParameter, TorchParameterNode
from explorer.errors import GraphError, LimitWarning, ValueRangeError, check_name, warn
from explorer.graph import Graph, nested_of, parameters_of
from explorer.optimize.default_rules import RuleCompiler, RuleSet, cost_change, parameter_cost_change
from explorer.passes import ROUND
from explorer.rewrite import (
    GraphOptMatch,
    KnownResults,
    OptMatchStrategy,
    RewriteContext,
    Rule,
    is_possible,
    optimize_graph,
)
from explorer.trace import SWITCHED_OFF, LimitReached, Listener, Stage, StepPath

FORMS = "optimize/round N, optimize/round N/PASS (parameters, shatter, fuse), fold/level N, or RULE@NODE"
STEP = re.compile(r"optimize/round [1-9]\d{0,5}(/(parameters|shatter|fuse))?|fold/level (0|[1-9]\d{0,5})")
MATCH = re.compile(r"([^@]+)@(0|[1-9]\d{0,11})")


def check_replacement(match: GraphOptMatch, nodes: tuple[TorchLayer, ...]) -> str | None:
    """Return why the layers cannot replace a match, or None: type, width, arity and scope must fit the neighbours."""
    for node in nodes:
        if not isinstance(node, TorchLayer):
            return f"expected layers from a rule on layers, got a {type(node).__name__}"
    root, entry = match.entries[0], match.entries[-1]
    if nodes[-1].num_output_units != root.num_output_units:
        found, wanted = nodes[-1].num_output_units, root.num_output_units
        return f"the last layer has {found} output units, the root it replaces {wanted}"
    if isinstance(entry, TorchInputLayer) and getattr(nodes[0], "scope_idx", None) != entry.scope_idx:
        return f"the input layer reads variables {entry.scope_idx}, and its replacement reads different ones"
    if _reads(nodes[0]) != _reads(entry):
        return f"the first layer reads (arity, units) {_reads(nodes[0])}, the one it replaces {_reads(entry)}"
    for below, above in pairwise(nodes):
        if _reads(above) != (1, below.num_output_units):
            return f"{type(above).__name__} does not fit on {type(below).__name__}: each layer reads the previous one"
    return None


def check_parameter_replacement(match: GraphOptMatch, nodes: tuple[TorchParameterNode, ...]) -> str | None:
    """Return why the parameter nodes cannot replace a match, or None."""
    for node in nodes:
        if not isinstance(node, TorchParameterNode):
            return f"expected parameter nodes from a rule on parameters, got a {type(node).__name__}"
    if nodes[-1].shape != match.entries[0].shape:
        return f"the last node has shape {nodes[-1].shape}, the root it replaces {match.entries[0].shape}"
    return None


def verify_layers(graph: Graph[TorchLayer]) -> None:
    """Raises: GraphError if the inputs of a layer differ in number or width from what the layer declares."""
    for node, layer in graph.nodes.items():
        if not isinstance(layer, TorchInnerLayer):
            continue
        found = [graph.nodes[source].num_output_units for source in graph.inputs[node]]
        if found != [layer.num_input_units] * layer.arity:
            wanted = f"{layer.arity} layers of {layer.num_input_units} units"
            raise GraphError(f"{type(layer).__name__} {node}: expected {wanted} as inputs, got layers of {found} units")


def _reads(layer: TorchLayer) -> tuple[int, int] | None:
    """The arity of a layer and the width of its inputs; None for an input layer."""
    return (layer.arity, layer.num_input_units) if isinstance(layer, TorchInnerLayer) else None


class ParameterSurvey:
    """The parameters of the layers of one optimization, for these parameter rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        roots = tuple(rule.pattern.entries[0] for rule in rules)
        self._is_root = cache(lambda kind: issubclass(kind, roots))
        self._known: dict[TorchLayer, tuple[int, bool]] = {}

    def num_nodes(self, graph: Graph[TorchLayer]) -> int:
        """The number of layers and of the nodes of their parameters."""
        known = self._known
        return len(graph) + sum([(known.get(layer) or self._examine(layer))[0] for layer in graph.nodes.values()])

    def may_match(self, layer: TorchLayer) -> bool:
        """Whether a parameter of the layer has a node of a type at which a rule begins."""
        return (self._known.get(layer) or self._examine(layer))[1]

    def _examine(self, layer: TorchLayer) -> tuple[int, bool]:
        """The number of parameter nodes of a layer, and whether it may match."""
        number, may_match, is_root = 0, False, self._is_root
        for parameter in all_parameters(layer).values():
            nodes = parameter.graph.nodes
            number += len(nodes)
            may_match = may_match or any(is_root(node.__class__) for node in nodes.values())
        found = self._known[layer] = (number, may_match)
        return found


MAX_GROWTH = 16
"""Rounds stop when the circuit has this many times the nodes it started with; only custom rules come near it."""
MIN_GROWTH_NODES = 1_000
"""Circuits with fewer nodes may grow freely."""


# ---------------------------------------------------------------------- skips


class SkipWarning(UserWarning):
    """An entry of `skip` did not match any step or match of the compilation."""


@dataclass(frozen=True, slots=True)
class Skips:
    """Parsed entries of the option `skip`: paths of steps, and for each (rule, node) the entry that names it.

    An entry names a round (`optimize/round 2`), one of its passes (`optimize/round 2/fuse`), a fold level
    (`fold/level 3`), or the match of a rule at a node (`SumCollapse@12`: the match with root 12; for a parameter rule,
    all its matches in the parameters of layer 12). The search still runs, and each skipped match is refused with this
    reason, so the trace shows it. A round without changes is the last one, even if its matches were skipped.
    """

    steps: tuple[str, ...] = ()
    matches: Mapping[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries as strings: steps first."""
        return (*self.steps, *self.matches.values())


def parse_skips(entries: Sequence[str]) -> Skips:
    """Parse the entries. Raises: ValueRangeError for an entry of an unknown form."""
    steps: list[str] = []
    matches: dict[tuple[str, int], str] = {}
    for entry in (entries,) if isinstance(entries, str) else entries:
        if STEP.fullmatch(entry):
            steps.append(entry)
        elif found := MATCH.fullmatch(entry):
            matches[(found[1], int(found[2]))] = entry
        else:
            raise ValueRangeError(f"skip: expected {FORMS}, got {entry!r}")
    return Skips(tuple(dict.fromkeys(steps)), matches)


class SkipTracker:
    """The skipped steps and matches of one compilation, with a record of the entries that were used."""

    def __init__(self, skips: Skips, rules: Sequence[str] = ()) -> None:
        """Raises: UnknownNameError if an entry names a rule that is not in `rules`."""
        for rule, _ in skips.matches:
            check_name("rule", rule, rules)
        self.skips = skips
        self._used: dict[str, None] = {}

    def skips_step(self, path: str) -> bool:
        """Whether the step at this path, or its round, is skipped."""
        named = [step for step in self.skips.steps if path == step or path.startswith(f"{step}/")]
        self._used.update(dict.fromkeys(named))
        return bool(named)

    def skips_level(self, level: int) -> bool:
        """Whether this level of folding is skipped."""
        return self.skips_step(f"fold/level {level}")

    def reason(self, path: str, match: GraphOptMatch) -> str | None:
        """The reason to refuse a match of the step at this path; None if it is not skipped."""
        if self.skips.steps and self.skips_step(path):
            return SWITCHED_OFF
        node = int(match.parameter_path.split(".", 1)[0]) if match.parameter_path else match.root
        entry = self.skips.matches.get((match.pattern.name, node))
        if entry is None:
            return None
        self._used[entry] = None
        return SWITCHED_OFF

    def warn_about_unused(self) -> None:
        """Warn of unused entries: a typo, or a node that exists only with different options."""
        unused = [entry for entry in self.skips.entries if entry not in self._used]
        if unused:
            warn(f"Nothing to disable at {', '.join(unused)}.", SkipWarning)


# ---------------------------------------------------------------------- rounds


@dataclass(frozen=True)
class OptimizeOptions:
    """The rules, the conflict strategy, the limit on rounds, the listeners, and what is skipped."""

    rules: RuleSet
    strategy: OptMatchStrategy
    max_rounds: int
    listeners: tuple[Listener, ...] = ()
    skips: SkipTracker = field(default_factory=lambda: SkipTracker(Skips()))


@dataclass(eq=False)
class PassRun:
    """A pass that is to run in a round. `graph` is what it runs on, then its result."""

    path: StepPath
    graph: Graph[TorchLayer]
    work: Callable[[Graph[TorchLayer]], Graph[TorchLayer] | None]
    changed: bool = False

    def run(self) -> None:
        """Apply the rules of the pass once."""
        after = self.work(self.graph)
        if after is not None:
            self.graph, self.changed = after, True


def optimize_circuit(
    compiler: RuleCompiler, graph: Graph[TorchLayer], options: OptimizeOptions, fresh: Iterator[int]
) -> Iterator[PassRun]:
    """Repeat (parameters, shatter, fuse) until a round changes nothing; a limit that stops it earlier warns.

    Yields each pass for the caller to run. Raises: RuleError if a rule fails; GraphError if the optimized circuit is
    not legal.
    """
    rules = options.rules
    survey = ParameterSurvey(tuple(rules.parameter))
    passes = {
        "parameters": partial(_optimize_parameter_nodes, survey, tuple(rules.parameter)),
        "shatter": partial(_optimize_layers, tuple(rules.shatter)),
        "fuse": partial(_optimize_layers, tuple(rules.fuse)),
    }
    known = KnownResults()
    max_nodes = max(MIN_GROWTH_NODES, MAX_GROWTH * survey.num_nodes(graph))
    for number in range(1, options.max_rounds + 1):
        before = graph
        for entry in ROUND:
            path = StepPath.of("optimize", Stage("round", number), entry.name)
            context = replace(_context(compiler, options, fresh, str(path)), known=known)
            run = PassRun(path, graph, partial(passes[entry.name], context))
            yield run
            graph = run.graph
        if graph is before:
            break
        limit = _limit_after(number, survey.num_nodes(graph), options, max_nodes)
        if limit is not None:
            if _more_is_possible(graph, options, _context(compiler, options, fresh, "")):
                _announce(limit, options.listeners)
            break
    verify_layers(graph)


def _optimize_parameter_nodes(
    survey: ParameterSurvey, rules: Sequence[Rule], context: RewriteContext, graph: Graph[TorchLayer]
) -> Graph[TorchLayer] | None:
    """Apply the parameter rules once to the parameters of all layers, nested ones too; None if nothing matched."""
    context = replace(context, check=check_parameter_replacement, cost=parameter_cost_change, known=None)
    roots = tuple(rule.pattern.entries[0] for rule in rules)
    changed: dict[int, TorchLayer] = {}
    for node, layer in graph.nodes.items():
        if survey.may_match(layer):
            new = _optimize_parameters_of(layer, str(node), rules, roots, context)
            if new is not layer:
                changed[node] = new
    if not changed:
        return None
    return graph.with_nodes({node: changed.get(node, layer) for node, layer in graph.nodes.items()})


def _optimize_parameters_of(
    layer: TorchLayer, parameter_path: str, rules: Sequence[Rule], roots: tuple[type, ...], context: RewriteContext
) -> TorchLayer:
    """The layer with its parameter graphs optimized; the same layer if nothing matched."""
    new: dict[str, object] = {}
    for name, parameter in parameters_of(layer).items():
        if not any(isinstance(value, roots) for value in parameter.graph.nodes.values()):
            continue
        own_ids = replace(context, fresh=count(parameter.graph.next_id))
        optimized = optimize_graph(parameter.graph, rules, own_ids, f"{parameter_path}.{name}")
        if optimized is not None:
            new[name] = TorchParameter(optimized)
    for name, nested in nested_of(layer).items():
        inner = _optimize_parameters_of(nested, f"{parameter_path}.{name}", rules, roots, context)
        if inner is not nested:
            new[name] = inner
    return replace(layer, **new) if new else layer  # type: ignore[arg-type]


def _optimize_layers(
    rules: Sequence[Rule], context: RewriteContext, graph: Graph[TorchLayer]
) -> Graph[TorchLayer] | None:
    """Apply the shattering or the fusing rules once; None if nothing matched."""
    return optimize_graph(graph, rules, context)


def _context(compiler: RuleCompiler, options: OptimizeOptions, fresh: Iterator[int], path: str) -> RewriteContext:
    """The context of the driver for the layer rules of the step at `path`."""
    return RewriteContext(
        compiler=compiler,
        fresh=fresh,
        strategy=options.strategy,
        check=check_replacement,
        cost=partial(cost_change, compiler),
        listeners=options.listeners,
        skip=partial(options.skips.reason, path),
    )


# ---------------------------------------------------------------------- limits


def _limit_after(number: int, nodes: int, options: OptimizeOptions, max_nodes: int) -> LimitReached | None:
    """The limit that ends the rounds after a round with `nodes` nodes, or None."""
    if number == options.max_rounds:
        return LimitReached("rounds", number, _limit_message(f"at the limit of {number} rounds"))
    if nodes > max_nodes:
        grown = f"after {number} rounds: the circuit has grown to {nodes:,} nodes, over the limit of {max_nodes:,}"
        return LimitReached("growth", max_nodes, _limit_message(grown))
    return None


def _limit_message(where: str) -> str:
    return f"Stopped optimizing {where}; more rewrites were possible."


def _announce(limit: LimitReached, listeners: Sequence[Listener]) -> None:
    """Notify the listeners, and warn."""
    for listener in listeners:
        listener(limit)
    advice = {
        "rounds": "Increase max_rounds to continue.",
        "growth": "Check whether a rule matches what it returns.",
    }
    warn(f"{limit.message} {advice[limit.what]}", LimitWarning)


def _more_is_possible(graph: Graph[TorchLayer], options: OptimizeOptions, context: RewriteContext) -> bool:
    """Whether another round would change the graph."""
    rules = options.rules
    if any(is_possible(graph, tuple(layer_rules), context) for layer_rules in (rules.shatter, rules.fuse)):
        return True
    return any(
        is_possible(parameter.graph, tuple(rules.parameter), context, f"{node}.{name}")
        for node, layer in graph.nodes.items()
        for name, parameter in all_parameters(layer).items()
    )

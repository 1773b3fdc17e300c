"""The compiler: symbolic circuit -> layers -> optimized -> folded -> `TorchCircuit`."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import count
from time import perf_counter
from typing import Any

from explorer.backend import (
    FoldIndexInfo,
    ParameterStore,
    Semiring,
    TorchCircuit,
    TorchLayer,
    allocate_parameters,
    get_semiring,
    parameter_nodes,
)
from explorer.backend.parameters import InitializerFunction, TorchParameter, TorchParameterNode
from explorer.compiler.compile_rules import CompileRule, initializer_rules, layer_rules, parameter_rules
from explorer.compiler.compiler_snapshot import CompiledSnapshot, FoldingSnapshot, FoldStates
from explorer.compiler.operator_snapshot import COMPILE, report_operators
from explorer.compiler.stats import StatsCounter
from explorer.errors import CircuitError, DataTypeError, RuleError, check_name, check_type
from explorer.fold import FoldedGroup, assemble, fold_circuit, get_scheduler, order_slices
from explorer.graph import Graph, Ordering
from explorer.levels import pause_garbage_collection
from explorer.optimize import OptimizeOptions, RuleSet, SkipTracker, optimize_circuit, parse_skips, preset_rules
from explorer.options import CompilerOptions
from explorer.rewrite import OptMatchStrategy, get_strategy
from explorer.symbolic import Circuit, Initializer, Layer, ParameterNode, TensorParameter, operator_steps
from explorer.trace import (
    COMPILED,
    Folded,
    Listener,
    Noted,
    ReadOrdered,
    RunStarted,
    Snapshot,
    Stage,
    StepEnded,
    StepFailed,
    StepPath,
    StepStarted,
)


@dataclass(eq=False)
class CompiledCircuitsMap:
    """The compiled circuit of each symbolic circuit."""

    compiled: dict[Circuit, TorchCircuit] = field(default_factory=dict)

    def __contains__(self, circuit: Circuit) -> bool:
        return circuit in self.compiled

    def __getitem__(self, circuit: Circuit) -> TorchCircuit:
        return self.compiled[circuit]

    def register(self, circuit: Circuit, compiled: TorchCircuit) -> None:
        """Store the compiled circuit."""
        self.compiled[circuit] = compiled


class TorchCompiler:
    """Compiles circuits; circuits compiled by the same compiler share the parameter leaves they have in common.

    Pass a `CompilerOptions`, or its fields as keyword arguments. `rules` replaces the rules of the preset; `listeners`
    receive every event. Custom rules: `@compiler.rules.fuse.rule(PATTERN)`; custom layers:
    `@compiler.layer_rules.rule(MyLayer)`.

    Raises: UnknownNameError, ValueRangeError, DataTypeError for invalid options.
    """

    def __init__(
        self,
        options: CompilerOptions | None = None,
        *,
        rules: RuleSet | None = None,
        listeners: Sequence[Listener] = (),
        **keywords: Any,
    ) -> None:
        self.options = _options(options, keywords)
        self.semiring: Semiring = get_semiring(self.options.semiring)
        self.skips = parse_skips(self.options.skip)
        get_scheduler(self.options.levels)
        if rules is not None:
            check_type("rules", rules, RuleSet)
        self.rules = (preset_rules(self.options.preset) if rules is None else rules).without(*self.options.disable)
        for listener in listeners:
            if not callable(listener):
                raise DataTypeError(f"listeners: expected callables that accept an event, got {listener!r}")
        self.listeners: tuple[Listener, ...] = tuple(listeners)
        self.layer_rules = layer_rules.copy()
        self.parameter_rules = parameter_rules.copy()
        self.initializer_rules = initializer_rules.copy()
        self.circuits = CompiledCircuitsMap()
        self.store = ParameterStore()
        self._claimed: set[TensorParameter] = set()
        self._counter = StatsCounter(self.semiring.is_complex)
        self._initializers: dict[Initializer, InitializerFunction] = {}

    def fresh_copy(self) -> "TorchCompiler":
        """A compiler with the same options, rules and compile rules that has compiled nothing and has no listeners."""
        new = TorchCompiler(replace(self.options, disable=()), rules=self.rules)
        new.options = self.options
        new.layer_rules = self.layer_rules.copy()
        new.parameter_rules = self.parameter_rules.copy()
        new.initializer_rules = self.initializer_rules.copy()
        return new

    def compile(self, circuit: Circuit) -> TorchCircuit:
        """Compile a circuit; a circuit that was compiled before is returned again.

        Raises: CircuitError if something in it has no compile rule; RuleError if a rule fails; UnknownNameError if
        `skip` names an unknown rule.
        """
        check_type("circuit", circuit, Circuit)
        if circuit in self.circuits:
            return self.circuits[circuit]
        skips = SkipTracker(self.skips, (*self.rules.names, *self.options.disable))
        self._notify(RunStarted(circuit, self.options.to_json(), self.rules.describe()))
        self._counter = StatsCounter(self.semiring.is_complex)
        with pause_garbage_collection(makes_no_cycles=True):
            compiled = self._compile_circuit(circuit, skips)
        self.circuits.register(circuit, compiled)
        skips.warn_about_unused()
        return compiled

    def _compile_circuit(self, circuit: Circuit, skips: SkipTracker) -> TorchCircuit:
        """Compile the layers, optimize and fold them, allocate and initialize tensors, and build the module."""
        operators = operator_steps(circuit)
        unshown = report_operators(self, circuit, operators, self._notify) if self.listeners and operators.steps else ""
        nothing: Graph[TorchLayer] = Graph({}, {}, ())  # the state before the first step
        before = CompiledSnapshot(self, circuit, self._counter, nothing)
        with self._step(StepPath.of(COMPILE), before) as step:
            graph = self._compile_layers(circuit)
        step.end(bool(unshown) or not operators.steps, replace(before, layers=graph))
        if unshown:
            self._notify(Noted(f"The operators that made the circuit are not shown: {unshown}."))
        graph, fold_index = self._post_process_circuit(circuit, graph, skips, operators.next_id)
        names, seed_names = circuit.leaf_names, circuit.seed_names
        tensors = allocate_parameters(self.store, parameter_nodes(graph), seed_names, self.options.seed)
        return TorchCircuit(
            graph, fold_index, self.semiring, tensors, self.store, names, seed_names, circuit.num_variables
        )

    def _compile_layers(self, circuit: Circuit) -> Graph[TorchLayer]:
        compiled_layers_map = {node: self.compile_layer(layer) for node, layer in circuit.graph.nodes.items()}
        return circuit.graph.with_nodes(compiled_layers_map)

    def _post_process_circuit(
        self, circuit: Circuit, graph: Graph[TorchLayer], skips: SkipTracker, next_id: int
    ) -> tuple[Graph[TorchLayer], FoldIndexInfo | None]:
        """Optimize, then fold, as the options say; new layers have the ids from `next_id` on."""
        fresh = count(next_id)
        snapshot = CompiledSnapshot(self, circuit, self._counter, graph)
        if self.options.optimize:
            snapshot = self._optimize(snapshot, skips, fresh)
        return self._fold(snapshot, skips, next(fresh)) if self.options.fold else (snapshot.layers, None)

    def _optimize(self, snapshot: CompiledSnapshot, skips: SkipTracker, fresh: Iterator[int]) -> CompiledSnapshot:
        """Run the passes of each round, and record each."""
        strategy = get_strategy(self.options.strategy)
        options = OptimizeOptions(self.rules, strategy, self.options.max_rounds, self.listeners, skips)
        for run in optimize_circuit(self, snapshot.layers, options, fresh):
            with self._step(run.path, snapshot) as step:
                run.run()
            snapshot = replace(snapshot, layers=run.graph)
            step.end(run.changed, snapshot)
        return snapshot

    def _fold(
        self, before: CompiledSnapshot, skips: SkipTracker, first: int
    ) -> tuple[Graph[TorchLayer], FoldIndexInfo]:
        """Fold level by level, and record each; `first` is the next fresh id."""
        graph, latest = before.layers, before
        ordering = get_scheduler(self.options.levels)(graph)
        if self.options.order_slices:
            ordering = self._order_slices(before, ordering, skips, first)
        states = FoldStates(graph, self._counter) if self.listeners else None
        folding = fold_circuit(graph, ordering, count(first), skips.skips_level)
        folded: list[FoldedGroup] = []
        for level in range(len(ordering)):
            with self._step(StepPath.of("fold", Stage("level", level)), latest) as step:
                groups = next(folding)
            folded += groups
            if states is None:
                continue
            for group in groups:
                kind, settings = group.key
                seconds = step.seconds / len(groups)
                self._notify(Folded(level, group.node, kind.__name__, settings, group.members, seconds))
            states.add(groups)
            latest = FoldingSnapshot(self, before.symbolic, self._counter, states, level)
            step.end(any(len(group.members) > 1 for group in groups), latest)
        return assemble(graph, folded)

    def _order_slices(self, before: CompiledSnapshot, ordering: Ordering, skips: SkipTracker, first: int) -> Ordering:
        """The ordering in which fewer reads copy, in a step that changes no layer; `first` is the next fresh id."""
        number_bytes = self._counter.number_bytes(before.layers)
        with self._step(StepPath.of("order slices"), before) as step:
            order = order_slices(before.layers, ordering, skips.skips_level, count(first), number_bytes)
        for read in order.reads:
            kinds = (read.before.value, read.after.value)
            self._notify(ReadOrdered(read.node, *kinds, read.bytes_before, read.bytes_after, read.reason))
        step.end(False, before)
        return order.ordering

    # ------------------------------------------------------------------ for compile rules

    def compile_layer(self, layer: Layer) -> TorchLayer:
        """Compile a layer by the rule of its type."""
        return _apply_rule(self.layer_rules[layer], self, layer)

    def compile_parameter(self, parameter: ParameterNode) -> TorchParameter:
        """Compile a parameter graph: each node by the rule of its type, in topological order."""
        compiled_nodes_map: dict[ParameterNode, int] = {}
        nodes: dict[int, TorchParameterNode] = {}
        in_nodes: dict[int, tuple[int, ...]] = {}
        for node in parameter.nodes():
            place = compiled_nodes_map[node] = len(nodes)
            nodes[place] = _apply_rule(self.parameter_rules[node], self, node)
            in_nodes[place] = tuple([compiled_nodes_map[operand] for operand in node.operands])
        return TorchParameter(Graph.trusted(nodes, in_nodes, (compiled_nodes_map[parameter],)))

    def compile_initializer(self, initializer: Initializer) -> InitializerFunction:
        """Compile an initializer to a function that fills a tensor; equal initializers share it."""
        function = self._initializers.get(initializer)
        if function is None:
            function = self._initializers[initializer] = _apply_rule(
                self.initializer_rules[initializer], self, initializer
            )
        return function

    def claim(self, leaf: TensorParameter) -> bool:
        """Claim a leaf for its first use, which owns it; returns whether this was the first use by this compiler."""
        if leaf in self._claimed:
            return False
        self._claimed.add(leaf)
        return True

    def claim_leaves_of(self, other: "TorchCompiler") -> None:
        """Claim what another compiler has claimed, so that both compile further layers alike."""
        self._claimed |= other._claimed

    # ------------------------------------------------------------------ events

    @contextmanager
    def _step(self, path: StepPath, before: Snapshot) -> Generator["_RunningStep"]:
        """Time the work of a step after its first event. Report and raise a failure."""
        self._notify(StepStarted(path, COMPILED))
        step = _RunningStep(self._notify)
        started = perf_counter()
        try:
            yield step
        except CircuitError as error:
            error.args = (f"{path}: {error}",)
            self._notify(StepFailed(str(error), before))
            raise
        step.seconds = perf_counter() - started

    def _notify(self, event: Any) -> None:
        for listener in self.listeners:
            listener(event)


@dataclass
class _RunningStep:
    """A step that has begun, and the seconds of its work once it is done."""

    notify: Callable[[Any], None]
    seconds: float = 0.0

    def end(self, changed: bool, after: Snapshot) -> None:
        """Report the last event of the step."""
        self.notify(StepEnded(changed, self.seconds, after))


def _apply_rule(rule: CompileRule, compiler: TorchCompiler, symbolic: object) -> Any:
    """Apply a compile rule; an exception becomes a RuleError that names the type."""
    try:
        return rule(compiler, symbolic)
    except CircuitError:
        raise
    except Exception as error:
        kind = type(symbolic).__name__
        raise RuleError(
            f"the compile rule of {kind} failed on {symbolic!r}: {type(error).__name__}: {error}"
        ) from error


def _options(options: CompilerOptions | None, keywords: Mapping[str, Any]) -> CompilerOptions:
    """The options, given as one object or as keyword arguments, with the strategy under its name."""
    for name in keywords:
        check_name("option", name, [f.name for f in fields(CompilerOptions)])
    if options is None:
        strategy = get_strategy(keywords.get("strategy", OptMatchStrategy.LARGEST_MATCH))
        return CompilerOptions(**{**keywords, "strategy": strategy.value})
    if not isinstance(options, CompilerOptions):
        raise DataTypeError(f"options: expected CompilerOptions, got {options!r}; pass single options by keyword")
    if keywords:
        raise DataTypeError(f"got both options and {', '.join(keywords)}; use dataclasses.replace(options, ...)")
    return replace(options, strategy=get_strategy(options.strategy).value)

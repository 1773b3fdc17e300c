"""Pipelines and the pass manager, on a graph that is a list of numbers; and pipelines as files."""

from contextlib import contextmanager

import pytest

from explorer.errors import (
    DuplicateNameError,
    FileFormatError,
    GraphError,
    LimitWarning,
    RuleError,
    UnknownNameError,
    ValueRangeError,
)
from explorer.rewrite import (
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
    PassManager,
    PassOptions,
    PassRegistry,
    pipeline_from_yaml,
    pipeline_to_yaml,
    read_pipeline,
    write_pipeline,
)

FIXED_POINT = ConvergenceMode.UNTIL_FIXED_POINT
NO_DCE = DCERequiredMode.NONE


class Observer:
    def __init__(self):
        self.path = []
        self.events = []

    @contextmanager
    def scope(self, name, rules=(), number=None):
        self.path.append(name if number is None else f"{name} {number}")
        self.events.append("/".join(self.path))
        yield
        self.path.pop()

    def on_limit(self, what, limit, message):
        self.events.append(f"limit of {limit} {what}")


class Numbers:
    """A graph of numbers; a negative one is not legal, 0 is dead."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)
        self.observer = Observer()
        self.changes = 0

    def checkpoint(self):
        return self.changes

    def set(self, numbers):
        if numbers != self.numbers:
            self.numbers = numbers
            self.changes += 1

    def verify(self):
        if min(self.numbers, default=0) < 0:
            raise GraphError("a number is below 0")

    def __len__(self):
        return len(self.numbers)


class Toy:
    """A pass that does something with each number, and says that it changed something whatever it did."""

    def __init__(self, name, function):
        self.name = name
        self.doc = f"{name} of each number."
        self.function = function

    def rule_names(self):
        return (f"rule of {self.name}",)

    def describe(self):
        return ()

    def remaining_changes(self, graph):
        return "it can grow" if self.name == "Grow" else None

    def run(self, graph, mode=CompilationMode.INFER):
        graph.set([self.function(number) for number in graph.numbers])
        return True


class Dead(Toy):
    def run(self, graph, mode=CompilationMode.INFER):
        graph.set([number for number in graph.numbers if number])
        return True


@pytest.fixture
def passes():
    registry = PassRegistry()
    registry.register(Dead("DCE", None))
    registry.register(Toy("Halve", lambda n: n // 2))
    registry.register(Toy("Keep", lambda n: n))
    registry.register(Toy("Grow", lambda n: n + 1))
    registry.register(Toy("Negate", lambda n: -n))
    return registry


def only(name, convergence=ConvergenceMode.ONE_PASS, **more):
    return FunctionPassConfig(name, convergence, dce=NO_DCE, **more)


# ---------------------------------------------------------------------- configurations and pipelines


def test_a_configuration_has_the_defaults_of_glow():
    config = FunctionPassConfig()
    assert config.pass_id == "EmptyPass"
    assert config.convergence is ConvergenceMode.ONE_PASS
    assert set(config.modes) == {CompilationMode.INFER, CompilationMode.TRAIN}
    assert config.dce is DCERequiredMode.BEFORE_PASS
    assert config == FunctionPassConfig(modes=[CompilationMode.TRAIN, CompilationMode.INFER])
    assert str(config) == "EmptyPass: one_pass, infer, train, dce before_pass"


def test_dce_cannot_ask_for_dce_before_it():
    with pytest.raises(ValueRangeError, match="DCE cannot require DCE"):
        FunctionPassConfig("DCE")


def test_changing_a_pipeline_returns_a_new_one():
    pipeline = FunctionPassPipeline.of("Halve", "DCE", "Grow")
    assert pipeline.insert(1, "Keep").pass_ids == ("Halve", "Keep", "DCE", "Grow")
    assert (pipeline + pipeline)[3] == pipeline[0]
    assert len(pipeline) == 3
    with pytest.raises(ValueRangeError, match="position: expected 0 to 3, got 4"):
        pipeline.insert(4, "Keep")


def test_a_pipeline_is_dumped_with_one_line_per_entry():
    pipeline = FunctionPassPipeline.of("DCE", only("Halve", FIXED_POINT, modes={CompilationMode.INFER}))
    assert pipeline.text().splitlines() == [
        "0. DCE: one_pass, infer, train, dce none",
        "1. Halve: until_fixed_point, infer, dce none",
    ]


def test_a_name_is_registered_once(passes):
    with pytest.raises(DuplicateNameError, match="a pass named 'Halve' is registered already"):
        passes.register(Toy("Halve", None))
    with pytest.raises(UnknownNameError, match="no pass named 'Half'; known are: EmptyPass, DCE, Halve"):
        passes["Half"]
    assert "Halve" not in passes.without(["Halve"])


# ---------------------------------------------------------------------- running


def test_a_pass_is_run_once_or_until_it_changes_nothing(passes):
    graph = Numbers(40, 10)
    PassManager(FunctionPassPipeline.of(only("Halve")), passes).run(graph)
    assert graph.numbers == [20, 5]
    done = PassManager(FunctionPassPipeline.of(only("Halve", FIXED_POINT)), passes).run(graph)
    assert graph.numbers == [0, 0]
    assert [(entry.changed, entry.rounds) for entry in done] == [(True, 6)]


def test_changes_are_read_from_the_graph_not_from_the_pass(passes):
    graph = Numbers(3)
    done = PassManager(FunctionPassPipeline.of(only("Keep"), only("Keep", FIXED_POINT)), passes).run(graph)
    assert [(entry.changed, entry.rounds) for entry in done] == [(False, 1), (False, 1)]


def test_dead_nodes_are_removed_before_a_pass_that_requests_it(passes):
    graph = Numbers(0, 3)
    done = PassManager(FunctionPassPipeline.of("Keep"), passes).run(graph)
    assert graph.numbers == [3]
    assert [(entry.changed, entry.nodes_before) for entry in done] == [(False, 1)]
    graph = Numbers(0, 3)
    PassManager(FunctionPassPipeline.of(only("Keep")), passes).run(graph)
    assert graph.numbers == [0, 3]


def test_dce_is_skipped_if_the_registry_lacks_it(passes):
    graph = Numbers(0, 3)
    PassManager(FunctionPassPipeline.of("Keep"), passes.without(["DCE"])).run(graph)
    assert graph.numbers == [0, 3]


def test_a_pass_is_skipped_in_modes_that_it_does_not_support(passes):
    pipeline = FunctionPassPipeline.of(only("Halve", modes={CompilationMode.INFER}), only("Grow"))
    graph = Numbers(8)
    done = PassManager(pipeline, passes).run(graph, CompilationMode.TRAIN)
    assert graph.numbers == [9]
    assert [entry.skipped for entry in done] == ["not enabled for the mode train", ""]


def test_it_stops_after_the_maximum_number_of_passes(passes):
    pipeline = FunctionPassPipeline.of(*[only("Grow")] * 5)
    for count in (0, 2, 7):
        graph = Numbers(0)
        done = PassManager(pipeline, passes, PassOptions(stop_after=count)).run(graph)
        assert graph.numbers == [min(count, 5)]
        assert sum(not entry.skipped for entry in done) == min(count, 5)


def test_the_empty_pass_does_nothing(passes):
    graph = Numbers(0, 1)
    done = PassManager(FunctionPassPipeline.of("EmptyPass"), passes).run(graph)
    assert graph.numbers == [0, 1]
    assert not done[0].changed


def test_a_fixed_point_that_is_not_reached_ends_with_a_warning(passes):
    graph = Numbers(0)
    manager = PassManager(FunctionPassPipeline.of(only("Grow", FIXED_POINT)), passes, PassOptions(max_rounds=7))
    with pytest.warns(LimitWarning, match="Stopped Grow at the limit of 7 rounds; it can grow") as warned:
        done = manager.run(graph)
    assert warned[0].filename == __file__
    assert graph.numbers == [7]
    assert done[0].rounds == 7
    assert graph.observer.events[-1] == "limit of 7 rounds"


def test_passes_and_rounds_are_parts_of_the_record(passes):
    graph = Numbers(2)
    PassManager(FunctionPassPipeline.of(only("Halve", FIXED_POINT), "Grow"), passes).run(graph)
    assert graph.observer.events == ["Halve", "Halve/round 1", "Halve/round 2", "Halve/round 3", "Grow"]


def test_the_graph_is_checked_around_passes(passes):
    pipeline = FunctionPassPipeline.of(only("Negate"), only("Negate"))
    with pytest.raises(RuleError, match="invalid after the pass Negate: a number is below 0"):
        PassManager(pipeline, passes).run(Numbers(1))
    PassManager(pipeline, passes, PassOptions(verify_after=())).run(Numbers(1))
    with pytest.raises(RuleError, match="invalid before the pass Negate"):
        PassManager(pipeline, passes, PassOptions(verify_after=(), verify_before=["Negate"])).run(Numbers(1))


def test_the_graph_is_dumped_around_all_or_selected_passes(passes):
    events = []

    def dump(when, name, graph):
        events.append((when, name, *graph.numbers))

    options = PassOptions(dump_before=["Grow"], dump_after="all", dump=dump)
    PassManager(FunctionPassPipeline.of(only("Halve"), only("Grow")), passes, options).run(Numbers(8))
    assert events == [("after", "Halve", 4), ("before", "Grow", 4), ("after", "Grow", 5)]


@pytest.mark.parametrize(("options", "message"), [
    ({"verify_after": ["Half"]}, "no pass named 'Half'"),
    ({"max_rounds": 0}, "max_rounds: expected at least 1, got 0"),
    ({"stop_after": -1}, "stop_after: expected at least 0 or None, got -1"),
    ({"dump_after": "all"}, "need a function `dump`"),
])  # fmt: skip
def test_invalid_options_are_refused(options, message, passes):
    with pytest.raises((UnknownNameError, ValueRangeError), match=message):
        PassManager(FunctionPassPipeline(), passes, PassOptions(**options))
    with pytest.raises(UnknownNameError, match="no pass named 'Half'"):
        PassManager(FunctionPassPipeline.of("Half"), passes)


# ---------------------------------------------------------------------- files


PIPELINE = FunctionPassPipeline.of(
    "DCE", only("Halve", FIXED_POINT, modes={CompilationMode.INFER}), "Grow", FunctionPassConfig(modes=())
)


def test_a_pipeline_round_trips_through_a_file(tmp_path, passes):
    write_pipeline(PIPELINE, tmp_path / "pipeline.yaml")
    assert read_pipeline(tmp_path / "pipeline.yaml", passes.names) == PIPELINE


def test_a_pipeline_file_has_the_keys_of_glow(passes):
    assert pipeline_to_yaml(FunctionPassPipeline.of("Grow")).splitlines() == [
        "- passName: Grow",
        "  convergenceMode: one_pass",
        "  enabledCompilationModes: [infer, train]",
        "  dceMode: before_pass",
    ]
    read = pipeline_from_yaml("- passName: DCE\n- passName: Grow", passes.names)
    assert read == FunctionPassPipeline.of("DCE", "Grow")
    assert pipeline_from_yaml("", passes.names) == FunctionPassPipeline()


@pytest.mark.parametrize(("text", "message"), [
    ("passName: Grow", "expected a list of maps"),
    ("- Grow", "line 1: expected a map with the keys passName, convergenceMode"),
    ("- passName: [Grow]", "line 1: expected a string for passName"),
    ("- dceMode: none", "line 1: missing key passName"),
    ("- passName: Grow\n  speed: 3", "line 2: unknown key 'speed'; known are: passName"),
    ("- passName: Grow\n  passName: Grow", "line 2: duplicate key passName"),
    ("- passName: Grow\n  dceMode: never", "line 2: unknown dceMode 'never'; known are: before_pass, none"),
    ("- passName: Grow\n  convergenceMode: twice", "known are: one_pass, until_fixed_point"),
    ("- passName: Grow\n  enabledCompilationModes: infer", "expected a list, such as"),
    ("- passName: Grow\n  enabledCompilationModes: [infer, test]", "Modes 'test'; known are: infer, train"),
    ("- passName: DCE\n  dceMode: before_pass", "line 1: the pass DCE cannot require DCE"),
    ("- [", "is not valid YAML"),
    ("- passName: Grow\n- " + "[" * 3000, "line 2: nested deeper than 8 levels"),
    ("- " * 3000, "line 1: nested deeper than 8 levels"),
    ("- passName: &name Grow\n- passName: *name", r"line 2: the alias \*name is not read"),
    ("- passName: Grow\n" * 6000, "has 100 kB, but at most 64 kB are read"),
    ("- passName: \ud800", "is not valid YAML"),
])  # fmt: skip
def test_an_invalid_file_is_refused_with_the_line(text, message, passes):
    with pytest.raises(FileFormatError, match=message):
        pipeline_from_yaml(text, passes.names)


def test_an_unknown_pass_in_a_file_is_refused_with_the_line(tmp_path, passes):
    path = tmp_path / "pipeline.yaml"
    path.write_text("- passName: Grow\n- passName: Half\n")
    with pytest.raises(UnknownNameError, match=r"pipeline.yaml, line 2\) named 'Half'; known are: EmptyPass, DCE"):
        read_pipeline(path, passes.names)
    with pytest.raises(FileFormatError, match="cannot read"):
        read_pipeline(tmp_path / "nothing.yaml", passes.names)


def test_a_limit_reached_without_remaining_changes_is_not_reported(passes):
    graph = Numbers(1)
    manager = PassManager(FunctionPassPipeline.of(only("Halve", FIXED_POINT)), passes, PassOptions(max_rounds=1))
    assert manager.run(graph)[0].rounds == 1
    assert not any(name.startswith("limit") for name in graph.observer.events)


@pytest.mark.parametrize("text", ["", "[]\n"])
def test_a_file_that_lists_no_passes_is_refused(passes, tmp_path, text):
    path = tmp_path / "pipeline.yaml"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"lists no passes|a pipeline is a list"):
        read_pipeline(path, passes.names)

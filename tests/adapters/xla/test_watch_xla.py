"""The trace of a dump: states, fusions with reasons, lineage and bytes; and what is said of an incomplete dump."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from explorer.adapters.xla import watch_xla
from explorer.errors import CircuitError, FileFormatError, UnknownNameError
from explorer.trace import Trace
from explorer.trace.trace_files import trace_to_json
from explorer.trace.trace_reading import trace_from_json
from tests.adapters.xla.recorded import BEFORE, FUSED, LOG, SOFTMAX, copied, text_of
from tests.fuzzing import examples


@pytest.fixture(scope="module")
def trace() -> Trace:
    return watch_xla(SOFTMAX)


def paths(trace: Trace) -> list[str]:
    return [str(step.path) for step in trace.steps]


def fusion_of(trace: Trace):
    return next(step for step in trace.steps if step.at.pass_name == "fusion")


def named(trace: Trace, step: int) -> dict[str, int]:
    return {str(one.about.get("name")): node for node, one in trace.steps[step].snapshot.graph.nodes.items()}


def test_passes_that_changed_something_are_states(trace):
    assert paths(trace) == [
        "capture",
        "simplification/algsimp",
        "simplification",
        "dot-library-passes/dot-library-rewriter",
        "fusion",
        "fusion-wrapper",
        "copy-insertion",
        "after optimizations",
    ]
    assert [step.changed for step in trace.steps] == [True, True, False, True, True, True, False, True]
    calls = [step.snapshot.stats["calls"] for step in trace.steps]
    assert calls == [13, 11, 11, 11, 6, 6, 6, 6]
    assert trace.options["compiler"] == "XLA"


def test_the_fusion_pass_is_a_round_of_pairs_with_reasons(trace):
    step = fusion_of(trace)
    before, after = named(trace, step.index - 1), named(trace, step.index)
    pairs = [match.nodes for match in step.matches]
    assert (before["sub.6"], before["sub.7"]) in pairs
    assert {one.refusal.found for one in step.refusals} >= {
        "Fusion is not profitable",
        "expensive producer would be duplicated",
        "operand can not be duplicated",
    }
    answer = trace.why_not_fused(before["exp.1"], before["multiply"])
    assert "expensive producer would be duplicated" in str(answer)
    merged = {rewrite.added: rewrite.removed for rewrite in step.applied}
    removed = merged[(after["broadcast_multiply_fusion"],)]
    assert set(removed) == {before["multiply"], before["broadcast.2"]}
    assert removed[0] == before["multiply"]


def test_every_state_follows_from_its_changes(trace):
    read = trace_from_json(trace_to_json(trace))
    for one, other in zip(trace.steps, read.steps, strict=True):
        assert one.snapshot.graph.nodes == other.snapshot.graph.nodes
        assert one.snapshot.graph.inputs == other.snapshot.graph.inputs
    for before, after in zip(trace.steps, trace.steps[1:], strict=False):
        old, new = set(before.snapshot.graph.nodes), set(after.snapshot.graph.nodes)
        assert {node for rewrite in after.applied for node in rewrite.added} >= new - old
        assert {node for rewrite in after.applied for node in rewrite.removed} == old - new


def test_a_record_has_operators_bytes_and_lineage(trace):
    step = fusion_of(trace)
    record = step.snapshot.graph.nodes[named(trace, step.index)["subtract_exponential_fusion"]]
    assert (record.kind, record.title) == ("fused", "broadcast + subtract + exponential")
    assert record.config["operators"] == ["broadcast", "subtract", "exponential"]
    assert record.config["stays inside"] == ["f32[4,6]", "f32[4,6]"]
    assert (record.config["bytes"], record.config["read_bytes"]) == (96, 96 + 16)
    assert (record.about["module"], record.about["source"]) == ("head", "model.py:7")
    assert "jit(forward)/head/exp" in record.about["op_name"]
    assert record.about["code"].splitlines()[-1].startswith("ROOT %exp.")
    library = step.snapshot.graph.nodes[named(trace, step.index)["ynn_fusion"]]
    assert (library.kind, library.title) == ("matmul", "dot")
    inputs = [one for one in step.snapshot.graph.nodes.values() if one.kind == "input"]
    assert [one.config["name"] for one in inputs] == ["x.1", "w.1"]


def test_only_the_scheduled_state_has_a_listing(trace):
    memory = trace.steps[-1].snapshot.memory
    assert memory is not None
    assert memory.listing[-1][1].startswith("ROOT %broadcast_multiply_fusion = f32[4,6]{1,0} fusion(")


def test_a_log_that_names_few_consumers_gives_the_same_pairs(tmp_path, trace):
    folder = copied(tmp_path)
    lines = [line for line in text_of(LOG).splitlines() if "Considering" not in line]
    first = "I0 instruction_fusion.cc:653] Operand (%reduce_max.3 = f32[] parameter(0)) is not fusible"
    (folder / LOG).write_text("\n".join([first, *lines]))
    short, full = fusion_of(watch_xla(folder)), fusion_of(trace)
    assert [match.nodes for match in short.matches] == [match.nodes for match in full.matches]
    told = {(one.refusal.root, one.refusal.node, one.refusal.found) for one in short.refusals}
    assert told <= {(one.refusal.root, one.refusal.node, one.refusal.found) for one in full.refusals}
    assert len(told) > len(full.refusals) / 2


def test_without_a_log_the_states_are_the_same_and_the_trace_says_it(tmp_path, trace):
    found = watch_xla(copied(tmp_path, leave_out=LOG))
    assert [step.snapshot.stats for step in found.steps] == [step.snapshot.stats for step in trace.steps]
    assert "has no log of this pass" in " ".join(fusion_of(found).notes)
    assert not fusion_of(found).refusals


def test_a_truncated_state_is_left_out_and_named(tmp_path):
    folder = copied(tmp_path)
    path = folder / FUSED
    path.write_text(path.read_text()[:2_000])
    found = watch_xla(folder)
    assert "fusion" not in paths(found)
    assert f"{FUSED}: there is no entry computation." in " ".join(found.steps[-1].notes)
    trace_from_json(trace_to_json(found))


def test_the_largest_of_several_modules_is_shown_and_another_one_by_its_name(tmp_path):
    folder = copied(tmp_path)
    text = "HloModule jit_neg\n\nENTRY %main (x: f32[2]) -> f32[2] {\n  %x = f32[2]{0} parameter(0)\n"
    text += "  ROOT %y = f32[2]{0} negate(%x)\n}\n"
    (folder / "module_0007.jit_neg.before_optimizations.txt").write_text(text)
    found = watch_xla(folder)
    assert found.options["subject"] == "jit_forward"
    assert "The dump has further modules: module_0007.jit_neg." in found.steps[-1].notes
    assert watch_xla(folder, module="jit_neg").steps[0].snapshot.stats["calls"] == 1
    with pytest.raises(UnknownNameError, match=r"no module named 'jit_x'; known are: module_0001.jit_forward"):
        watch_xla(folder, module="jit_x")


def test_a_run_that_fused_nothing_is_a_round_of_refusals(tmp_path):
    state = """HloModule f
ENTRY %main (x: f32[8], y: f32[8]) -> f32[8] {{
  %x = f32[8]{{0}} parameter(0)
  %y = f32[8]{{0}} parameter(1)
  %one = f32[8]{{0}} sort(%x), dimensions={{0}}
  ROOT %{name} = f32[8]{{0}} add(%one, %y)
}}
"""
    (tmp_path / "module_0001.f.before_optimizations.txt").write_text(state.format(name="two"))
    (tmp_path / "module_0001.f.0001.HLO_passes.after_fusion-wrapper.txt").write_text(state.format(name="three"))
    log = "I0 0 instruction_fusion.cc:142] Evaluating fusion: producer 'one' into consumer 'two'.\n"
    log += "I0 0 instruction_fusion.cc:687] not fusing operand %one = f32[8]{0} sort(%x) because it sorts.\n"
    (tmp_path / "any.log").write_text(log + "I0 0 instruction_fusion.cc:784] Fusion count: 0\n")
    found = watch_xla(tmp_path)
    assert [(str(step.path), step.changed) for step in found.steps] == [
        ("capture", True),
        ("fusion", False),
        ("fusion-wrapper", True),
    ]
    names = named(found, 0)
    (missed,) = found.steps[1].refusals
    assert (missed.refusal.root, missed.refusal.node, missed.refusal.found) == (names["one"], names["two"], "it sorts")
    trace_from_json(trace_to_json(found))


def test_a_fusion_that_no_state_has_is_told_by_its_pair_alone(tmp_path):
    folder = copied(tmp_path)
    state = text_of(FUSED).partition("ENTRY")[0] + "ENTRY" + text_of(BEFORE).partition("ENTRY")[2]
    (folder / BEFORE).write_text(state)
    for path in folder.glob("*.00*.txt"):
        path.unlink()
    (folder / FUSED).write_text(state.replace("dimensions={1}", "dimensions={0}"))
    log = "I0 instruction_fusion.cc:848] Fusing %exp.1 = f32[] exponential(%a) into %div.7 = f32[] divide(%a)\n"
    (folder / LOG).write_text(log + "I0 instruction_fusion.cc:855] created new fusion: %lost = f32[] fusion(%a)\n")
    step = fusion_of(watch_xla(folder))
    names = named(watch_xla(folder), 0)
    assert step.matches[0].nodes == (names["exp.1"], names["div.7"])
    assert [(one.removed, one.added) for one in step.applied] == [((), ())]
    assert "The log of this pass is truncated: later decisions are unknown." in step.notes
    trace_from_json(trace_to_json(watch_xla(folder)))


def test_a_loop_is_one_node_with_a_note(tmp_path):
    text = """ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %state = (s32[], f32[8]{0}) tuple(%zero, %x)
  %loop = (s32[], f32[8]{0}) while(%state), condition=%test, body=%step
  ROOT %y = f32[8]{0} get-tuple-element(%loop), index=1
}
"""
    (tmp_path / "module_0001.f.before_optimizations.txt").write_text("HloModule f\n" + text)
    snapshot = watch_xla(tmp_path).steps[0].snapshot
    assert [one.type for one in snapshot.graph.nodes.values()] == [
        "Input",
        "Constant",
        "while",
        "View.get-tuple-element",
    ]
    loop = list(snapshot.graph.nodes.values())[2]
    assert loop.config["note"] == "while runs test, step; its bytes are those of its operands and its result, once"
    assert (loop.config["bytes"], loop.config["read_bytes"]) == (36, 36)


def test_folders_without_a_dump_are_refused(tmp_path):
    with pytest.raises(UnknownNameError, match=r"folder not found: .*xla_dump_to"):
        watch_xla(tmp_path / "nothing")
    with pytest.raises(FileFormatError, match="has no state of XLA"):
        watch_xla(tmp_path)
    (tmp_path / BEFORE).write_text("HloModule f\n")
    with pytest.raises(FileFormatError, match="there is no entry computation"):
        watch_xla(tmp_path)


def write_hostile(folder: Path, body: list[str], log: list[str]) -> Path:
    for name in ("before_optimizations", "0001.HLO_passes.after_fusion"):
        lines = ["HloModule f", "ENTRY %main (x: f32[]) -> f32[] {", "%x = f32[] parameter(0)", *body, "}"]
        (folder / f"module_0001.f.{name}.txt").write_text("\n".join([*lines, f"// {name}"]))
    (folder / LOG).write_text("\n".join(log))
    return folder


def test_tuples_in_tuples_are_not_flattened_without_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("explorer.adapters.xla.states.MAX_EDGES", 1_000)
    body = ["%t0 = (f32[]) tuple(%x)", "%n0 = f32[] negate(%t0)"]
    for i in range(1, 100):
        body += [f"%t{i} = (f32[]) tuple(%t{i - 1}, %n{i - 1})", f"%n{i} = f32[] negate(%t{i})"]
    with pytest.raises(FileFormatError, match="main has more than 1,000 reads"):
        watch_xla(write_hostile(tmp_path, body, []))


def test_fusions_of_fusions_are_not_copied_without_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("explorer.adapters.xla.fusion_log.MAX_COPIES", 1_000)
    log = []
    for i in range(100):
        log.append(f"fusion.cc:1] Fusing %{f'f{i}' if i else 'x'} = f into %y{i} = f")
        log.append(f"fusion.cc:1] created new fusion: %f{i + 1} = g")
    with pytest.raises(FileFormatError, match="more than 1,000 copies"):
        watch_xla(write_hostile(tmp_path, [f"%y{i} = f32[] negate(%x)" for i in range(101)], log))


@given(st.data())
@examples(100)
def test_a_mutated_dump_gives_a_readable_trace_or_a_typed_error(tmp_path_factory, data):
    folder = copied(tmp_path_factory.mktemp("mutated"))
    for path in data.draw(
        st.lists(st.sampled_from(sorted(Path(folder).iterdir())), min_size=1, max_size=4, unique=True)
    ):
        text = path.read_text()
        for _ in range(data.draw(st.integers(1, 5))):
            begin = data.draw(st.integers(0, len(text)))
            piece = data.draw(
                st.sampled_from(["", "}", "(", '"', "\n", "%x.1", "tuple", "constant", "0", "-", "ROOT "])
            )
            text = text[:begin] + piece + text[min(begin + data.draw(st.integers(0, 40)), len(text)) :]
        path.write_text(text[: data.draw(st.sampled_from([len(text), len(text) // 2]))])
    try:
        found = watch_xla(folder)
    except CircuitError:
        return
    trace_from_json(trace_to_json(found))

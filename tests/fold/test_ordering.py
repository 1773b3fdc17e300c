"""Ordering slices: fewer reads copy, and no value, gradient, leaf or name changes."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from torch import Tensor

import explorer
from explorer.backend import TorchCircuit
from explorer.bench import random_inputs as rows_for
from explorer.compiler import TorchCompiler, rerun, trace_of_circuit
from explorer.fold import longest_distance
from explorer.fold.ordering import Layout
from explorer.symbolic import CategoricalLayer, Circuit, CircuitBuilder, TensorParameter
from explorer.templates import load_named
from explorer.trace import ReadOrdered, Trace
from explorer.views import TraceIndex, film, fold_level
from explorer.views.messages import message_of
from tests.fuzzing import examples
from tests.levels.modes import PRESETS, compile_circuit, only, output, some_input
from tests.oracle import assert_equals_oracle, constant_leaf_values
from tests.strategies import circuits, random_inputs


def copied_bytes(circuit: TorchCircuit) -> int:
    return trace_of_circuit(circuit).steps[0].snapshot.stats["copied_bytes"]


def kinds_of(trace: Trace) -> dict[int, list[str]]:
    """How the folded layers of each level read."""
    found: dict[int, list[str]] = {}
    for group in trace.fold_groups():
        if group.read is not None:
            found.setdefault(group.level, []).append(group.read)
    return found


def inputs(b: CircuitBuilder, order: Sequence[int]) -> list[int]:
    """Input layers in this order of their variables; the result is in the order of the variables."""
    made = {
        v: b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=3, logits=TensorParameter((2, 3))))
        for v in order
    }
    return [made[v] for v in range(len(order))]


def reads_of(circuit: Circuit) -> list[ReadOrdered]:
    """Return the changes by ordering the slices of a circuit, without rewrites."""
    trace = explorer.record(circuit, optimize=False, order_slices=True)
    step = only([step for step in trace.steps if step.path == "order slices"])
    return list(step.reads)


# ---- structure


def test_digits_reads_levels_1_and_2_by_view():
    before, after = (kinds_of(explorer.record(load_named("digits"), order_slices=on)) for on in (False, True))
    assert before[1] == before[2] == ["gather"]
    assert after[1] == after[2] == ["view"]


def test_a_source_takes_the_order_in_which_it_is_read():
    b = CircuitBuilder()
    x = inputs(b, (3, 0, 2, 1))
    circuit = b.build(b.hadamard(b.hadamard(x[0], x[1]), b.hadamard(x[2], x[3])))
    read = only(reads_of(circuit))
    assert (read.before, read.after, read.bytes_before, read.bytes_after) == ("gather", "view", 64, 0)
    assert read.reason == "the slices of #7 are now in the order in which they are read"
    trace = explorer.record(circuit, optimize=False, order_slices=True)
    assert [group.members for group in trace.fold_groups(0)] == [(1, 3, 2, 0)]
    assert [group.node for group in trace.fold_groups(1)] == [read.node]


def test_the_outputs_are_a_reader_too():
    b = CircuitBuilder()
    sums = [b.sum(one, num_units=2) for one in inputs(b, (0, 1, 2, 3))]
    read = only(reads_of(b.build(*(sums[i] for i in (2, 0, 3, 1)))))
    assert (read.node, read.before, read.after) == (None, "gather", "view")


def test_of_two_users_that_read_in_different_orders_the_one_that_copies_more_wins():
    b = CircuitBuilder()
    x = inputs(b, range(8))
    small = [b.hadamard(x[0], x[1]), b.hadamard(x[2], x[4])]
    large = [b.kronecker(x[i], x[j]) for i, j in ((0, 2), (1, 3), (4, 6), (5, 7))]
    top = [b.sum(b.hadamard(*products), num_units=1) for products in (small, large)]
    by_bytes = {read.bytes_before: read for read in reads_of(b.build(*top))}
    won, lost = by_bytes[128], by_bytes[64]
    assert (won.before, won.after, lost.before, lost.after) == ("gather", "view", "gather", "gather")
    source = won.reason.split()[3]
    assert lost.reason == (
        f"#{won.node} reads {source} in a different order and would copy 128 bytes per example, so that order wins"
    )


def test_slices_that_are_read_more_than_once_stay_a_gather():
    b = CircuitBuilder()
    x = inputs(b, range(4))
    products = [b.hadamard(x[i], x[j]) for i, j in ((0, 1), (0, 2), (3, 2))]
    read = only(reads_of(b.build(b.hadamard(*products))))
    assert (read.before, read.after) == ("gather", "gather")
    assert "more than once, so no order makes them evenly spaced" in read.reason


def test_a_skipped_level_stays_unfolded():
    trace = explorer.record(load_named("digits"), order_slices=True, skip=("fold/level 1",))
    assert all(len(group.members) == 1 for group in trace.fold_groups(1))
    named = {read.node for step in trace.steps for read in step.reads} - {None}
    assert named <= {group.node for group in trace.fold_groups()}


def test_the_reads_are_in_the_trace_its_file_and_its_repetition(tmp_path: Path):
    trace = explorer.record(load_named("digits"), order_slices=True)
    trace.save(tmp_path / "digits.trace.json")
    loaded = Trace.load(tmp_path / "digits.trace.json")
    (step,) = [step for step in trace.steps if step.reads]
    assert loaded.step(step.index).reads == step.reads == rerun(loaded).step(step.index).reads
    assert loaded.step(step.index).summary == step.summary
    assert not step.changed
    assert all(check.ok for check in trace.check(rows_for(trace.compiled, 4)))
    stats = [trace.stats(at) for at in (step.index - 1, step.index)]
    assert stats[0] == stats[1]
    saved = sum(read.bytes_before - read.bytes_after for read in step.reads if read.node is not None)
    plain = explorer.record(load_named("digits"))
    assert plain.stats(-1)["copied_bytes"] - trace.stats(-1)["copied_bytes"] == saved


def test_the_views_say_why_a_read_is_what_it_is():
    index = TraceIndex(explorer.record(load_named("digits"), order_slices=True))
    assert "; the slices of #" in fold_level(index, 1)["groups"][0]["reason"]
    frames = {frame["label"]: frame["sentence"] for frame in film(index)}
    assert frames["order slices"] == (
        "Slices ordered: 2 of 2 copying reads became views, 16,384 → 0 bytes per example."
    )
    assert "; the slices of #" in fold_level(index, 2)["groups"][0]["reason"]


def test_a_step_that_saves_nothing_says_so_and_has_no_frame():
    index = TraceIndex(explorer.record(load_named("hmm"), order_slices=True))
    (step,) = [step for step in index.trace.steps if step.reads]
    assert step.summary == "no order of slices copies less: 11 reads still copy 704 bytes per example"
    assert message_of(index, step.index) == f"N{step.summary[1:]}."
    assert not [frame for frame in film(index) if frame["step"] == step.index]


# ---- values


def gradients(circuit: TorchCircuit, x: Tensor | None) -> Mapping[str, Tensor]:
    """The gradient of the sum of the outputs by each leaf, by name."""
    out = circuit(x)
    if not out.requires_grad:
        return {}
    circuit.zero_grad()
    out[out.isfinite()].sum().backward()
    found: dict[str, Tensor] = {}
    for leaf, (tensor, row) in circuit._slots.items():
        gradient = circuit.tensors[tensor].grad
        if gradient is not None:
            found[circuit.leaf_names[leaf]] = gradient[row]
    return found


@examples(40)
@given(circuits(), st.sampled_from(PRESETS), st.booleans(), st.integers(0, 2**16))
def test_ordered_slices_change_no_output_no_leaf_and_no_gradient(
    circuit: Circuit, preset: str, optimize: bool, seed: int
):
    plain, ordered = (
        compile_circuit(circuit, preset=preset, optimize=optimize, order_slices=on) for on in (False, True)
    )
    x = random_inputs(circuit, seed=seed)
    assert_equals_oracle(output(ordered, x), "lse-sum", circuit, constant_leaf_values(circuit), x)
    np.testing.assert_allclose(output(ordered, x), output(plain, x), rtol=1e-12)
    assert ordered.leaf_state().keys() == plain.leaf_state().keys()
    for name, value in plain.leaf_state().items():
        assert torch.equal(ordered.leaf_state()[name], value)
    rows = some_input(circuit, seed=seed)
    wanted, found = gradients(plain, rows), gradients(ordered, rows)
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value)


def test_circuits_that_read_shared_leaves_in_different_orders_keep_their_values():
    found: dict[bool, list[NDArray[Any]]] = {}
    leaves = [TensorParameter((2, 3), name=f"coin {v}") for v in range(4)]
    built: list[Circuit] = []
    for order in ((0, 1, 2, 3), (2, 0, 3, 1)):
        b = CircuitBuilder()
        x = [
            b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=3, logits=leaves[v]))
            for v in range(4)
        ]
        products = [b.hadamard(x[order[i]], x[order[i + 1]]) for i in (0, 2)]
        built.append(b.build(b.sum(b.hadamard(*products), num_units=1)))
    for on in (False, True):
        compiler = TorchCompiler(order_slices=on)
        found[on] = [output(compiler.compile(one), np.array([[0, 1, 2, 1], [2, 2, 0, 1]])) for one in built]
        assert len(compiler.store.slots) == 6
    np.testing.assert_allclose(found[True], found[False], rtol=1e-12)


@examples(40)
@given(circuits(), st.sampled_from(PRESETS))
def test_ordered_slices_never_copy_more(circuit: Circuit, preset: str):
    plain, ordered = (compile_circuit(circuit, preset=preset, order_slices=on) for on in (False, True))
    assert list(plain.graph.nodes) == list(ordered.graph.nodes)
    assert dict(plain.graph.inputs).keys() == dict(ordered.graph.inputs).keys()
    outputs = [one._plan.output.read.rows_copied for one in (plain, ordered)]
    assert copied_bytes(ordered) <= copied_bytes(plain) or outputs[1] < outputs[0]


@examples(40)
@given(circuits(), st.integers(0, 2**16))
def test_the_cost_of_a_read_is_what_it_copies(circuit: Circuit, seed: int):
    graph, random = compile_circuit(circuit, fold=False).graph, np.random.default_rng(seed)
    layout = Layout(graph, longest_distance(graph), lambda _: False, count(graph.next_id))
    for _ in range(3):
        for reader in layout.readers:
            assert layout.cost(reader).numbers == layout.read(reader).rows_copied * reader.units
        for group in layout.orderable:
            layout.reorder(group, random.permutation(layout.orders[group]))

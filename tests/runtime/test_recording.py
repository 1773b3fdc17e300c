"""The trace of kernel calls: what passes combined, why they left one as it is; every step has the same values."""

from textwrap import wrap

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from inline_snapshot import snapshot
from torch import nn

import explorer
from explorer.bench import random_inputs
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError, RuleError, ValueRangeError
from explorer.levels import StatePass
from explorer.runtime.plan import Plan, lower_to_plan, run_passes
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot
from explorer.runtime.recording.record_kernels import passes
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    GaussianLayer,
    Parameterization,
    TensorParameter,
)
from explorer.templates import gallery, load_named
from explorer.trace import KERNELS, Trace, trace_from_json
from explorer.trace.trace_files import trace_to_json
from explorer.views import TraceIndex, sentence_of
from tests.fuzzing import examples
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.runtime.circuits import FIXED_PASSES, assert_equal, doubled, has_compiler
from tests.strategies import circuits, random_inputs as some_rows
from tests.symbolic.building import coin

SMALL = [name for name in gallery.names() if name not in ("mnist", "poon-domingos", "sos")]


def pairs_of_coins() -> Trace:
    """Two pairs of coins: each coin is read by one sum of its own, and each pair by a product that a sum reads."""
    b = CircuitBuilder()
    coins = [b.sum(b.add(coin(at, probs=Parameterization()((2, 2)))), num_units=2) for at in range(4)]
    pairs = [b.sum(b.hadamard(*coins[at : at + 2]), num_units=2) for at in (0, 2)]
    circuit = b.build(b.sum(b.hadamard(*pairs), num_units=1))
    return explorer.record(circuit, level="kernels", compiler={"optimize": False}, batch_size=4, pipeline=FIXED_PASSES)


def sentences(trace: Trace) -> list[list[str]]:
    """Describe each step in lines."""
    return [wrap(sentence_of(TraceIndex(trace), step.index), 100) for step in trace.steps]


def plan_after(trace: Trace, step: int | str) -> Plan:
    found = trace.step(step).snapshot
    assert isinstance(found, KernelsSnapshot)
    return found.plan


def in_order(plan: Plan) -> list[tuple[object, ...]]:
    """The kernel calls, each named by its position."""
    places = {number: place for place, number in enumerate(plan.calls)}
    return [
        (
            one.kind,
            one.width,
            one.sources,
            tuple(places[read] for read in one.inputs),
            one.terms,
            plan.slots.get(number),
        )
        for number, one in plan.calls.items()
    ]


def test_the_steps_of_two_pairs_of_coins():
    trace = pairs_of_coins()
    assert sentences(trace) == snapshot(
        [
            [
                "10 kernel calls lowered: 7 Sum, 3 Product. A kernel call evaluates one fold of a layer for a tile of",
                "4 rows; the calls read 4 tables.",
            ],
            ["Without-unused changed nothing."],
            [
                "Table + Sum becomes Table 4 times (combine-tables): 10 calls → 6, 232 → 104 FLOP, 164 B → 100 B of",
                "parameters and tables read, peak memory 304 B → 176 B.",
            ],
            [
                "No pattern matched. 1 pattern was tried on 6 kernel calls and 4 tables. Closest: multiply-densities,",
                "3 times blocked at its 1st kernel call because no factor is a normal density.",
            ],
            [
                "No pattern matched. 1 pattern was tried on 6 kernel calls and 4 tables. Closest: split-products, 3",
                "times blocked at its 1st kernel call because it has 2 factors; up to 4 stay in the range of a float.",
            ],
            [
                "Product + Sum becomes Sum of products 3 times (multiply-within-sums): 6 calls → 3, peak memory 176 B",
                "→ 80 B.",
            ],
            [
                "depth-first: each kernel call runs right before the first one that reads its value; this saves",
                "nothing here, at most 80 B are alive at once as before.",
            ],
            [
                "slots: 3 values have slots of their own of 32 B each; this costs memory, as each slot is as wide as",
                "the widest value: peak memory 80 B → 96 B.",
            ],
        ]
    )


def test_a_table_says_what_it_was_made_of():
    trace = pairs_of_coins()
    assert [str(trace.lineage(node)) for node in trace.graph_at("combine-tables").nodes][:1] == snapshot(
        [
            """\
node 14: exists from step 2 to step 7
  lowered as: 0, 4
  made by step 2 (combine-tables): combine-tables: 4, 0 -> 14
  now 14\
"""
        ]
    )


def test_each_call_that_a_pass_left_has_its_reason():
    trace = pairs_of_coins()
    left = {(step.pass_name, one.refusal.root): str(one.refusal.found) for step in trace.steps for one in step.refusals}
    assert left == snapshot(
        {
            ("combine-tables", 10): "it reads a product, which is computed for each row",
            ("combine-tables", 11): "it reads a product, which is computed for each row",
            ("combine-tables", 13): "it reads a product, which is computed for each row",
            ("multiply-densities", 8): "no factor is a normal density",
            ("multiply-densities", 9): "no factor is a normal density",
            ("multiply-densities", 12): "no factor is a normal density",
            ("split-products", 8): "it has 2 factors; up to 4 stay in the range of a float",
            ("split-products", 9): "it has 2 factors; up to 4 stay in the range of a float",
            ("split-products", 12): "it has 2 factors; up to 4 stay in the range of a float",
        }
    )
    (name, node), reason = next(iter(left.items()))
    assert reason in str(trace.why_not(name, node))


@pytest.mark.parametrize("name", SMALL)
def test_the_recorded_calls_are_those_that_are_run(name: str):
    compiled = TorchCompiler().compile(load_named(name))
    trace = explorer.record(compiled, level="kernels")
    assert in_order(plan_after(trace, -1)) == in_order(run_passes(lower_to_plan(compiled)))
    assert sum(map(len, (step.rewrites for step in trace.steps))) > 0


@has_compiler
@pytest.mark.parametrize("name", SMALL)
def test_every_step_has_the_values_of_the_circuit(name: str):
    compiled = TorchCompiler().compile(load_named(name))
    x = random_inputs(compiled, 20)
    trace = explorer.record(compiled, (x,), level="kernels")
    for batch in (None, x, (x,)):
        checks = trace.check(batch)
        assert len(checks) == len(trace.steps)
        assert all(check.ok for check in checks), checks


@has_compiler
@examples(25)
@given(
    circuits(positive=True),
    st.integers(0, 2**16),
    st.sampled_from([1, 33]),
    st.sampled_from(MODES),
)
def test_every_step_of_a_random_circuit_has_its_values_and_a_file_holds_them(
    circuit: Circuit, seed: int, batch: int, mode: Mode
):
    """Compared with double precision, as the layers in single precision may be further away."""
    x, compiled = some_rows(circuit, batch, seed), compile_circuit(circuit, **mode)
    if x is None:
        return
    given_rows = torch.from_numpy(np.ascontiguousarray(x))
    trace = explorer.record(compiled, (given_rows,), level="kernels")
    expected = doubled(compiled)(given_rows).detach()
    for step in trace.steps:
        assert_equal(step.snapshot.results((given_rows,))[0], expected)
    assert in_order(plan_after(trace, -1)) == in_order(run_passes(lower_to_plan(compiled)))
    data = trace_to_json(trace, times=False)
    assert trace_to_json(trace_from_json(data), times=False) == data


@has_compiler
def test_products_of_densities_are_one_call_and_long_products_have_parts():
    b = CircuitBuilder()
    zeros, ones = (TensorParameter((2,), initializer=ConstantInitializer(np.full(2, value))) for value in (0, 1))
    densities = [b.add(GaussianLayer(scope=(at,), num_output_units=2, mean=zeros, stddev=ones)) for at in range(3)]
    coins = [b.sum(b.add(coin(at, probs=Parameterization()((2, 2)))), num_units=2) for at in range(3, 8)]
    circuit = b.build(b.sum(b.hadamard(*densities, *coins), num_units=1))
    trace = explorer.record(circuit, level="kernels", compiler={"optimize": False}, pipeline=FIXED_PASSES)
    assert sentences(trace)[3:5] == snapshot(
        [
            [
                "3 × Gaussian + Product becomes Product of Gaussians + Product (multiply-densities): 5 calls → 3,",
                "12.3 thousand → 11.3 thousand FLOP, peak memory 9 KiB → 5 KiB.",
            ],
            ["Product becomes 3 × Product (split-products): 3 calls → 5, peak memory 5 KiB → 9 KiB."],
        ]
    )
    assert all(check.ok for check in trace.check())


@pytest.mark.parametrize("name", SMALL)
def test_a_file_holds_the_same_trace(name: str, tmp_path):
    trace = explorer.record(load_named(name), level="kernels")
    trace.save(tmp_path / "one.trace.json", times=False)
    loaded = Trace.load(tmp_path / "one.trace.json")
    loaded.save(tmp_path / "two.trace.json", times=False)
    assert (tmp_path / "one.trace.json").read_bytes() == (tmp_path / "two.trace.json").read_bytes()
    assert sentences(loaded) == sentences(trace)


def test_the_bytes_of_values_are_those_of_a_tile_of_rows():
    trace = pairs_of_coins()
    memory = trace.step(-1).snapshot.memory
    assert memory is not None
    assert memory.is_planned
    assert memory.size_bytes == 3 * 2 * 4 * 4, "3 slots of 2 floats for 4 rows"
    assert [buffer.offset for buffer in memory.buffers] == [0, 32, 64]


def test_some_passes_only():
    trace = explorer.record(load_named("digits"), level="kernels", pipeline=["combine-tables"])
    assert [step.path for step in trace.steps] == ["lower", "combine-tables"]
    assert trace.stats(-1)["calls"] < trace.stats(0)["calls"]


def test_a_pass_that_raises_is_named_and_the_trace_up_to_it_is_kept(monkeypatch):
    def broken(plan, leave):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setitem(passes.passes, "broken", StatePass("broken", broken, KERNELS))
    with pytest.raises(RuleError, match="the pass broken failed: ZeroDivisionError: by nothing") as caught:
        explorer.record(load_named("digits"), level="kernels", pipeline=["combine-tables", "broken"])
    trace = caught.value.trace
    assert isinstance(trace, Trace)
    assert [step.path for step in trace.steps] == ["lower", "combine-tables", "broken"]


@pytest.mark.parametrize("level", ["tensor", "kernels"])
def test_a_batch_has_at_least_one_row(level: str):
    with pytest.raises(ValueRangeError, match="batch_size must be at least 1; found 0"):
        explorer.record(load_named("digits"), level=level, batch_size=0)


def test_a_module_has_no_kernel_calls():
    with pytest.raises(DataTypeError, match="expected a compiled circuit to lower to kernel calls, got Tanh"):
        explorer.record(nn.Tanh(), (torch.ones(2),), level="kernels")

"""A sweep on two workers: rows are in order, an error is a row, and what a lost worker was measuring is done again."""

import json
import os
import signal
import sys
from dataclasses import replace
from importlib.util import find_spec
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

from benchmarks import sweep_workers
from benchmarks.sweep import Configuration, SweepRow, configurations, failures, sweep_table
from benchmarks.sweep_workers import connected, run_sweep
from explorer.app.cli import app
from explorer.errors import UnknownNameError, ValueRangeError
from explorer.packages import install_command
from explorer.symbolic import CategoricalLayer, CircuitBuilder, ConstantInitializer, TensorParameter
from tests.benchmarks.test_measurements import text_of
from tests.needed import is_missing
from tests.waiting import PATIENCE

MODES = ("as written", "optimized and folded")


@pytest.fixture(scope="module")
def client():
    """Two workers, forked from a process that has loaded PyTorch, since each would take seconds to load it."""
    if find_spec("distributed") is None:
        is_missing("Dask", "pip install 'circuit-explorer[sweep]'")
    from dask import config
    from distributed.utils import get_mp_context

    with config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "benchmarks.sweep_workers", "torch._dynamo"])
        with connected(None, 2) as found:
            yield found


@pytest.fixture(scope="module")
def constant(tmp_path_factory):
    """A circuit file without learnable parameters."""
    b = CircuitBuilder()
    even = TensorParameter((1, 2), initializer=ConstantInitializer([[0.5, 0.5]]), learnable=False)
    path = tmp_path_factory.mktemp("sweep") / "constant.json"
    b.build(b.add(CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=even))).save(path)
    return str(path)


def kill_a_measuring_worker(client, known):
    """Kill the process that is measuring a configuration without a row yet; returns the position of that."""
    pids = client.run(os.getpid)
    until = monotonic() + PATIENCE
    while monotonic() < until:
        for topic, events in client.get_events().items():
            for _, event in events:
                if topic.startswith("sweep ") and event[0] not in known and event[1] in pids:
                    os.kill(pids[event[1]], signal.SIGKILL)
                    return event[0]
        sleep(0.01)
    raise AssertionError("no worker started to measure")


def test_a_lost_workers_configurations_are_done_again_and_rows_stay_in_order(client, constant):
    assert len(client.scheduler_info()["workers"]) == 2
    timed = configurations(["blackboard"], ["default"], MODES, [4, 8], ["forward"], ["layers"], "cpu")
    chosen = (Configuration(constant, kind="training"), *timed)
    known: list[int] = []
    killed: list[int] = []

    def kill_once(row: SweepRow) -> None:
        known.append(chosen.index(row.configuration))
        if not killed:
            killed.append(kill_a_measuring_worker(client, known))

    rows = run_sweep(client, chosen, max_seconds=0.2, on_row=kill_once)
    assert [row.configuration for row in rows] == list(chosen)
    assert sorted(known) == list(range(len(chosen)))
    assert "no learnable parameter" in rows[0].error
    assert [row.reason for row in rows[1:]] == [""] * len(timed)
    assert [row.timing.layers for row in rows[1:] if row.timing is not None] == [13, 13, 4, 4]
    assert rows[killed[0]].starts > 1


def test_a_sweep_on_a_scheduler_prints_and_writes_its_rows(client, constant, tmp_path):
    path = tmp_path / "sweep.json"
    address = ("--scheduler", client.scheduler.address)
    options = ("--batch", "512", "--backend", "layers", "--backend", "torch", "--seconds", "0.2", "--json", str(path))
    result = CliRunner().invoke(app, ["bench", "sweep", "blackboard", *address, *options])
    assert result.exit_code == 0, result.output
    assert "optimized and folded" in result.stdout
    assert "torch" in result.stdout
    rows = json.loads(path.read_text())["sweep"]
    assert [row["run"]["timings"][-1]["what"] for row in rows] == ["fold/level 3", "torch"]
    assert all(row["run"]["timings"][-1]["estimate"]["median"] > 0 for row in rows)
    failed = CliRunner().invoke(app, ["bench", "sweep", constant, "--kind", "training", *address])
    assert failed.exit_code == 1
    assert f"{constant}, default, optimized and folded, training, layers, batch 256: " in failed.stderr
    assert "no learnable parameter" in failed.stderr


def test_a_scheduler_that_does_not_answer_is_a_typed_error(client, monkeypatch):
    monkeypatch.setattr(sweep_workers, "CONNECT_SECONDS", 0.2)
    result = CliRunner().invoke(app, ["bench", "sweep", "blackboard", "--scheduler", "tcp://127.0.0.1:1"])
    assert result.exit_code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in result.stderr


def test_a_sweep_without_dask_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(app, ["bench", "sweep", "blackboard"])
    assert result.exit_code == 2
    assert f"a sweep needs distributed, which is not installed; run: {install_command('sweep')}" in result.stderr


def test_invalid_configurations_are_refused_before_any_worker_starts():
    with pytest.raises(UnknownNameError, match="no mode named 'folding'"):
        configurations(["digits"], ["default"], ["folding"], [4], ["forward"], ["layers"], "cpu")
    with pytest.raises(ValueRangeError, match="batch_size must be at least 1; found 0"):
        Configuration("digits", batch_size=0)


def test_every_combination_occurs_once():
    chosen = configurations(["a", "b", "a"], ["default"], MODES, [1, 2], ["forward"], ["layers"], "cpu")
    assert len(chosen) == len(set(chosen)) == 8
    assert [one.circuit for one in chosen] == ["a"] * 4 + ["b"] * 4
    assert [one.batch_size for one in chosen[:3]] == [1, 2, 1]


def test_the_table_tells_errors_and_repeated_starts():
    row = SweepRow(Configuration("digits"), error="it failed", worker="3", starts=2)
    assert "failed" in text_of(sweep_table([row]))
    assert failures([row]) == ("digits, default, optimized and folded, forward, layers, batch 256: it failed",)
    assert "3 (measured again)" in text_of(sweep_table([row]))
    assert "1 configuration was started again" in text_of(sweep_table([row]))
    assert "again" not in text_of(sweep_table([replace(row, starts=1)]))

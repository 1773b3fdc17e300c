"""Two processes train as one does; a lost or failing one ends the run with an error, and the last checkpoint loads."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import distributed
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.app.training.checkpoint import Checkpoint
from explorer.bench import why_no_cuda
from explorer.learning.data import load_digits
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.workers import Workers
from explorer.templates import image_data
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
BATCH = 479
"""The 1,438 training images are three batches of 479, of which the workers have 240 and 239, and one batch of a single
image, of which the second worker has none."""
needs_cuda = pytest.mark.skipif(why_no_cuda() is not None, reason=why_no_cuda() or "")
MANY = 10_000
"""Epochs of a run that ends before: it is killed."""


def small_circuit(units):
    return image_data(
        (1, 8, 8),
        "quad-tree-4",
        input_layer="categorical",
        num_categories=17,
        num_input_units=units,
        sum_product_layer="cp",
        num_sum_units=units,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("distributed")
    small_circuit(4).save(path / "small.json")
    return path


def train(folder, out, epochs, *more):
    """The arguments of a command that trains the small circuit."""
    options = ["--epochs", str(epochs), "--batch-size", str(BATCH), "--out", str(folder / out)]
    return ["train", str(folder / "small.json"), *options, *more]


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def start(folder, *commands, ports=(), processes=2):
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    script = str(Path(__file__).with_name("commands_together.py"))
    return subprocess.Popen(
        [*launch, script, str(folder), json.dumps(commands), json.dumps(ports)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    """The output of both workers."""
    try:
        return process.communicate(timeout=PATIENCE)
    finally:
        process.kill()


def assert_equal_training(found, expected):
    """Equal up to rounding, which Adam enlarges where gradients are tiny: it divides by the root of their squares."""
    for one, other in zip(found.history, expected.history, strict=True):
        assert one.training_bits == pytest.approx(other.training_bits, rel=1e-6)
        assert one.held_out_bits == pytest.approx(other.held_out_bits, rel=1e-6)
    torch.testing.assert_close(dict(found.leaf_state), dict(expected.leaf_state), rtol=0, atol=1e-3)
    assert found.training.steps == expected.training.steps
    for name, by_leaf in expected.training.moments.items():
        largest = max(float(value.abs().max()) for value in by_leaf.values())
        torch.testing.assert_close(dict(found.training.moments[name]), dict(by_leaf), rtol=0, atol=1e-5 * largest)


@pytest.fixture(scope="module")
def alone(folder):
    run(*train(folder, "alone-2.pt", 2))
    run(*train(folder, "alone.pt", 1, "--resume", str(folder / "alone-2.pt")))
    return Checkpoint.load(folder / "alone.pt")


@pytest.fixture(scope="module")
def together(folder) -> tuple[str, str]:
    """The output of two processes: they fail, train, continue, evaluate, train again, until the first is killed."""
    for rank in (0, 1):
        small_circuit(4 + rank).save(folder / f"circuit-{rank}.json")
    address = ("127.0.0.1", 0, None, True)  # a free port, and the store stays in this process
    stores = [distributed.TCPStore(*address, wait_for_workers=False) for _ in range(5)]  # pyright: ignore[reportPrivateImportUsage]
    process = start(
        folder,
        ["train", str(folder / "circuit-{rank}.json"), "--distributed", "--out", str(folder / "never.pt")],
        train(folder, "two.pt", 2, "--distributed"),
        train(folder, "together.pt", 1, "--resume", str(folder / "two.pt"), "--distributed", "--no-fold", "--fast"),
        ["evaluate", str(folder / "together.pt"), "--distributed"],
        train(folder, "em-two.pt", 2, "--method", "em", "--distributed"),
        train(folder, "killed.pt", MANY, "--distributed", "--save-every", "1"),
        ports=[store.port for store in stores],
    )
    until = time.monotonic() + PATIENCE
    while not (folder / "killed.pt").exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    if process.poll() is None:
        os.kill(int((folder / "rank-0.pid").read_text()), signal.SIGKILL)
    output, errors = finish(process)
    assert process.returncode == 1, errors
    return output, errors


def test_two_workers_train_as_one_also_after_resuming_in_another_mode_and_fast(folder, alone, together):
    assert_equal_training(Checkpoint.load(folder / "two.pt"), Checkpoint.load(folder / "alone-2.pt"))
    assert_equal_training(Checkpoint.load(folder / "together.pt"), alone)


def test_two_workers_add_up_their_expected_counts(folder, together):
    run(*train(folder, "em-one.pt", 2, "--method", "em"))
    found, expected = (Checkpoint.load(folder / name) for name in ("em-two.pt", "em-one.pt"))
    for one, other in zip(found.history, expected.history, strict=True):
        assert one.training_bits == pytest.approx(other.training_bits, rel=1e-6)
        assert one.held_out_bits == pytest.approx(other.held_out_bits, rel=1e-6)
    assert found.training is not None
    assert expected.training is not None
    for kind, by_leaf in expected.training.moments.items():
        torch.testing.assert_close(dict(found.training.moments[kind]), dict(by_leaf), rtol=1e-4, atol=1e-3)


def test_one_worker_prints(together):
    output, _ = together
    assert output.count("Wrote ") == 3
    assert output.count("Bits per dimension on digits") == 3
    assert output.count("mean log-likelihood") == 1


def test_two_workers_evaluate_as_one_does(folder, together):
    output, _ = together
    (line,) = [line for line in output.splitlines() if "mean log-likelihood" in line]
    assert line == run("evaluate", str(folder / "together.pt")).strip()
    circuit = Checkpoint.load(folder / "together.pt").restore()
    images = load_digits().held_out
    assert float(line.split("mean log-likelihood ")[1].split(" nats")[0]) == pytest.approx(
        mean_log_likelihood(circuit, images), abs=1e-4
    )


def test_workers_with_different_circuits_end_with_one_error(folder, together):
    _, errors = together
    differing, _of_the_killed = re.split("^Error: ", errors, flags=re.MULTILINE)[1:]
    assert "the circuit of rank 1 differs from that of rank 0" in differing
    assert "This run has not written a checkpoint yet" in differing
    assert not (folder / "never.pt").exists()


def test_a_killed_worker_ends_the_run_and_the_last_checkpoint_continues(folder, together):
    _, errors = together
    target = folder / "killed.pt"
    reached = Checkpoint.load(target)
    left = MANY - len(reached.history)
    assert "Error: another worker failed or was killed" in errors
    root_cause = errors.partition("Root Cause")[2]
    assert re.search(r"rank +: 0 \(local_rank: 0\)\n +exitcode +: -9", root_cause)
    assert f"The checkpoint {target} has {reached.progress}; continue" in errors
    assert f"--resume {target} --epochs {left}" in errors
    run(*train(folder, "continued.pt", 1, "--resume", str(target)))
    run(*train(folder, "straight.pt", len(reached.history) + 1))
    assert_equal_training(Checkpoint.load(folder / "continued.pt"), Checkpoint.load(folder / "straight.pt"))


@pytest.mark.cuda
@needs_cuda
def test_cuda_takes_the_steps_of_the_cpu(folder, alone):
    process = start(folder, train(folder, "nccl.pt", 2, "--distributed", "--device", "cuda"), processes=1)
    _, errors = finish(process)
    assert process.returncode == 0, errors
    run(*train(folder, "cuda.pt", 1, "--resume", str(folder / "nccl.pt"), "--device", "cuda"))
    for one, other in zip(Checkpoint.load(folder / "cuda.pt").history, alone.history, strict=True):
        # sums in another order, in float32
        assert one.training_bits == pytest.approx(other.training_bits, rel=1e-4)
        assert one.held_out_bits == pytest.approx(other.held_out_bits, rel=1e-4)
    assert "mean log-likelihood" in run("evaluate", str(folder / "cuda.pt"), "--device", "cuda")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_a_typed_error():
    result = CliRunner().invoke(app, ["train", "digits", "--device", "cuda"])
    assert result.exit_code == 2
    assert "--device cuda needs a CUDA device: " in result.stderr


def test_shards_have_every_row_once():
    rows = torch.arange(10)
    for size in (1, 2, 3, 12):
        shards = [Workers(rank, size).shard(rows) for rank in range(size)]
        assert torch.equal(torch.cat(shards).sort().values, rows)
        assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_distributed_commands_say_how_to_start_them(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(app, ["train", "digits", "--distributed"])
    assert result.exit_code == 2
    assert "run: torchrun --standalone --nproc-per-node 2 -m explorer.app train digits --distributed" in result.stderr


def test_processes_of_torchrun_do_not_repeat_the_work_of_each_other(monkeypatch):
    for name, value in {
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "x",
        "MASTER_PORT": "1",
    }.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(app, ["train", "digits"])
    assert result.exit_code == 2
    assert "process 1 of 2 that torchrun started, and each would do all of the work; add --distributed" in result.stderr

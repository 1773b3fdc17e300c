"""The log-likelihood of a circuit on held-out rows, by one process or by several."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from explorer.backend import FrozenCircuit, TorchCircuit, double_copy
from explorer.errors import CircuitError, ShapeError, check_type
from explorer.learning.workers import ALONE, Workers

EVALUATION_BATCH = 1024
MAX_NAMED = 8
"""Maximum number of rows that a note names."""
NORMALIZED_NATS = 1e-4
"""A circuit counts as normalized if its log partition function is this close to 0, per dimension."""


@torch.no_grad()
def mean_log_likelihood(circuit: TorchCircuit, rows: Tensor, workers: Workers = ALONE) -> float:
    """Mean of log p(x) over rows (N, D), in nats; each worker evaluates its shard. Missing values (NaN) are summed out.

    It is -inf if a row has probability zero (`note_on_impossible`).
    Raises: CircuitError if the circuit is not one normalized distribution; ShapeError for no rows.
    """
    require_distribution(circuit)
    if not len(rows):
        raise ShapeError("a mean needs at least one row; found none")
    total = torch.zeros((), dtype=torch.float64, device=workers.device)
    for logs in _log_likelihoods(circuit, workers.shard(rows), workers.device):
        total += logs.sum(dtype=torch.float64)
    return workers.total(total) / len(rows)


@torch.no_grad()
def note_on_impossible(circuit: TorchCircuit, rows: Tensor) -> str:
    """A sentence that names the rows (N, D) of probability zero, or whose logarithm is below the range of a double."""
    logs = torch.cat(list(_log_likelihoods(circuit, rows, rows.device)))
    numbers = (logs == -math.inf).nonzero().flatten().tolist()
    words = [str(number + 1) for number in numbers[:MAX_NAMED]]
    words += [f"{len(numbers) - MAX_NAMED:,} more"] if len(numbers) > MAX_NAMED else []
    return (
        f"the mean is -inf, as {len(numbers):,} of {len(rows):,} rows have a probability of zero, or one whose "
        f"logarithm is below the range of a double; their numbers, from 1: {', '.join(words)}"
    )


def _log_likelihoods(circuit: TorchCircuit, rows: Tensor, device: torch.device) -> Iterator[Tensor]:
    """Log p(x) (B,) of batches of rows (N, D).

    In single precision a logarithm below -3.4e38 is -inf, so rows that are not finite are evaluated again in double
    precision.
    """
    model, precise = circuit.probe().to(device), None
    for batch in rows.to(device).split(EVALUATION_BATCH):
        logs = model(batch).flatten()
        infinite = ~logs.isfinite()
        if logs.dtype != torch.float64 and bool(infinite.any()):
            precise = precise or double_copy(circuit).probe().to(device)
            logs = logs.double().index_put((infinite,), precise(batch[infinite]).flatten())
        yield logs


def has_missing(rows: Tensor) -> bool:
    """Whether a value of rows (N, D) is missing: NaN."""
    return rows.is_floating_point() and bool(torch.isnan(rows).any())


def bits_per_dimension(circuit: TorchCircuit, images: Tensor, workers: Workers = ALONE) -> float:
    """Mean of -log2 p(x) / D over images (N, D). Raises: as `mean_log_likelihood`."""
    return -mean_log_likelihood(circuit, images, workers) / images.shape[1] / math.log(2)


def check_circuit(circuit: object) -> None:
    """Raises: DataTypeError unless this is a compiled circuit with parameters that can be learned."""
    is_frozen = isinstance(circuit, FrozenCircuit)
    advice = "learn the circuit that was frozen" if is_frozen else "compile it with TorchCompiler"
    check_type("a circuit that is learned", circuit, TorchCircuit, advice)


def check_data(circuit: TorchCircuit, rows: Tensor, name: str) -> None:
    """Raises: CircuitError, ShapeError unless the circuit computes logarithms, of as many variables as the data has."""
    if circuit.semiring.name != "lse-sum":
        raise CircuitError(
            f"a likelihood is computed as a logarithm; compile with semiring lse-sum, not {circuit.semiring.name}"
        )
    if circuit.num_variables != rows.shape[1]:
        raise ShapeError(f"the circuit reads {circuit.num_variables} variables, a row of {name} has {rows.shape[1]}")


def require_distribution(circuit: TorchCircuit) -> None:
    """Raises: CircuitError unless the circuit has one output with the integral 1."""
    partition = circuit.probe().integral()
    if partition.numel() != 1:
        outputs, units = partition.shape
        raise CircuitError(
            f"a likelihood needs one output with one unit; the circuit has {outputs} output{'s' * (outputs != 1)} "
            f"with {units} unit{'s' * (units != 1)}: add a sum with num_units=1, or build it with num_classes=1"
        )
    log_partition = partition.item()
    if abs(log_partition) > NORMALIZED_NATS * max(circuit.num_variables, 1):  # NaN is an error of the likelihood
        raise CircuitError(
            f"the circuit is not normalized: the logarithm of its partition function is {log_partition:.4g}, not 0, so "
            "its outputs are not log-likelihoods; give its weights and inputs a normalizing parameterization, such as "
            "Parameterization('softmax')"
        )

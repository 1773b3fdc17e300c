"""The processes that train or evaluate together: who has which rows, and sums over all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from inspect import signature
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from explorer.errors import CircuitError


def digest_of(value: object) -> str:
    """A digest that is the same for equal values.

    A value is a tensor, or nested mappings, lists and tuples of tensors and of anything with a `repr`.
    """
    found = sha256()
    _add(found, value)
    return found.hexdigest()


def _add(found: Any, value: object) -> None:
    """Add a value to a hash, unambiguously: each part with its type and its length."""
    if isinstance(value, Tensor):
        found.update(f"tensor {value.dtype} {tuple(value.shape)};".encode())
        found.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    elif isinstance(value, Mapping):
        found.update(f"mapping {len(value)};".encode())
        for key, item in value.items():
            _add(found, key)
            _add(found, item)
    elif isinstance(value, list | tuple):
        found.update(f"sequence {len(value)};".encode())
        for item in value:
            _add(found, item)
    else:
        text = repr(value)
        found.update(f"{type(value).__name__} {len(text)};{text}".encode())


_SYNC_BUFFERS = next(
    name
    for name in ("forward_sync_buffers", "broadcast_buffers")
    if name in signature(DistributedDataParallel).parameters
)
"""The option to send buffers before each call, which newer releases of PyTorch have renamed. A circuit's buffers are
index tables and never change."""


@dataclass(frozen=True, slots=True)
class Workers:
    """This process is number `rank` of `size`; `distributed` if they are connected by `torch.distributed`.

    Every worker has the same circuit and data, and works on its shard of each batch.
    """

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    distributed: bool = False

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def shard(self, rows: Tensor) -> Tensor:
        """The rows of this worker: every `size`-th one. Shards may differ by a row, and may be empty."""
        return rows[self.rank :: self.size]

    def total(self, value: Tensor) -> float:
        """The sum of a number over all workers, in double precision; each of them receives it."""
        number = value.detach().to(self.device, torch.float64)
        if self.distributed:
            number = number.clone()
            dist.all_reduce(number)
        return number.item()

    def add_up(self, value: Tensor) -> None:
        """Replace a tensor on the device by its sum over all workers, in place."""
        if self.distributed:
            dist.all_reduce(value)

    def start_equal(self, circuit: nn.Module) -> None:
        """Give all workers the parameters of the first one."""
        if self.distributed:
            for parameter in circuit.parameters():
                dist.broadcast(parameter.detach(), 0)

    def parallel(self, circuit: nn.Module) -> nn.Module:
        """The circuit with gradients averaged over all workers; it starts with the values of the first one.

        An average, not a sum: the loss of a worker must be multiplied by `size`.
        """
        if not self.distributed:
            return circuit
        options: dict[str, Any] = {_SYNC_BUFFERS: False}
        return DistributedDataParallel(circuit, **options)

    def require_equal(self, parts: Mapping[str, object]) -> None:
        """Raises: CircuitError if a part, such as the data, is not the same for all workers.

        A part is a tensor, or nested mappings, lists and tuples of tensors and of anything with a `repr`.
        """
        if not self.distributed:
            return
        digests: list[Any] = [None] * self.size
        dist.all_gather_object(digests, {name: digest_of(value) for name, value in parts.items()})
        for rank, digest in enumerate(digests):
            for name in parts:
                if digest[name] != digests[0][name]:
                    raise CircuitError(
                        f"{name} of rank {rank} differs from that of rank 0: all workers need the same; "
                        "put the same files on all machines"
                    )


ALONE = Workers()
"""One process that does everything."""

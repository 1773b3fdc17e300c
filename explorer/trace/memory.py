"""The buffers of a program in a trace: when each is alive, and where it lies."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class BufferRecord:
    """A buffer, alive from the moment `start` on and no longer from `end` on.

    `offset` is its place in bytes, None as long as memory is not planned. `users` are the instructions that read or
    write it, in order.
    """

    id: int
    type: str
    start: int
    end: int
    size_bytes: int
    offset: int | None
    users: tuple[int, ...]


@dataclass(frozen=True)
class MemoryRecord:
    """The memory of a program: a moment is an instruction that runs, and `order` lists these in order.

    `size_bytes` is what is reserved: that of the plan, or, without one, what is alive at most. No plan of this program
    is smaller than `lower_bound_bytes`.
    """

    order: tuple[int, ...]
    buffers: tuple[BufferRecord, ...]
    size_bytes: int
    lower_bound_bytes: int

    @property
    def is_planned(self) -> bool:
        """Whether every buffer has a place."""
        return all(buffer.offset is not None for buffer in self.buffers)

    @cached_property
    def live_bytes(self) -> tuple[int, ...]:
        """The bytes of the buffers that are alive at each moment."""
        change = [0] * (1 + max((buffer.end for buffer in self.buffers), default=0))
        for buffer in self.buffers:
            change[buffer.start] += buffer.size_bytes
            change[buffer.end] -= buffer.size_bytes
        live: list[int] = []
        for step in change[:-1]:
            live.append(step + (live[-1] if live else 0))
        return tuple(live)

    def to_json(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "order": list(self.order),
            "buffers": [
                {
                    "id": buffer.id,
                    "type": buffer.type,
                    "start": buffer.start,
                    "end": buffer.end,
                    "bytes": buffer.size_bytes,
                    "offset": buffer.offset,
                    "users": list(buffer.users),
                }
                for buffer in self.buffers
            ],
            "size_bytes": self.size_bytes,
            "lower_bound_bytes": self.lower_bound_bytes,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The record of such data, whose types were checked. Raises: ValueError for an impossible lifetime."""
        buffers = tuple(
            BufferRecord(
                row["id"], row["type"], row["start"], row["end"], row["bytes"], row["offset"], tuple(row["users"])
            )
            for row in data["buffers"]
        )
        for buffer in buffers:
            if not buffer.start < buffer.end <= max(len(data["order"]), 1):
                raise ValueError(f"buffer {buffer.id} is alive from {buffer.start} to {buffer.end}")
        return cls(tuple(data["order"]), buffers, data["size_bytes"], data["lower_bound_bytes"])

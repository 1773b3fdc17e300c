"""The buffers of a program in a trace: when each is alive, and where it lies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from explorer.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class SharingAnswer:
    """Whether two values of a program share memory, and if not, why."""

    shared: bool
    why: str

    @property
    def reason(self) -> str:
        """The answer as a sentence."""
        return f"{'They share' if self.shared else 'They do not share'} memory: {self.why}."

    def __bool__(self) -> bool:
        return self.shared

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class BufferRecord:
    """A buffer, alive from the moment `start` on and no longer from `end` on.

    `offset` is its place in bytes, None as long as memory is not planned. `users` are the instructions that read or
    write it, in order; `accesses` says for each what it does: `r`, `w`, or `rw`.
    """

    id: int
    type: str
    start: int
    end: int
    size_bytes: int
    offset: int | None
    users: tuple[int, ...]
    accesses: tuple[str, ...]

    def shares_bytes(self, other: "BufferRecord") -> bool:
        """Whether both have bytes in common, at different times, in the planned block of memory."""
        if self.offset is None or other.offset is None or self.id == other.id:
            return False
        return self.offset < other.offset + other.size_bytes and other.offset < self.offset + self.size_bytes


@dataclass(frozen=True)
class MemoryRecord:
    """The memory of a program: a moment is an instruction that runs, and `order` lists these in order.

    `size_bytes` is what is reserved: that of the plan, or, without one, what is alive at most. No plan of this program
    is smaller than `lower_bound_bytes`. `listing` is the program as text: a line for each instruction, with its id.
    `sharing` asks the program about two values; a file does not hold it.
    """

    order: tuple[int, ...]
    buffers: tuple[BufferRecord, ...]
    size_bytes: int
    lower_bound_bytes: int
    listing: tuple[tuple[int, str], ...] = ()
    sharing: Callable[[int, int], SharingAnswer] | None = field(default=None, compare=False, repr=False)

    def why_not_shared(self, one: int, other: int) -> SharingAnswer:
        """Whether two values share memory, and if not, why.

        In a trace that was loaded only buffers are known: when they are alive, and where they are.
        Raises: UnknownNameError.
        """
        return self.compare(one, other) if self.sharing is None else self.sharing(one, other)

    def compare(self, one: int, other: int) -> SharingAnswer:
        """Whether two buffers share bytes: by when they are alive, and where they are. Raises: UnknownNameError."""
        first, second = sorted((self._buffer(one), self._buffer(other)), key=lambda buffer: buffer.start)
        if second.start < first.end:
            start, last = self._moment(second.start), self._moment(min(first.end, second.end) - 1)
            return SharingAnswer(
                False, f"both are alive {f'at {start}' if start == last else f'from {start} to {last}'}"
            )
        before, after = self._moment(first.end - 1), self._moment(second.start)
        apart = f"%{first.id} is not alive after {before}, and %{second.id} not before {after}"
        if first.offset is None or second.offset is None:
            return SharingAnswer(False, f"{apart}: they can share memory when it is planned")
        begin = max(first.offset, second.offset)
        end = min(first.offset + first.size_bytes, second.offset + second.size_bytes)
        if begin < end:
            return SharingAnswer(True, f"{apart}: both have bytes {begin} to {end}")
        places = f"%{first.id} at {first.offset} and %{second.id} at {second.offset}"
        return SharingAnswer(False, f"{apart}: they could share, but the plan has {places}")

    def _buffer(self, number: int) -> BufferRecord:
        for buffer in self.buffers:
            if buffer.id == number:
                return buffer
        raise UnknownNameError(f"there is no buffer %{number}; only the program itself knows views and weights")

    def _moment(self, moment: int) -> str:
        """The instruction that runs at a moment."""
        return f"#{self.order[min(moment, len(self.order) - 1)]}" if self.order else "the end"

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
                    "accesses": list(buffer.accesses),
                }
                for buffer in self.buffers
            ],
            "size_bytes": self.size_bytes,
            "lower_bound_bytes": self.lower_bound_bytes,
            "listing": [list(line) for line in self.listing],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The record of such data, whose types were checked. Raises: ValueError for an impossible lifetime."""
        buffers = tuple(
            BufferRecord(
                row["id"],
                row["type"],
                row["start"],
                row["end"],
                row["bytes"],
                row["offset"],
                tuple(row["users"]),
                tuple(row["accesses"]),
            )
            for row in data["buffers"]
        )
        for buffer in buffers:
            if len(buffer.accesses) != len(buffer.users):
                raise ValueError(f"buffer {buffer.id}: {len(buffer.accesses)} accesses of {len(buffer.users)} users")
            if not buffer.start < buffer.end <= max(len(data["order"]), 1):
                raise ValueError(f"buffer {buffer.id} is alive from {buffer.start} to {buffer.end}")
        listing = tuple((number, text) for number, text in data["listing"])
        return cls(tuple(data["order"]), buffers, data["size_bytes"], data["lower_bound_bytes"], listing)

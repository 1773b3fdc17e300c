"""The buffers of a program in a trace: their lifetimes and offsets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from explorer.errors import UnknownNameError

SHARING_WORDS: Mapping[str, str] = {
    "shared": "They share memory: {why}.",
    "not_shared": "They do not share memory: {why}.",
    "at": "both are alive at {start}",
    "from": "both are alive from {start} to {last}",
    "apart": "%{first} is not alive after {last}, and %{second} not before {start}",
    "unplanned": "they can share memory when it is planned",
    "bytes": "both have bytes {begin} to {end}",
    "places": "they could share, but the plan has %{first} at {first_at} and %{second} at {second_at}",
}
"""The words of an answer. Pages fill them in for the buffers that a reader chooses."""


@dataclass(frozen=True, slots=True)
class SharingAnswer:
    """Whether two values of a program share memory, and if not, why."""

    shared: bool
    why: str

    @property
    def reason(self) -> str:
        """The answer as a sentence."""
        return SHARING_WORDS["shared" if self.shared else "not_shared"].format(why=self.why)

    def __bool__(self) -> bool:
        return self.shared

    def __str__(self) -> str:
        return self.reason

    def __repr__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class PairReason:
    """A note of an instruction about two values of a program: the reason that one is not written over the other."""

    one: int
    other: int
    why: str

    def is_of(self, one: int, other: int) -> bool:
        """Whether it is about these two values, in any order."""
        return (self.one, self.other) in ((one, other), (other, one))


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

    @property
    def writers(self) -> tuple[int, ...]:
        """The instructions that write it, in order."""
        return tuple(user for user, access in zip(self.users, self.accesses, strict=True) if "w" in access)

    def shares_bytes(self, other: "BufferRecord") -> bool:
        """Whether both have bytes in common, at different times, in the planned block of memory."""
        if self.offset is None or other.offset is None or self.id == other.id:
            return False
        return self.offset < other.offset + other.size_bytes and other.offset < self.offset + self.size_bytes


@dataclass(frozen=True)
class MemoryRecord:
    """The memory of a program: a moment is an instruction that runs, and `order` lists these in order.

    `size_bytes` is reserved: by the plan or, without one, the peak of live bytes. No plan of this program
    is smaller than `lower_bound_bytes`. `listing` is the program as text: a line for each instruction, with its id.
    `parts` has, for each part of the program that has a name, the moment at which it begins and that name: parameters,
    forward, backward. `call_reasons` returns what instructions say of pairs of buffers. `sharing` asks the program
    about any two values; a file does not hold it.
    """

    order: tuple[int, ...]
    buffers: tuple[BufferRecord, ...]
    size_bytes: int
    lower_bound_bytes: int
    listing: tuple[tuple[int, str], ...] = ()
    parts: tuple[tuple[int, str], ...] = ()
    call_reasons: Callable[[], tuple[PairReason, ...]] = field(default=tuple, compare=False, repr=False)
    sharing: Callable[[int, int], SharingAnswer] | None = field(default=None, compare=False, repr=False)

    def why_not_shared(self, one: int, other: int) -> SharingAnswer:
        """Whether two values share memory, and if not, why.

        In a trace that was loaded only buffers are known: when they are alive, and where they are.
        Raises: UnknownNameError.
        """
        return self.compare(one, other) if self.sharing is None else self.sharing(one, other)

    def compare(self, one: int, other: int) -> SharingAnswer:
        """Whether two buffers share bytes: by when they are alive, where they are, and what instructions say of both.

        Raises: UnknownNameError.
        """
        first, second = sorted((self._buffer(one), self._buffer(other)), key=lambda buffer: buffer.start)
        answer = self._compare_lives(first, second)
        if answer.shared:
            return answer
        reasons = (reason.why for reason in self.call_reasons() if reason.is_of(one, other))
        return SharingAnswer(False, "; ".join([answer.why, *reasons]))

    def _compare_lives(self, first: BufferRecord, second: BufferRecord) -> SharingAnswer:
        """Compare two buffers by their lifetimes and offsets; the second one begins no earlier."""
        words = SHARING_WORDS
        if second.start < first.end:
            start, last = self._moment(second.start), self._moment(min(first.end, second.end) - 1)
            return SharingAnswer(False, words["at" if start == last else "from"].format(start=start, last=last))
        ids = {"first": first.id, "second": second.id}
        apart = words["apart"].format(**ids, last=self._moment(first.end - 1), start=self._moment(second.start))
        if first.offset is None or second.offset is None:
            return SharingAnswer(False, f"{apart}: {words['unplanned']}")
        begin = max(first.offset, second.offset)
        end = min(first.offset + first.size_bytes, second.offset + second.size_bytes)
        if begin < end:
            return SharingAnswer(True, f"{apart}: {words['bytes'].format(begin=begin, end=end)}")
        places = words["places"].format(**ids, first_at=first.offset, second_at=second.offset)
        return SharingAnswer(False, f"{apart}: {places}")

    def _buffer(self, number: int) -> BufferRecord:
        for buffer in self.buffers:
            if buffer.id == number:
                return buffer
        raise UnknownNameError(f"there is no buffer %{number}; only the program itself knows views and weights")

    def _moment(self, moment: int) -> str:
        """The instruction that runs at a moment."""
        return f"#{self.order[min(moment, len(self.order) - 1)]}" if self.order else "the end"

    @property
    def kept_bytes(self) -> int:
        """The bytes of the buffers that the forward pass leaves to the backward pass; 0 if there is none."""
        moments = [moment for moment, name in self.parts if name == "backward"]
        return sum(one.size_bytes for moment in moments for one in self.buffers if one.start < moment < one.end)

    @property
    def is_planned(self) -> bool:
        """Whether every buffer has a place."""
        return all(buffer.offset is not None for buffer in self.buffers)

    @cached_property
    def accesses(self) -> Mapping[int, Mapping[int, str]]:
        """For each instruction what it does with the buffers that it uses: `r`, `w`, or `rw`."""
        found: dict[int, dict[int, str]] = {}
        for buffer in self.buffers:
            for user, access in zip(buffer.users, buffer.accesses, strict=True):
                found.setdefault(user, {})[buffer.id] = access
        return found

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
            "parts": [list(part) for part in self.parts],
            "reasons": [[reason.one, reason.other, reason.why] for reason in self.call_reasons()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read a record from checked data. Raises: ValueError for an impossible lifetime."""
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
        reasons = tuple(PairReason(*row) for row in data.get("reasons", ()))
        parts = tuple((moment, name) for moment, name in data.get("parts", ()))
        sizes = data["size_bytes"], data["lower_bound_bytes"]
        return cls(tuple(data["order"]), buffers, *sizes, listing, parts, lambda: reasons)


def most_bytes(buffers: tuple[BufferRecord, ...]) -> int:
    """The bytes of the buffers that are alive at one moment, at most."""
    change: dict[int, int] = {}
    for one in buffers:
        change[one.start] = change.get(one.start, 0) + one.size_bytes
        change[one.end] = change.get(one.end, 0) - one.size_bytes
    most = alive = 0
    for moment in sorted(change):
        alive += change[moment]
        most = max(most, alive)
    return most

"""First and last uses of buffers while some become views of others."""

from dataclasses import dataclass

from explorer.program.ir.program import Program
from explorer.program.ir.types import BufferType


@dataclass
class Lives:
    """What a rule knows of the memory of a program while it decides which buffers become views of others.

    `first`, `last` and `last_write` are positions in the program, by the weight or allocation; `types` has the type of
    each value, and `dealloc` the number of the instruction that frees a buffer.
    """

    program: Program

    def __post_init__(self) -> None:
        self._root: dict[int, int] = {}
        touches = self.program.touches
        self.first = {origin: found[0] if found else len(self.program) for origin, found in touches.items()}
        self.last = {origin: found[-1] if found else -1 for origin, found in touches.items()}
        self.last_write = {**dict.fromkeys(touches, -1), **self.program.last_writes}
        self.types: dict[int, BufferType] = {value: found.type for value, found in self.program.definitions.items()}
        self.dealloc = {buffer: dealloc.id for buffer, dealloc in self.program.deallocs.items()}

    def root(self, value: int) -> int:
        """The weight or allocation whose memory a value is in by now."""
        found = self.program.origin(value)
        while found in self._root:
            found = self._root[found]
        return found

    def is_buffer(self, value: int) -> bool:
        """Whether a value is an allocation that is not a view of something else by now."""
        return value in self.program.allocs and self.root(value) == value

    def is_same_memory(self, value: int) -> bool:
        """Whether a value begins where its buffer begins and has its type."""
        root = self.program.definitions[self.root(value)]
        return self.program.offset_in_origin(value) == 0 and self.program.definitions[value].type.is_same(root.type)

    def is_whole(self, value: int) -> bool:
        """Whether a value begins where its buffer begins, and both have the same dense bytes."""
        owner, kind = self.program.definitions[self.root(value)].type, self.types[value]
        same = owner.size_bytes == kind.size_bytes and owner.is_dense and kind.is_dense
        return same and not self.program.offset_in_origin(value)

    def merge(self, buffer: int, into: int) -> None:
        """Note that a buffer is in the memory of another value now, which is in use as long as both were."""
        other = self.root(into)
        self._root[buffer] = other
        self.first[other] = min(self.first[other], self.first[buffer])
        self.last[other] = max(self.last[other], self.last[buffer])
        self.last_write[other] = max(self.last_write[other], self.last_write[buffer])

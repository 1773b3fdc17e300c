"""Whether a memory is used as it may be, which depends on the accesses to it and their order alone."""

import torch

from explorer.errors import GraphError
from explorer.program.ir.instructions import Access, Alloc, Instruction, Role, View, Weight
from explorer.program.ir.program import Program
from explorer.program.ir.spans import fills


def _is_plain(program: Program, origin: int) -> bool:
    """Whether a memory is certainly used as it may be, found in few steps: so are most.

    A buffer is defined, written as a whole, then read or written, and freed, all by itself or by views of all of it; a
    weight is only read.
    """
    owner, events = program.definitions.get(origin), program.histories[origin]
    read, write, view = Access.READ, Access.WRITE, Access.VIEW
    if isinstance(owner, Weight):
        is_given = owner.role in (Role.INPUT, Role.WEIGHT, Role.CONSTANT)
        return is_given and all(access is read for access, _, _ in events[1:])
    if events[0][0] is not Access.DEFINE or events[-1][0] is not Access.FREE or events[-1][1] != origin:
        return False
    whole, is_written = {origin} if fills(program, origin) else set[int](), False
    for access, value, one in events[1:-1]:
        if access is view and isinstance(one, View) and one.source in whole and _is_whole(program, value, origin):
            whole.add(value)
            continue
        is_write = access is write
        if value not in whole or not (is_write or (access is read and is_written)):
            return False
        is_written = True
    return is_written


def _is_whole(program: Program, value: int, origin: int) -> bool:
    """Whether a value begins where its memory begins, and fills it."""
    return program.locations[value] == (origin, 0) and fills(program, value)


class MemoryUse:
    """A weight or allocation while a program runs: which of its values are defined, and which elements are written."""

    def __init__(self, program: Program, origin: int) -> None:
        self._program = program
        self._origin = origin
        self._owner = program.definitions.get(origin)
        self._defined = set[int]()
        self._is_freed = False
        self._is_backward = False
        self._written: torch.Tensor | bool = isinstance(self._owner, Weight) and not self._owner.is_returned
        """Whether all elements were written, or which."""

    def first_error(self) -> tuple[int, GraphError] | None:
        """The number of the first instruction whose access is not possible (-1: the end of the program), and why."""
        number = -1
        if _is_plain(self._program, self._origin):
            return None
        try:
            for access, value, one in self._program.histories[self._origin]:
                number = one.id
                self._step(access, value, one)
            number = -1
            self._end()
        except GraphError as error:
            return number, error
        return None

    def _step(self, access: Access, value: int, one: Instruction | Weight) -> None:
        if access is Access.READ:
            self._check_usable(one, value)
            if self._written is not True:
                self._check_written(value, f"#{one.id}", "reads it")
        elif access is Access.WRITE:
            self._check_usable(one, value)
            self._write(one, value)
        elif access is Access.VIEW:
            assert isinstance(one, View)
            self._check_usable(one, one.source)
            self._check_bounds(one)
            self._defined.add(value)
        elif access is Access.DEFINE:
            self._defined.add(value)
        elif access is Access.FREE:
            self._free(one, value)
        else:
            self._begin_backward()

    def _begin_backward(self) -> None:
        """The outputs are returned before; the caller has them from now on."""
        self._is_backward = True
        if isinstance(self._owner, Weight) and self._owner.role is Role.OUTPUT:
            self._check_returned(self._owner)

    def _end(self) -> None:
        owner = self._owner
        if isinstance(owner, Alloc) and not self._is_freed:
            raise GraphError(f"buffer %{self._origin} is never freed")
        if isinstance(owner, Weight) and owner.is_for_backward and not self._is_backward:
            raise GraphError("the program has tangents or gradients, and no backward pass")
        if isinstance(owner, Weight) and owner.is_returned and self._is_here(owner):
            self._check_returned(owner)

    def _is_here(self, owner: Weight) -> bool:
        """Whether the present part of the program has a weight."""
        if owner.role is Role.OUTPUT:
            return not self._is_backward
        return self._is_backward or not owner.is_for_backward

    def _check_returned(self, owner: Weight) -> None:
        self._check_written(self._origin, f"the {owner.role.value} {owner.name}", "is returned")

    def _check_usable(self, one: Instruction | Weight, value: int) -> None:
        if value not in self._defined:
            raise GraphError(f"#{one.id} uses %{value}, which is not defined before it")
        if self._is_freed:
            raise GraphError(f"#{one.id} uses %{value} after its memory was freed")
        owner = self._owner
        if isinstance(owner, Weight) and not self._is_here(owner):
            when = "before" if owner.is_for_backward else "in"
            raise GraphError(f"#{one.id} uses the {owner.role.value} {owner.name} {when} the backward pass")

    def _check_bounds(self, one: View) -> None:
        assert self._owner is not None
        if not one.type.size:
            return  # a view of no element may begin anywhere
        room = self._owner.type.size_bytes
        first = self._program.offset_in_origin(one.id)
        if first < 0 or first + one.type.size_bytes > room:
            raise GraphError(
                f"the view %{one.id} has bytes {first} to {first + one.type.size_bytes} of a buffer of {room} bytes"
            )

    def _check_written(self, value: int, who: str, verb: str) -> None:
        written = self._written
        if isinstance(written, torch.Tensor):
            written = bool(self._part(written, value).all())
        if not written and self._program.definitions[value].type.size:
            raise GraphError(f"{who} {verb} before all elements of %{value} are written")

    def _write(self, one: Instruction | Weight, value: int) -> None:
        owner = self._owner
        if isinstance(owner, Weight) and owner.role in (Role.INPUT, Role.TANGENT, Role.CONSTANT):
            raise GraphError(f"#{one.id} writes the {owner.role.value} {owner.name}, which is only read")
        if self._written is True:
            return
        if fills(self._program, value):
            self._written = True
        else:
            if not isinstance(self._written, torch.Tensor):
                assert owner is not None
                self._written = torch.zeros(owner.type.size_bytes, dtype=torch.bool)
            self._part(self._written, value).fill_(True)

    def _part(self, mask: torch.Tensor, value: int) -> torch.Tensor:
        """The bytes of the elements of a value."""
        kind = self._program.definitions[value].type
        width = kind.dtype.itemsize
        strides = [stride * width for stride in kind.strides]
        return mask.as_strided((*kind.shape, width), (*strides, 1), self._program.offset_in_origin(value))

    def _free(self, one: Instruction | Weight, value: int) -> None:
        if value != self._origin or value not in self._defined or not isinstance(self._owner, Alloc):
            raise GraphError(f"#{one.id} frees %{value}, which is no allocation before it")
        if self._is_freed:
            raise GraphError(f"#{one.id} frees %{value} a second time")
        self._is_freed = True

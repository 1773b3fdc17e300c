"""Where values are: which of them have elements in common, and which are all of their memory."""

from explorer.program.ir.program import Program


def fills(program: Program, value: int) -> bool:
    """Whether a value is all the memory of its weight or allocation."""
    origin = program.origin(value)
    if origin == value:
        return program.definitions[value].type.is_dense
    kind, whole = program.definitions[value].type, program.definitions[origin].type
    return kind.is_dense and whole.is_dense and kind.size_bytes == whole.size_bytes


def overlap(program: Program, one: int, other: int) -> bool:
    """Whether the bytes of two values overlap, from the first element of each to its last one."""
    (origin, start), (other_origin, other_start) = program.locations[one], program.locations[other]
    if origin != other_origin:
        return False
    size, other_size = (program.definitions[value].type.size_bytes for value in (one, other))
    is_empty = not size or not other_size
    return not is_empty and start < other_start + other_size and other_start < start + size


def are_same_elements(program: Program, one: int, other: int) -> bool:
    """Whether two values are the same elements in the same memory, in the same order."""
    if one == other:
        return True
    same = program.locations[one] == program.locations[other]
    return same and program.definitions[one].type.is_same(program.definitions[other].type)

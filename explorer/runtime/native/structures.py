"""The records that the native kernels read, each declared once: for ctypes, for numpy, and for C++.

`header` is the C++ header of them all and of `kernel_types`; `build.py` writes it beside the kernels.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from enum import IntEnum
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from explorer.runtime.kernel_types import (
    DOUBLE,
    KIND_NUMBERS,
    SINGLE,
    SIZES,
    STATE_BITS,
    ZERO_SCALE,
    Content,
    InputType,
    Limits,
)

Integer = Annotated[int, "int64_t"]
Double = Annotated[float, "double"]
Integers = Annotated[int, "const int64_t*"]
Bytes = Annotated[int, "char*"]

C_TYPES: Mapping[str, Any] = {"int64_t": ctypes.c_int64, "double": ctypes.c_double}
"""The `ctypes` of what is not an address."""

R = TypeVar("R", bound=ctypes.Structure)


def c_fields(kind: type[ctypes.Structure]) -> list[tuple[str, str]]:
    """The names and C types of the fields of a record."""
    hints = get_type_hints(kind, include_extras=True)
    return [(name, hint.__metadata__[0]) for name, hint in hints.items()]


def record(kind: type[R]) -> type[R]:
    """Give a structure the fields that its annotations declare, in their order."""
    kind._fields_ = [(name, C_TYPES.get(c_type, ctypes.c_void_p)) for name, c_type in c_fields(kind)]
    return kind


def records(kind: type[R], rows: Sequence[R]) -> NDArray[Any]:
    """Copies of records as an array with a field for each of theirs."""
    found = np.empty(len(rows), dtype=np.dtype(kind))
    if rows:
        found[:] = np.frombuffer(memoryview((kind * len(rows))(*rows)), dtype=found.dtype)
    return found


@record
class NativeOperand(ctypes.Structure):
    """An input of a kernel call: the values of another one in a slot, or rows of a table by the value of a variable."""

    slot: Integer  # of its scales and bounds; -1: a table
    place: Integer  # of its values: the floats of one row before it
    variable: Integer  # position among the discrete variables, or the continuous ones; -1: a table with one row
    rows: Integer  # offset of the table's rows
    scales: Integer  # offset of their scales
    bounds: Integer  # offset of their bounds
    gradient: Integer  # in training, the place of its gradient
    adds: Integer  # 1: the gradient is added to what is there
    by_row: Integer  # in training, 1: the table has a row for each of the batch, not for each state


@record
class NativeKernelCall(ctypes.Structure):
    """A kernel call with `terms` times `factors` operands; widths are padded ones.

    In training, `source` is the number of the tensor that has its weights, from `weight` on. If these are a softmax,
    the tensor has their logits, and from `normalizers` on the constants have the largest logit of each row, the factor
    of the exponentials of each row, and a checksum of all logits; otherwise it is -1.
    """

    kind: Integer
    slot: Integer
    place: Integer
    in_units: Integer  # not padded
    in_width: Integer
    out_units: Integer  # not padded
    out_width: Integer
    terms: Integer
    factors: Integer
    operands: Integer
    weight: Integer
    norms: Integer
    source: Integer
    normalizers: Integer
    gradient: Integer


@record
class NativeTable(ctypes.Structure):
    """A table (units, states) in a tensor, from which training makes rows."""

    source: Integer
    offset: Integer
    unit_stride: Integer
    state_stride: Integer
    units: Integer
    width: Integer
    states: Integer
    content: Integer
    rows: Integer  # where they go, as in an operand
    scales: Integer
    bounds: Integer
    normalizers: Integer  # of NORMALIZED, three rows: log sum exp of each unit in two, and checksums


@record
class NativeCircuit(ctypes.Structure):
    """A circuit as arrays."""

    calls: Annotated[int, "const KernelCall*"]
    num_calls: Integer
    operands: Annotated[int, "const Operand*"]
    constants: Annotated[int, "const Real*"]
    scales: Annotated[int, "const double*"]
    value_floats: Integer  # of one row, in all slots
    num_slots: Integer
    scratch_floats: Integer  # of one row
    scratch_fixed: Integer  # for a call that needs as many whatever the number of rows
    outputs: Integers  # (num_outputs) operands
    num_outputs: Integer
    output_units: Integer
    discrete: Integers  # columns of x of the discrete variables
    num_values: Integers  # the number of values of each of them
    num_discrete: Integer
    continuous: Integers  # columns of x of the continuous variables
    num_continuous: Integer
    ahead_lines: Integer  # lines of constants that a call reads at most
    absorbs: Integer  # 1: a value depends on each call by one factor of a product only, so its errors count once
    units_read: Integers  # positions in a row that rearranging calls read, each from its `weight` on


@record
class NativeTraining(ctypes.Structure):
    """The further arrays and sizes of training."""

    sources: Annotated[int, "const float* const*"]  # weights and tables, by number
    gradients: Annotated[int, "float* const*"]  # of these
    constants_gradient: Annotated[int, "float*"]  # of the densities in `constants`
    densities_gradient: Annotated[int, "float*"]  # of the densities in `Input`
    tables: Annotated[int, "const Table*"]
    num_rows: Integer  # of all tables
    most_states: Integer  # of one table
    gradient_floats: Integer  # of one row, in all places
    weight_floats: Integer  # of the largest kernel call
    block_floats: Integer  # of a term of the largest kernel call
    max_terms: Integer
    widest: Integer  # row


@record
class NativeInput(ctypes.Structure):
    """The rows of x in an evaluation or a training step."""

    x: Annotated[int, "const void*"]  # (rows, columns)
    type: Integer  # an InputType
    columns: Integer
    densities: Annotated[int, "const Real*"]  # (rows, density_floats): logarithms that were computed elsewhere
    density_floats: Integer


@record
class NativeShare(ctypes.Structure):
    """A part of the work on a tile, which is rows first .. first+rows-1 of x.

    It is copying variables, computing calls start_call .. stop_call-1, and writing outputs, for rows start_row ..
    stop_row-1 of the tile.
    """

    first: Integer
    rows: Integer
    start_row: Integer
    stop_row: Integer
    start_call: Integer
    stop_call: Integer
    reads: Integer
    writes: Integer
    after: Integer  # begins when as many shares before it are done


@record
class NativeEvaluationCall(ctypes.Structure):
    """The shares of an evaluation, and the memory of its threads.

    Threads take shares in order: one that waits waits for shares that others have begun, whatever their number.
    """

    circuit: Annotated[int, "const Circuit*"]
    input: Annotated[int, "const Input*"]
    shares: Annotated[int, "const Share*"]
    num_shares: Integer
    values: Bytes
    values_stride: Integer  # from thread to thread; 0: the threads share values
    scratch: Bytes
    scratch_stride: Integer
    num_threads: Integer  # that have memory
    result: Annotated[int, "float*"]
    certified: Annotated[int, "uint8_t*"]
    tolerance: Double
    next_share: Integer  # so far, as the next three
    next_thread: Integer
    done: Integer
    is_bad: Integer  # a variable has a value that it cannot have


@record
class NativeKeptTile(ctypes.Structure):
    """Rows first .. first+rows-1 of x, and their values."""

    first: Integer
    rows: Integer
    values: Bytes


@record
class NativeForwardCall(ctypes.Structure):
    """The forward pass of some tiles in training, and the memory of its threads: a share is some consecutive tiles."""

    circuit: Annotated[int, "const Circuit*"]
    training: Annotated[int, "const Training*"]
    input: Annotated[int, "const Input*"]
    tiles: Annotated[int, "const KeptTile*"]
    num_tiles: Integer
    share_tiles: Integer  # of each share, but the last one may have fewer
    num_shares: Integer
    workspaces: Annotated[int, "char* const*"]  # of each share
    result: Annotated[int, "float*"]
    certified: Annotated[int, "uint8_t*"]
    tolerance: Double
    next_share: Integer
    has_bad_input: Integer  # a variable has a value that it cannot have
    has_bad_weight: Integer  # a weight has no bound


@record
class NativeBackwardCall(ctypes.Structure):
    """The backward pass of some tiles, and the memory of its threads.

    Threads take tiles in order, and go back through a kernel call with parameters after the tile before has: so all add
    to the same gradients in one order, whichever threads take them.
    """

    circuit: Annotated[int, "const Circuit*"]
    training: Annotated[int, "const Training*"]
    input: Annotated[int, "const Input*"]
    tiles: Annotated[int, "const KeptTile*"]
    num_tiles: Integer
    turns: Integers  # of each kernel call: begins when the tile before has gone back through as many
    of_outputs: Annotated[int, "const float*"]  # the gradients of all outputs, times `by`
    by: Double
    workspaces: Annotated[int, "char* const*"]  # of each thread
    num_threads: Integer  # that have one
    done: Annotated[int, "int64_t*"]  # of each tile: the calls that it has gone back through; a line of the cache each
    next_tile: Integer
    next_thread: Integer
    changed: Integer  # logits have changed since the forward pass


@record
class NativeComparisonCall(ctypes.Structure):
    """Pieces of memory that are compared with copies, in parts: threads take an equal part of every piece each."""

    pieces: Annotated[int, "const char* const*"]
    copies: Annotated[int, "const char* const*"]
    sizes: Integers  # in bytes
    num_pieces: Integer
    num_parts: Integer
    next_part: Integer  # so far, as the next two
    done: Integer  # parts
    differs: Integer  # a byte differs


RECORDS: Sequence[type[ctypes.Structure]] = (
    NativeOperand,
    NativeKernelCall,
    NativeTable,
    NativeCircuit,
    NativeTraining,
    NativeInput,
    NativeShare,
    NativeEvaluationCall,
    NativeKeptTile,
    NativeForwardCall,
    NativeBackwardCall,
    NativeComparisonCall,
)
"""Each after those that it names. Their names in C++ have no `Native`."""


def header() -> str:
    """The C++ header of the records and `kernel_types`, in single or, with `DOUBLES` defined, in double precision."""
    sizes = [f"constexpr int64_t {name} = {size};" for name, size in SIZES.items()]
    return "\n".join(
        [
            "// Written by explorer/runtime/native/structures.py.",
            "#pragma once",
            "#include <cstdint>",
            "#if !defined(DOUBLES)",
            *_precision("float", SINGLE, "f"),
            "#else",
            *_precision("double", DOUBLE, ""),
            "#endif",
            f"typedef uint{STATE_BITS}_t State;",
            *sizes,
            f"constexpr double ZERO_SCALE = {ZERO_SCALE!r};",
            _enumeration("Kind", {kind.name: number for kind, number in KIND_NUMBERS.items()}),
            *(_enumeration(kind.__name__, {one.name: one.value for one in kind}) for kind in ENUMERATIONS),
            *map(_structure, RECORDS),
            "",
        ]
    )


ENUMERATIONS: Sequence[type[IntEnum]] = (Content, InputType)


def _precision(real: str, limits: Limits, suffix: str) -> list[str]:
    names = [one.name.upper() for one in fields(limits)]
    numbers = zip(names, astuple(limits), strict=True)
    return [f"typedef {real} Real;", *(f"constexpr Real {name} = {number!r}{suffix};" for name, number in numbers)]


def _enumeration(name: str, numbers: Mapping[str, int]) -> str:
    members = ", ".join(f"{member} = {number}" for member, number in numbers.items())
    return f"enum {name} : int64_t {{ {members} }};"


def _structure(kind: type[ctypes.Structure]) -> str:
    name = kind.__name__.removeprefix("Native")
    body = "".join(f"  {c_type} {field};\n" for field, c_type in c_fields(kind))
    return f"struct {name} {{\n{body}}};\nstatic_assert(sizeof({name}) == {ctypes.sizeof(kind)});"

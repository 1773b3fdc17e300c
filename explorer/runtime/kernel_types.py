"""The kinds of calls, and the limits and sizes that Python, C++ and Triton share, each declared once.

`native/structures.py` writes all of this as a C++ header. The end of README.md says what else a new kernel needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum


class Kind(Enum):
    """The kinds of calls. Letters: I and J inputs, O outputs, K values, H terms, C factors of a term."""

    TABLE = "table"
    """y[o] = w[o, x] for a variable x, or y[o] = w[o] without one. It is read where it is needed, not computed."""
    GAUSSIAN = "gaussian"
    """y[k] = prod_c N(x_c; mean_ck, stddev_ck), in the logarithmic domain."""
    DENSITY = "density"
    """An input layer of another type, which computes logarithms itself."""
    PRODUCT = "product"
    """y[k] = prod_c x_c[k]."""
    SUM = "sum"
    """y[o] = sum_h sum_i w[o, h, i] prod_c x_hc[i]."""
    MIXING = "mixing"
    """y[k] = sum_h w[k, h] prod_c x_hc[k]."""
    TUCKER = "tucker"
    """y[o] = sum_ij w[o, i, j] x_0[i] x_1[j]."""
    KRONECKER = "kronecker"
    """y[i*J + j] = x_0[i] x_1[j]."""
    TENSOR_DOT = "tensor-dot"
    """y[q*P + p] = sum_j w[p, j] x[j*Q + q]."""
    REARRANGE = "rearrange"
    """y[o] = x[i_o], where the layer decides the i_o."""


KIND_NUMBERS: Mapping[Kind, int] = {kind: number for number, kind in enumerate(Kind)}


class Content(IntEnum):
    """Contents of a table in training: NORMALIZED are logarithms before a log-softmax over neighbouring states."""

    LINEAR = 0
    LOGARITHMS = 1
    NORMALIZED = 2


class InputType(IntEnum):
    """The types of x that the kernels read."""

    INT64 = 0
    FLOAT32 = 1
    FLOAT64 = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the bounds of one precision."""

    smallest: float
    """The smallest normal number: below it, bits are lost."""
    lowest: float
    """The exponential of less is taken as zero."""
    dropped: float
    """Above exp(lowest), and so above what an exponential loses where its result is not a normal number."""


SINGLE = Limits(2.0**-126, -87.0, 1.7e-38)
DOUBLE = Limits(2.0**-1022, -708.0, 3.4e-308)

ZERO_SCALE = -1e300
"""The scale of a row that is exactly zero: below all others, so that no term of a sum is divided by it."""

MAX_FACTORS = 4
"""The product of more values below 2, none far below 1, could leave the range of a float."""

STATE_BITS = 16
"""Bits of a state of a variable that has a table."""

MAX_TABLE_STATES = 1 << STATE_BITS
"""A discrete layer with more states is evaluated at the observed states only."""

SPAN_ROWS, SPAN_WIDTH = 48, 128
"""Rows that a call computes at a time, which stay in the nearest cache, and the widest input for which it does."""

TUCKER_VECTORS = 4
"""Products of two calls that the backward pass forms at a time, in vectors."""

LINE_BYTES = 64
"""Bytes of a line of the cache; the widest vector has as many."""

SIZES: Mapping[str, int] = {
    "MAX_FACTORS": MAX_FACTORS,
    "SPAN_ROWS": SPAN_ROWS,
    "SPAN_WIDTH": SPAN_WIDTH,
    "TUCKER_VECTORS": TUCKER_VECTORS,
    "LINE_BYTES": LINE_BYTES,
}
"""The sizes that the header has."""

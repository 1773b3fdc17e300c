"""Properties of variables and operators that rules and passes test, and the variables that they build."""

from explorer.tensor.facts.bounds import (
    CLIPS as CLIPS,
    RELUS as RELUS,
    UNIT as UNIT,
    clip as clip,
    clip_bounds as clip_bounds,
    is_nonnegative as is_nonnegative,
    may_hold_padding_only as may_hold_padding_only,
    relu_or_clip as relu_or_clip,
    value_range as value_range,
)
from explorer.tensor.facts.copies import (
    depends_on_strides as depends_on_strides,
    replace_unless_aliased as replace_unless_aliased,
    without_copy as without_copy,
    would_alias as would_alias,
)
from explorer.tensor.facts.dtypes import (
    have_dtype_of as have_dtype_of,
    holds as holds,
    is_floating as is_floating,
    is_real as is_real,
    is_short as is_short,
    keeps_digits as keeps_digits,
    rounds_exactly as rounds_exactly,
)
from explorer.tensor.facts.elementwise import (
    BINARY as BINARY,
    BINARY_COMPUTING as BINARY_COMPUTING,
    COMPUTING as COMPUTING,
    SELECTING as SELECTING,
    UNARY as UNARY,
    keeps_bits as keeps_bits,
)
from explorer.tensor.facts.owners import only_user as only_user, owned_by as owned_by, read_once as read_once
from explorer.tensor.facts.parameters import needed as needed, parameter_graphs as parameter_graphs
from explorer.tensor.facts.replacing import (
    first_trained as first_trained,
    gradient_on_ties as gradient_on_ties,
    reapply as reapply,
    replace_with as replace_with,
)
from explorer.tensor.facts.shapes import (
    COPIES as COPIES,
    PARTS as PARTS,
    RESHAPES as RESHAPES,
    TRANSPOSES as TRANSPOSES,
    axes_of as axes_of,
    axis_of as axis_of,
    axis_order as axis_order,
    inverse as inverse,
    permutation_of as permutation_of,
    permute as permute,
    reorder as reorder,
    reshape as reshape,
    shape_of as shape_of,
)
from explorer.tensor.facts.slices import (
    SLICES as SLICES,
    SPLITS as SPLITS,
    Slice as Slice,
    slice_axis as slice_axis,
    slice_of as slice_of,
)
from explorer.tensor.facts.values import (
    FULLS as FULLS,
    constant_like as constant_like,
    full_like as full_like,
    known_tensor as known_tensor,
    number_of as number_of,
    plain as plain,
    splat as splat,
    splat_number as splat_number,
)

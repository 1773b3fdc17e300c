"""The Triton kernel that compares memory."""

import triton
import triton.language as tl


@triton.jit
def compare(addresses, others, counts, differs, BLOCK: tl.constexpr):
    """Set the flag if the numbers of 32 bits at two addresses differ, for each pair of addresses."""
    pair = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < tl.load(counts + pair)
    left = tl.load(tl.load(addresses + pair).to(tl.pointer_type(tl.int32)) + at, mask=mask, other=0)
    right = tl.load(tl.load(others + pair).to(tl.pointer_type(tl.int32)) + at, mask=mask, other=0)
    is_different = tl.max(tl.where(left != right, 1, 0), axis=0)
    if is_different != 0:
        tl.atomic_max(differs, 1)

"""OptimizePool: what keeps the order of numbers is done behind max pooling, where there are fewer.

Source: Glow, Pool operations optimization.
"""

from typing import Any

from explorer.rewrite import Exactness
from explorer.tensor.passes.base import passes
from explorer.tensor.passes.channels import MAX_POOLS, schema_name
from explorer.tensor.passes.facts import CLIPS, RELUS, is_read_once, owner_in
from explorer.tensor.rewriting import Declined
from explorer.tensor.variables import Apply, apply_op

pool = passes.new("OptimizePool", "A relu above max pooling goes below it: it then runs on fewer numbers.")


@pool.rule(None, exactness=Exactness.EXACT)
def relu_below_max_pool(node: Apply) -> Any:
    """max_pool(relu(x)) is relu(max_pool(x)), also for NaN and padding: a relu keeps the order."""
    if schema_name(node) not in MAX_POOLS:
        return False
    above = owner_in(node.inputs[0], (*RELUS, *CLIPS))
    if above is None:
        return False
    if not is_read_once(node.inputs[0]):
        return Declined("the relu is read elsewhere too", above)
    if any(extra.clients for extra in node.outputs[1:]):
        return Declined("the places of the greatest numbers are read too; a relu makes several numbers equal", node)
    pooled = apply_op(node.op, [above.inputs[0]], node.place)
    new = apply_op(above.op, pooled.outputs[:1], above.place).outputs[0]
    return [new, *[None] * (len(node.outputs) - 1)]

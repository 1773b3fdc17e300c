"""Parts of a program that run without gradients.

`run_decompositions` inlines their operators, so the results of such a part are detached before. In an exported program
these parts are never nested.
"""

import operator
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import fx
from torch._higher_order_ops.wrap import wrap_with_set_grad_enabled
from torch.export import ExportedProgram

DETACH = torch.ops.aten.detach.default


@contextmanager
def detach_parts(program: ExportedProgram) -> Iterator[None]:
    """Detach the results of the parts without gradients inside; restore the program afterwards."""
    added: list[fx.Node] = []
    for node in list(program.graph.nodes):
        if node.target is wrap_with_set_grad_enabled and node.args[0] is False:
            added += [_detach(part) for part in list(node.users) if part.target is operator.getitem]
    try:
        yield
    finally:
        for node in added:
            node.replace_all_uses_with(node.all_input_nodes[0])
            program.graph.erase_node(node)


def _detach(part: fx.Node) -> fx.Node:
    users = list(part.users)
    with part.graph.inserting_after(part):
        made = part.graph.call_function(DETACH, (part,))
    made.meta = dict(part.meta)
    for user in users:
        user.replace_input_with(part, made)
    return made

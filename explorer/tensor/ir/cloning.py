"""Copies of the variables and applications of a graph."""

from collections.abc import Sequence

from explorer.tensor.ir.sorting import toposort
from explorer.tensor.ir.variables import Apply, Constant, Variable


def clone_variables(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> dict[Variable, Variable]:
    """Copies of all variables from inputs to outputs; constants are shared in content, not in identity."""
    copies: dict[Variable, Variable] = {v: Variable(v.type, None, 0, v.name, v.device, v.requires_grad) for v in inputs}

    def copy(variable: Variable) -> Variable:
        if variable not in copies:
            if isinstance(variable, Constant):
                kind = variable.tensor_type
                copies[variable] = Constant(
                    variable.data, variable.name, variable.trainable, kind.layout, kind.quantization
                )
            else:
                copies[variable] = variable  # an undeclared input: reported when it is imported
        return copies[variable]

    for node in toposort(outputs):
        new = Apply(node.op, [copy(v) for v in node.inputs], location=node.location, draw=node.draw)
        new.outputs = [Variable(v.type, new, v.index, v.name, v.device, v.requires_grad) for v in node.outputs]
        copies.update(zip(node.outputs, new.outputs, strict=True))
    for variable in outputs:
        copy(variable)
    return copies

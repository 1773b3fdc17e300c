"""`concatenate`: several circuits as the outputs of one."""

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.operators.assembly import Assembly, check_operands

Placed = tuple[int, tuple[int, ...]]
"""The identity of a layer, and its inputs in the result."""


def concatenate(*circuits: Circuit) -> Circuit:
    """Make one circuit with the outputs of all circuits, in order; it shares their leaves.

    Layers that circuits have in common, with equal inputs, are there once: those of a circuit that is given twice, and
    those that an operator kept, as `differentiate` does.
    Raises: StructureError without a circuit; ShapeError if the outputs differ in units.
    """
    operands = check_operands("concatenate", circuits, 1)
    assembly = Assembly(operands)
    known: dict[Placed, int] = {}
    names: dict[int, str] = {}
    outputs: list[int] = []
    for position, circuit in enumerate(operands):
        new: dict[int, int] = {}
        own: dict[Placed, int] = {}
        for node, layer in circuit.graph.nodes.items():
            placed = (id(layer), tuple(new[source] for source in circuit.graph.inputs[node]))
            if placed in known:
                new[node] = known[placed]
                assembly.add_origin(new[node], (position, node))
            else:
                new[node] = own[placed] = assembly.add(layer, placed[1], [(position, node)])
            name = circuit.names.get(node)
            if name is not None and name not in names.values():
                names.setdefault(new[node], name)
        known |= own
        outputs += [new[output] for output in circuit.outputs]
    return assembly.build("concatenate", outputs, names=names)

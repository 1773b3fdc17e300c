"""`concatenate`: several circuits as the outputs of one."""

from explorer.symbolic.circuit import Circuit
from explorer.symbolic.operators.assembly import Assembly, check_operands


def concatenate(*circuits: Circuit) -> Circuit:
    """Make one circuit with the outputs of all circuits, in order; it shares their leaves.

    A circuit that is given twice is there once, with its outputs listed twice.
    Raises: StructureError without a circuit; ShapeError if the outputs differ in units.
    """
    operands = check_operands("concatenate", circuits, 1)
    assembly = Assembly(operands)
    placed: dict[Circuit, dict[int, int]] = {}
    names: dict[int, str] = {}
    outputs: list[int] = []
    for position, circuit in enumerate(operands):
        if circuit not in placed:
            new = placed[circuit] = {}
            for node, layer in circuit.graph.nodes.items():
                sources = [new[source] for source in circuit.graph.inputs[node]]
                new[node] = assembly.add(layer, sources, [(position, node)])
                name = circuit.names.get(node)
                if name is not None and name not in names.values():
                    names[new[node]] = name
        outputs += [placed[circuit][output] for output in circuit.outputs]
    return assembly.build("concatenate", outputs, names=names)

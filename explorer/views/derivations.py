"""From which layers of which operands operators have made a symbolic layer."""

from collections.abc import Sequence

from explorer.symbolic import Circuit, formula_of
from explorer.trace import ids_text
from explorer.views.index import TraceIndex


def operand_rows(index: TraceIndex, symbolic: Sequence[int]) -> list[list[str]]:
    """Return a row for each operator that made these symbolic layers of a circuit, the last operator first.

    A row has the circuit that the operator made, and the layers of its operands that they come from. None for a circuit
    that was built, and for one that was read from a file, which does not say what it was made of.
    """
    whole = index.trace.subject
    if not isinstance(whole, Circuit):
        return []
    rows: list[list[str]] = []
    waiting: list[tuple[Circuit, tuple[int, ...]]] = [(whole, tuple(symbolic))]
    for circuit, nodes in waiting:  # grows while it is read
        made = circuit.derivation
        if made is None or not nodes:
            continue
        found: dict[int, dict[int, None]] = {}
        for node in nodes:
            for operand, origin in made.origins.get(node, ()):
                found.setdefault(operand, {})[origin] = None
        texts: list[str] = []
        below: dict[Circuit, dict[int, None]] = {}
        for operand, origins in sorted(found.items()):
            one = made.operands[operand]
            texts.append(f"{ids_text(tuple(origins), '')} of {formula_of(one, whole)}")
            below.setdefault(one, {}).update(origins)
        rows.append([f"made by {made.operator} from layers", " and ".join(texts) or "no layer of an operand"])
        waiting.extend((one, tuple(origins)) for one, origins in below.items())
    return rows

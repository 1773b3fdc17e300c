"""The circuits that operators combined, and from which layers of them a layer was made."""

from collections.abc import Callable, Iterable

from explorer.symbolic import (
    Circuit,
    circuits_behind,
    formula_of,
    num_parameters,
    operator_steps,
    operator_words,
)
from explorer.trace import Trace
from explorer.views.index import TraceIndex
from explorer.views.plates.drawing import stage_of
from explorer.views.plates.layout import Placed
from explorer.views.words import plural
from explorer_widgets.schema import VERSION, DerivationView, DrawnCircuitView, DrawnPlateView

MAX_DRAWN_LAYERS = 4_000
"""Larger derivations are not drawn, but counted."""
GAP = 4.0
"""The gap between two cells, in pixels."""
EDGE, FOOT = 40.0, 44.0
"""The room on the right of the last plate; that below the lowest one, where its number of units is."""


def derivation_view(whole: Circuit, index_of: Callable[[Circuit], TraceIndex]) -> DerivationView | None:
    """Return the circuits that `whole` was made of by operators, each as it was written; None if it was built.

    `index_of` compiles a circuit without optimizing or folding it.
    """
    if whole.derivation is None:
        return None
    circuits = list(circuits_behind(whole))
    position = {circuit: at for at, circuit in enumerate(circuits)}
    origins = [
        [position[circuit], node, position[circuit.derivation.operands[operand]], origin]
        for circuit in circuits
        if circuit.derivation is not None
        for node, pairs in circuit.derivation.origins.items()
        for operand, origin in dict.fromkeys(pairs)
    ]
    total = sum(len(circuit.graph) for circuit in circuits)
    if total > MAX_DRAWN_LAYERS:
        note = f"{plural(total, 'layer')} of {plural(len(circuits), 'circuit')} are not drawn: at most "
        return _view([], [], f"{note}{MAX_DRAWN_LAYERS:,} are.")
    return _view([_drawn(circuit, whole, index_of(circuit)) for circuit in circuits], origins, "")


def layers_of_circuits(whole: Circuit, trace: Trace, step: int, nodes: Iterable[int]) -> list[list[int]]:
    """Return the circuit, by its position in `derivation_view`, and the id there of what nodes of a step come from."""
    operators = operator_steps(whole)
    position = {circuit: at for at, circuit in enumerate(circuits_behind(whole))}
    if step >= trace.start:
        symbolic = dict.fromkeys(origin for node in nodes for origin in trace.lineage(node).symbolic)
        return [[position[whole], node] for node in symbolic]
    present = operators.steps[step].circuits
    places = ((position[one], node - operators.offsets[one], one) for node in nodes for one in present)
    return [[at, layer] for at, layer, one in places if layer in one.graph.nodes]


def _view(circuits: list[DrawnCircuitView], origins: list[list[int]], note: str) -> DerivationView:
    return {"version": VERSION, "circuits": circuits, "origins": origins, "chosen": [], "note": note}


def _drawn(circuit: Circuit, whole: Circuit, index: TraceIndex) -> DrawnCircuitView:
    stage = stage_of(index, index.trace.start)
    plate_of = {layer: at for at, one in enumerate(stage.placed) for layer in one.plate.layers.tolist()}
    lines = {(plate_of[read], plate_of[node]): None for node, reads in circuit.graph.inputs.items() for read in reads}
    return {
        "label": formula_of(circuit, whole),
        "text": f"{plural(len(circuit.graph), 'layer')} of {_units_text(circuit, tuple(circuit.graph.nodes))} units, "
        f"{plural(num_parameters(circuit), 'parameter')}",
        "made": operator_words(circuit),
        "width": max(one.left + one.shape.width for one in stage.placed) + EDGE,
        "height": max(one.top + one.shape.height for one in stage.placed) + FOOT,
        "plates": [_plate(circuit, placed) for placed in stage.placed],
        "lines": [list(pair) for pair in lines],
    }


def _units_text(circuit: Circuit, layers: Iterable[int]) -> str:
    """Return the number of output units of the layers: `16`, or `1 to 16`."""
    units = [circuit.graph.nodes[layer].num_output_units for layer in layers]
    low, high = min(units), max(units)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _plate(circuit: Circuit, placed: Placed) -> DrawnPlateView:
    shape, (across, down) = placed.shape, placed.shape.unit
    gap = min(GAP, across / 4, down / 4)
    layers = placed.plate.layers.tolist()
    alike = len({circuit.graph.nodes[layer].num_output_units for layer in layers}) == 1
    places = [
        [placed.left + x * across + gap / 2, placed.top + y * down + gap / 2, w * across - gap, h * down - gap]
        for x, y, w, h in shape.places
    ]
    return {
        "title": placed.plate.record.title,
        "kind": placed.plate.record.kind,
        "units": _units_text(circuit, layers) + (" each" if alike and len(layers) > 1 else ""),
        "at": [placed.left, placed.top, shape.width, shape.height],
        "cells": layers,
        "places": [round(value, 1) for place in places for value in place],
    }

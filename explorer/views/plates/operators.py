"""What an operator on circuits did to a plate."""

from explorer.views.index import TraceIndex, cached
from explorer.views.plates.cells import Plate

OPERATOR_LABEL = 118.0
"""Room for `256 = 16×16 units` at a plate, in pixels."""


def operator_news(index: TraceIndex, step: int, plate: Plate) -> str:
    """Return what an operator did to the units of a plate, or to its layers: `8 = 4×2 units`, `was Categorical`.

    Empty if its layers differ in that, and for layers that are as before; but the outputs of circuits that are not
    combined yet say of which they are: `output of A`.
    """
    circuits = index.circuits_at(step)
    applied = index.step(step).operator
    is_made = applied is not None and any(layer in applied.sources for layer in plate.ids)
    if len(circuits) > 1 and not is_made:
        outputs = set(index.state(step).outputs)
        return f"output of {circuits[plate.circuit].formula}" if outputs.intersection(plate.ids) else ""
    found = {_news_of_layer(index, step, layer) for layer in plate.ids}
    return found.pop() if len(found) == 1 else ""


@cached
def _news_of_layer(index: TraceIndex, step: int, layer: int) -> str:
    applied = index.step(step).operator
    if applied is None or layer not in applied.sources:
        return ""
    before, after = index.before(step), index.state(step)
    made = index.record(int(after.node[layer]))
    sources = [index.record(int(before.node[source])) for source in applied.sources[layer]]
    units = [int(source.config["num_output_units"]) for source in sources]
    now = int(made.config["num_output_units"])
    titles = {source.title for source in sources}
    if layer in applied.sources[layer] and len(titles) == 1 and made.title not in titles:  # replaced
        return f"was {titles.pop()}"
    if len(units) == 1 and units != [now]:
        return f"{units[0]:,} → {now:,} units"
    if len(units) == 2 and units[0] * units[1] == now:
        return f"{now:,} = {units[0]:,}×{units[1]:,} units"
    return "new" if not sources else ""

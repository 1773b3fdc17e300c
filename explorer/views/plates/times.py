"""The half bars of plates: the measured time of the calls of each plate, by lane."""

from collections.abc import Mapping, Sequence
from math import fsum

from explorer.timings import Estimate, PartTime
from explorer.views.index import TraceIndex
from explorer.views.lanes import LANES, RECORDED, LayerTimes, in_order, main_lane
from explorer.views.layer_timings import layer_times_at
from explorer.views.plates.cells import Plate
from explorer.views.timing_words import roof_share_text
from explorer.views.words import list_text, plural, time_text
from explorer_widgets.schema import HalfBarView, LegendItem, NodeView

PlateTimes = Mapping[str, Mapping[str, PartTime]]
"""The time of all calls of plates, by lane and plate."""

MAX_NAMED = 4
"""Maximum number of plates without a time that are named."""


def plate_times(index: TraceIndex, step: int, plates: Sequence[Plate], measured: LayerTimes) -> PlateTimes:
    """Return the times of the plates after a step with times of all layers, measured at any step.

    A recorded lane has times of all plates or none: nobody could measure the others here.
    """
    found: dict[str, dict[str, PartTime]] = {}
    for lane in in_order(measured):
        layers = layer_times_at(index, step, measured[lane])
        known = [plate for plate in plates if all(node in layers for node in plate.ids)]
        called = {plate.id for plate in plates if plate.is_called}
        if lane.startswith(RECORDED) and not called <= {plate.id for plate in known}:
            continue
        for plate in known:
            found.setdefault(lane, {})[plate.id] = _sum([layers[node] for node in plate.ids])
    return found


def half_bars(plate: Plate, times: PlateTimes, full: float) -> list[HalfBarView]:
    """Return the bars of a plate; `full` is the milliseconds of a whole one, as on the clock."""
    return [
        {"lane": lane, "share": min(1.0, of_plates[plate.id].median / full) if full else 0.0, "text": text}
        for lane, of_plates in times.items()
        if plate.id in of_plates and (text := _text(lane, plate, of_plates[plate.id].estimate))
    ]


def time_of(plate: Plate, times: PlateTimes) -> str:
    """Return the time of the calls of a plate in the main lane; empty if only another machine has one."""
    lane = main_lane(times)
    if lane is None or lane.startswith(RECORDED) or plate.id not in times[lane]:
        return ""
    return time_text(times[lane][plate.id].median)


def roof_text(plate: Plate, times: PlateTimes) -> str:
    """Return the share of the roof that the calls of a plate reach, in the main lane: `34% of the roof`."""
    lane = main_lane(times)
    found = None if lane is None else times[lane].get(plate.id)
    if found is None or found.roof_ms is None:
        return ""
    return f"{roof_share_text(found.roof_ms, found.median)} of the roof"


def legend_of_times(times: PlateTimes, full: float) -> list[LegendItem]:
    """Return what the half bars mean, and the time of a whole one."""
    items: list[LegendItem] = [{"channel": "bar", "role": lane, "sign": "", "text": LANES[lane]} for lane in times]
    if items:
        items[0]["text"] = f"each call timed alone: {items[0]['text']}"
        items[-1]["text"] += f"; full bar {time_text(full)}"
    return items


def missing_note(nodes: Sequence[NodeView]) -> str:
    """Return which plates have no time although others have: ` Not measured: Sum, CPT.`; empty if none."""
    missing = [node["title"] for node in nodes if "plate" in node and not node["plate"].get("times")]
    return f" Not measured: {list_text(missing, MAX_NAMED)}." if 0 < len(missing) < len(nodes) else ""


def _text(lane: str, plate: Plate, found: Estimate) -> str:
    """Return a time with its interval: `CPU: 2.3 ms for 64 calls (2.2 ms to 2.4 ms)`."""
    interval = f" ({time_text(found.low)} to {time_text(found.high)})" if found.is_known else ""
    return f"{LANES[lane]}: {time_text(found.median)} for {plural(plate.num_calls, 'call')}{interval}"


def _sum(times: Sequence[PartTime]) -> PartTime:
    """Return the sum of times; its interval is the widest that theirs allow."""
    parts = [time.estimate for time in times]
    roofs = [time.roof_ms for time in times if time.roof_ms is not None]
    estimate = Estimate(
        median=fsum(part.median for part in parts),
        low=fsum(part.low for part in parts),
        high=fsum(part.high for part in parts),
        lower_quartile=fsum(part.lower_quartile for part in parts),
        upper_quartile=fsum(part.upper_quartile for part in parts),
        count=min(part.count for part in parts),
        confidence=min(part.confidence for part in parts),
    )
    return PartTime(estimate, fsum(roofs) if len(roofs) == len(times) else None)

"""Lanes of times shown side by side: each device of this machine, and of a machine with a recorded run.

A backend on a device has its own lane in addition to the layers.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from explorer.timings import CPU, CUDA, PartTime
from explorer_widgets import theme

LayerTimes = Mapping[str, Mapping[int, Mapping[int, PartTime]]]
"""The measured times of layers, by lane, step and layer."""

Measured = TypeVar("Measured")

RECORDED = "recorded-"
LANES: Mapping[str, str] = {name: lane.words for name, lane in theme.LANES.items()}
"""The names of the lanes, in the order in which they are shown."""


def lane_of(device: str, *, recorded: bool) -> str:
    """Return the lane of a device: `cuda`, or `recorded-cuda` for a run of another machine."""
    return RECORDED + device if recorded else device


def lane_of_backend(backend: str, device: str) -> str:
    """Return the lane of a backend: `native-cpu`."""
    return f"{backend}-{device}"


def device_of(lane: str) -> str:
    """Return the device of a lane: `cuda` of `recorded-triton-cuda`."""
    return lane.rpartition("-")[2]


def backend_of(lane: str) -> str:
    """Return the backend of a lane; empty if its times are those of the layers."""
    return theme.LANES[lane].backend if lane in theme.LANES else ""


def where_text(lane: str) -> str:
    """Return where the times of a lane were measured: `on CUDA`, `on CUDA, recorded`."""
    return f"on {LANES[lane.removeprefix(RECORDED)]}{', recorded' if lane.startswith(RECORDED) else ''}"


def in_order(lanes: Mapping[str, object]) -> Sequence[str]:
    """Return the known lanes among the keys, in the order in which they are shown."""
    return [lane for lane in LANES if lane in lanes]


def main_lane(lanes: Mapping[str, object]) -> str | None:
    """Return the lane for which there is room if only one can be shown: CUDA, if possible of this machine."""
    return next((lane for lane in (CUDA, CPU, RECORDED + CUDA, RECORDED + CPU) if lane in lanes), None)


def with_more_lanes(
    known: Mapping[int, Mapping[str, Measured]], found: Mapping[int, Mapping[str, Measured]], *, recorded: bool
) -> dict[int, dict[str, Measured]]:
    """Return the times of each step with more times added; they replace only their own lanes."""
    result = {step: dict(lanes) for step, lanes in known.items()}
    for step, lanes in found.items():
        result.setdefault(step, {}).update({lane_of(lane, recorded=recorded): one for lane, one in lanes.items()})
    return result


def with_lanes(
    known: Mapping[int, Mapping[str, Measured]], found: Mapping[int, Mapping[str, Measured]], *, recorded: bool
) -> dict[int, dict[str, Measured]]:
    """Return what is known of each step with other times of this machine, or of the one of the recorded run.

    `found` has devices, the result lanes.
    """
    result = {
        step: {lane: one for lane, one in lanes.items() if lane.startswith(RECORDED) != recorded}
        for step, lanes in known.items()
    }
    for step, devices in found.items():
        result.setdefault(step, {}).update({lane_of(device, recorded=recorded): one for device, one in devices.items()})
    return result

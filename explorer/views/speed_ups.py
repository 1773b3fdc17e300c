"""Comparison of two times: the ratio of medians, beyond the noise or within it."""

from dataclasses import dataclass
from typing import Literal

from explorer.timings import Estimate

Tone = Literal["faster", "slower", "noise"]


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """A speed-up: the ratio of medians (over 1 is faster), as text, and its tone."""

    ratio: float
    text: str
    tone: Tone


def speed_up(before: Estimate, after: Estimate, than: str = "") -> SpeedUp:
    """Return how much faster `after` is; if the confidence intervals overlap, it is within the noise.

    The interval of the ratio is the widest that the two intervals allow.
    """
    ratio = before.median / after.median
    if not (before.is_known and after.is_known):
        return SpeedUp(ratio, f"{_times(ratio)}: measured too few times to tell", "noise")
    if before.overlaps(after):
        return SpeedUp(ratio, f"{_times(ratio)}: within the noise", "noise")
    ends = sorted((before.low / after.high, before.high / after.low))
    tone: Tone = "faster" if ratio > 1 else "slower"
    if tone == "slower":
        ends = sorted(1 / end for end in ends)
    shown = ratio if tone == "faster" else 1 / ratio
    compared = f" than {than}" if than else ""
    return SpeedUp(ratio, f"{_times(shown)} {tone}{compared} ({ends[0]:.3g} to {ends[1]:.3g})", tone)


def _times(ratio: float) -> str:
    return f"{ratio:.3g}x" if ratio < 1000 else f"{ratio:,.0f}x"

"""The row: where calls, their operators and the tensors between them are, from left to right; and bands of modules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log2, prod

from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import Call, Tensor, calls_at, parts_at, path_of
from explorer.views.score.repeats import blocks_at, drawn_at, groups_at

LEFT, RIGHT = 132.0, 16.0
"""Room for the names of the lanes, and behind the last tensor, in pixels."""
NATURAL_WIDTH = 1040.0
MIN_UNIT, MAX_UNIT = 15.0, 64.0
"""The width of an operator in pixels, without zoom: such that the row is about as wide as a page."""
ALONE, PAD = 1.5, 0.2
"""The width of a call of one operator, and the frame around several, in operators."""
SLOT, MORE, CLOSED = 1.5, 0.7, 0.5
"""The width of the gap behind a call: with a tensor, for each further one, without any."""
ROOMY, LEAST_GAP = 36.0, 0.2
"""Of more operators than this, gaps are narrower, but no narrower than a share of theirs."""
MAX_BODIES = 3
"""More tensors that one call writes are drawn as the largest ones."""
BODY_HEIGHT, BODY_THICKNESS = (12.0, 96.0), (3.0, 15.0)
"""The least and the largest height and thickness of a tensor in pixels."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A call in the row: its left edge and width, and the gap behind it."""

    call: Call
    nodes: tuple[int, ...]
    """The call, and equal ones that it stands for."""
    blocks: tuple[str, ...]
    """The block of each of its modules."""
    left: float
    width: float
    gap: float
    part: str = ""
    """Of a training step: `forward` or `backward`."""

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def middle(self) -> float:
        """The middle of the call; of an input, that of its tensor."""
        return self.left + (self.width or self.gap) / 2

    def cells(self) -> list[tuple[float, float]]:
        """The left edge and the width of each operator."""
        count = len(self.call.operators)
        pad = self.width * PAD / (count + 2 * PAD) if count > 1 else 0.0
        each = (self.width - 2 * pad) / count
        return [(self.left + pad + at * each, each) for at in range(count)]

    def bodies(self) -> list[tuple[float, float]]:
        """The middle and the room of each tensor in the gap."""
        count = len(self.tensors)
        return [(self.right + self.gap * (at + 0.5) / count, self.gap / count) for at in range(count)]

    @property
    def tensors(self) -> Sequence[Tensor]:
        """The tensors that are drawn behind the call."""
        if len(self.call.results) <= MAX_BODIES:
            return self.call.results
        return sorted(self.call.results, key=lambda one: -one.num_bytes)[:MAX_BODIES]


@dataclass(frozen=True, slots=True)
class Band:
    """Consecutive calls of a module, or parts of them. `depth` counts the modules around it."""

    path: str
    depth: int
    left: float
    right: float
    count: int = 1
    """Number of equal modules that it stands for."""


def name_of_module(path: str) -> str:
    """Return the last part of a path: `attn`; of an outermost module all of it."""
    parts = path_of(path)
    return path[len(parts[-2]) + 1 :] if len(parts) > 1 else path


@cached
def row_at(index: TraceIndex, step: int) -> tuple[Spot, ...]:
    """Return the calls after a step with their places."""
    calls, groups, blocks = drawn_at(index, step), groups_at(index, step), blocks_at(index, step)
    parts = parts_at(index, step)
    widths = [
        0.0 if one.is_input else ALONE if len(one.operators) == 1 else len(one.operators) + 2 * PAD for one in calls
    ]
    tight = max(LEAST_GAP, min(1.0, ROOMY / max(sum(widths), 1.0)))
    gaps = [_gap(one) * tight for one in calls]
    unit = min(MAX_UNIT, max(MIN_UNIT, NATURAL_WIDTH / max(sum(widths) + sum(gaps), 1.0)))
    found: list[Spot] = []
    at = LEFT
    for call, width, gap in zip(calls, widths, gaps, strict=True):
        part = parts.get(call.node, "")
        found.append(Spot(call, groups[call.node], blocks[call.node], at, width * unit, gap * unit, part))
        at += (width + gap) * unit
    return tuple(found)


def _gap(call: Call) -> float:
    count = min(len(call.results), MAX_BODIES)
    return SLOT + MORE * (count - 1) if count else CLOSED


def bands_of(row: Sequence[Spot]) -> list[Band]:
    """Return the bands of the parts of a training step, and of modules, outermost first."""
    found: list[Band] = []
    for part, spots in groupby((spot for spot in row if not spot.call.is_input), key=lambda spot: spot.part):
        same = list(spots)
        found += [Band(part, 0, same[0].left, same[-1].right)] if part else []
        found += _bands_of_modules(same, 1 if part else 0)
    return sorted(found, key=lambda band: band.depth)


def _bands_of_modules(row: Sequence[Spot], outer: int) -> list[Band]:
    """Return the bands of modules.

    A call of operators of several modules belongs to each with an equal part of its width. A call of no module does not
    end a band, and a value of a block that has ended may be computed again: that is no band.
    """
    parts: list[tuple[tuple[str, ...], float, float, dict[str, int]]] = []
    top, ended = "", set[str]()
    for spot in row:
        found_in = zip(spot.call.modules, spot.blocks, strict=True)
        modules = [(module, block) for module, block in found_in if block not in ended]
        blocks = [top, *(block for _, block in modules)]
        if len(set(spot.blocks)) > 2:  # it prepares later blocks, which begin with calls of their own
            blocks = [top]
        top = blocks[-1]
        if spot.part != "backward":  # which computes values of forward again before it comes to their gradients
            ended.update(block for block in blocks if block != top and not top.startswith(f"{block}."))
        each = spot.width / max(len(modules), 1)
        for at, (module, block) in enumerate(modules):
            count = {block: len(spot.nodes) if block == top else 1}
            parts.append((path_of(module), spot.left + at * each, spot.left + (at + 1) * each, count))
    found: list[Band] = []
    for depth in range(max((len(path) for path, *_ in parts), default=0)):
        path = ""
        for names, left, right, counts in parts:
            name = names[depth] if depth < len(names) else ""
            count = counts.get(name, 1)
            if name and name == path:
                found[-1] = Band(name, outer + depth, found[-1].left, right, max(found[-1].count, count))
            elif name:
                found.append(Band(name, outer + depth, left, right, count))
            path = name
    return found


@cached
def scale_of(index: TraceIndex) -> Mapping[str, float]:
    """Return the largest sizes of all steps, by which tensors and bytes are drawn: the same in each step."""
    height, thickness, moved = 1.0, 1.0, 1.0
    for entry in index.trace.steps:
        for call in calls_at(index, entry.index) if entry.changed or not entry.index else ():
            moved = max(moved, call.read, call.written)
            for tensor in call.results:
                high, thick = sizes_of(tensor, has_images(index))
                height, thickness = max(height, high), max(thickness, thick)
    return {"height": height, "thickness": thickness, "moved": moved}


@cached
def has_images(index: TraceIndex) -> bool:
    """Whether tensors of four sizes are images: the program has convolutions."""
    return any("conv" in name for call in calls_at(index, index.trace.start) for name in (call.title, *call.operators))


def sizes_of(tensor: Tensor, are_images: bool) -> tuple[float, float]:
    """Return height and thickness of a tensor as logarithms.

    The height is that of an image, or the number of tokens or rows; the thickness is the number of channels.

    >>> sizes_of(Tensor("f32[2,16,8,8]", (2, 16, 8, 8), 8192), are_images=True)
    (3.0, 4.0)
    >>> sizes_of(Tensor("f32[2,32,64]", (2, 32, 64), 16384), are_images=False)
    (5.0, 6.0)
    """
    shape = tensor.shape
    rows = shape[-2] if len(shape) > 1 else 1
    if len(shape) == 4 and are_images:
        channels = shape[1]
    else:
        channels = shape[-1] * (prod(shape[1:-2]) if len(shape) > 3 else 1) if shape else 1
    return log2(max(rows, 1)), log2(max(channels, 1))


def body_of(index: TraceIndex, tensor: Tensor) -> tuple[float, float]:
    """Return height and thickness of a tensor in pixels, both logarithmic and the same in each step."""
    high, thick = sizes_of(tensor, has_images(index))
    scale = scale_of(index)
    (low, top), (thin, wide) = BODY_HEIGHT, BODY_THICKNESS
    return (
        round(low + (top - low) * high / scale["height"], 1),
        round(thin + (wide - thin) * thick / scale["thickness"], 1),
    )

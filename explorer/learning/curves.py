"""Learning curves: the likelihood of training and held-out rows by epoch, as CSV and as a picture (SVG)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from explorer.files import replace_file
from explorer.learning.loop import Epoch, best_epoch

WIDTH, HEIGHT = 720, 400
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 76, 56, 610, 272
TRAINING, HELD_OUT, BASELINE = "#0072b2", "#d55e00", "#565d66"
"""The colours of the lines; people with any kind of colour vision tell them apart."""
TICKS = 5
SMALL, LARGE = 12, 24
"""Sizes of letters: of a picture alone, and of one that is shown at half its size."""


def curve_files(checkpoint: "str | Path") -> tuple[Path, ...]:
    """The files of the curves of a run: `NAME.curves.svg` and `NAME.curves.csv`, in the folder of its checkpoint.

    A symbolic link, as /dev/stdout is one, has them next to the file that it names; a device or pipe has none.
    """
    path = Path(checkpoint)
    if path.exists() and not path.is_file():
        return ()
    if path.is_symlink():
        path = path.resolve()
    return path.with_name(f"{path.stem}.curves.svg"), path.with_name(f"{path.stem}.curves.csv")


def save_curves(
    checkpoint: "str | Path", epochs: Sequence[Epoch], title: str, unit: str, baseline: float | None
) -> None:
    """Write the curves of a run as a picture, and their numbers, to its `curve_files`.

    Both show the negative log-likelihood per dimension, in `unit` (bits or nats); `baseline` has independent
    variables. Existing files are replaced as a whole.
    """
    picture, table = curves_svg(epochs, title, unit, baseline), curves_csv(epochs, unit)
    for path, text in zip(curve_files(checkpoint), (picture, table), strict=False):
        replace_file(path, text.encode())


def curves_csv(epochs: Sequence[Epoch], unit: str) -> str:
    """One line per epoch: its number, the likelihood of training and held-out rows, and seconds."""
    lines = [f"epoch,training_{unit},held_out_{unit},seconds"]
    scale = _scale(unit)
    lines += [
        f"{one.number},{scale * one.training_bits:z.6g},{scale * one.held_out_bits:z.6g},{one.seconds:.3f}"
        for one in epochs
    ]
    return "\n".join(lines) + "\n"


def curves_svg(epochs: Sequence[Epoch], title: str, unit: str, baseline: float | None = None) -> str:
    """A picture of two lines over the epochs, with the best epoch marked; less is better."""
    scale = _scale(unit)
    series = [
        ("training", TRAINING, [scale * one.training_bits for one in epochs]),
        ("held out", HELD_OUT, [scale * one.held_out_bits for one in epochs]),
    ]
    values = [y for _, _, values in series for y in values] + ([] if baseline is None else [scale * baseline])
    axes = _Axes.of([one.number for one in epochs], values)
    x_of, y_of = axes.x_of, axes.y_of
    best = best_epoch(epochs)
    label = f"Negative log-likelihood in {unit} per dimension by epoch: {title}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#16191d" role="img">',
        f"<title>{escape(label)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-weight="600">{escape(title)}</text>',
    ]
    parts += axes.grid("#d5d9df", SMALL)
    if baseline is not None:
        y = y_of(scale * baseline)
        parts.append(f'<path d="M{LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="{BASELINE}" stroke-dasharray="5 4"/>')
    for _, colour, values in series:
        points = [(x_of(one.number), y_of(value)) for one, value in zip(epochs, values, strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(points) == 1:
            parts.append(f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3" fill="{colour}"/>')
    x, y = x_of(best.number), y_of(scale * best.held_out_bits)
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{HELD_OUT}" stroke-width="2"/>')
    parts.append(_legend(f"best: epoch {best.number}", baseline is not None))
    middle = LEFT + PLOT_WIDTH / 2
    axis = f"epoch; {unit} per dimension, less is better"
    parts.append(f'<text x="{middle}" y="{HEIGHT - 20}" text-anchor="middle" fill="#565d66">{axis}</text></svg>')
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class HeldOutCurve:
    """Bits per dimension of held-out rows by epoch: points (epoch, bits), ascending."""

    name: str
    points: tuple[tuple[int, float], ...]


def held_out_svg(curves: Sequence[HeldOutCurve]) -> str:
    """A picture of the held-out bits of several runs on one axis, in the colours of the text around it."""
    colours = (HELD_OUT, TRAINING, "#009e73", "#cc79a7")
    axes = _Axes.of([x for one in curves for x, _ in one.points], [y for one in curves for _, y in one.points])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" '
        f'font-family="system-ui, sans-serif" font-size="{LARGE}" fill="currentColor" role="img">',
        "<title>Bits per dimension of held-out rows by epoch</title>",
        *axes.grid("currentColor", LARGE, 'stroke-opacity="0.25"'),
    ]
    for number, (one, colour) in enumerate(zip(curves, colours, strict=False)):
        line = " ".join(f"{axes.x_of(x):.1f},{axes.y_of(y):.1f}" for x, y in one.points)
        dash = f'stroke-dasharray="{6 * number} {3 * number}"' if number else ""
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="3" {dash}/>')
        best, bits = min(one.points, key=lambda point: point[1])
        place = f'cx="{axes.x_of(best):.1f}" cy="{axes.y_of(bits):.1f}"'
        parts.append(f'<circle {place} r="6" fill="none" stroke="{colour}" stroke-width="3"/>')
        y = 20 + 26 * number
        parts.append(f'<path d="M{LEFT} {y - 7}h26" stroke="{colour}" stroke-width="3" {dash}/>')
        words = f"{one.name}: best {bits:.3f}, epoch {best}"
        parts.append(f'<text x="{LEFT + 34}" y="{y}">{escape(words)}</text>')
    middle = LEFT + PLOT_WIDTH / 2
    axis = "epoch; held-out bits per dimension, less is better"
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{axis}</text></svg>')
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Axes:
    """Epochs from left to right, and round numbers upwards."""

    first: int
    last: int
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, epochs: Sequence[int], values: Sequence[float]) -> "_Axes":
        return cls(min(epochs), max(*epochs, min(epochs) + 1), tuple(_ticks(values)))

    def x_of(self, number: float) -> float:
        return LEFT + PLOT_WIDTH * (number - self.first) / (self.last - self.first)

    def y_of(self, value: float) -> float:
        return TOP + PLOT_HEIGHT * (1 - (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0]))

    def grid(self, colour: str, size: int, more: str = "") -> Iterator[str]:
        """The lines and labels of both axes, for letters of this size."""
        for value in self.ticks:
            y = self.y_of(value)
            yield f'<path d="M{LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="{colour}" {more}/>'
            yield f'<text x="{LEFT - 8}" y="{y + size / 3:.1f}" text-anchor="end">{value:.4g}</text>'
        for number in _epoch_ticks(self.first, self.last):
            x = self.x_of(number)
            yield f'<text x="{x:.1f}" y="{TOP + PLOT_HEIGHT + 6 + size}" text-anchor="middle">{number}</text>'


def _legend(best: str, has_baseline: bool) -> str:
    line = '<path d="M{x} 40h18" stroke="{colour}" stroke-width="2" {more}/><text x="{text}" y="44">{name}</text>'
    entries = [("training", TRAINING, ""), ("held out", HELD_OUT, "")]
    if has_baseline:
        entries.append(("independent variables", BASELINE, 'stroke-dasharray="5 4"'))
    parts: list[str] = []
    x = LEFT
    for name, colour, more in entries:
        parts.append(line.format(x=x, colour=colour, more=more, text=x + 24, name=name))
        x += 50 + 7 * len(name)
    ring = f'<circle cx="{x + 6}" cy="40" r="5" fill="none" stroke="{HELD_OUT}" stroke-width="2"/>'
    return "".join(parts) + f'{ring}<text x="{x + 18}" y="44">{best}</text>'


def _ticks(values: Sequence[float]) -> list[float]:
    """About `TICKS` round numbers from below the smallest to above the largest value."""
    low, high = min(values), max(values)
    span = (high - low) or max(abs(high), 1.0)
    step = 10.0 ** math.floor(math.log10(span / TICKS))
    step *= next(factor for factor in (1, 2, 5, 10) if factor * step >= span / TICKS)
    start, stop = math.floor(low / step), math.ceil(high / step)
    return [step * position for position in range(start, max(stop, start + 1) + 1)]


def _epoch_ticks(first: int, last: int) -> range:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**3, 10**4, 10**6) if (last - first) / s <= 12)
    return range(-(-first // step) * step, last + 1, step)


def _scale(unit: str) -> float:
    return math.log(2) if unit == "nats" else 1.0

"""Learning curves: the likelihood of training and held-out rows by epoch, as CSV and as a picture (SVG)."""

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from explorer.files import replace_file
from explorer.learning.loop import Epoch, best_epoch

WIDTH, HEIGHT = 720, 400
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 76, 56, 610, 272
TRAINING, HELD_OUT, BASELINE = "#0072b2", "#d55e00", "#565d66"
"""The colours of the lines; people with any kind of colour vision tell them apart."""
TICKS = 5


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
    ticks = _ticks([y for _, _, values in series for y in values] + ([] if baseline is None else [scale * baseline]))
    first, last = epochs[0].number, max(epochs[-1].number, epochs[0].number + 1)

    def x_of(number: float) -> float:
        return LEFT + PLOT_WIDTH * (number - first) / (last - first)

    def y_of(value: float) -> float:
        return TOP + PLOT_HEIGHT * (1 - (value - ticks[0]) / (ticks[-1] - ticks[0]))

    best = best_epoch(epochs)
    label = f"Negative log-likelihood in {unit} per dimension by epoch: {title}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#16191d" role="img">',
        f"<title>{escape(label)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-weight="600">{escape(title)}</text>',
    ]
    for value in ticks:
        y = y_of(value)
        parts.append(f'<path d="M{LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="#d5d9df"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    for number in _epoch_ticks(first, last):
        parts.append(f'<text x="{x_of(number):.1f}" y="{TOP + PLOT_HEIGHT + 18}" text-anchor="middle">{number}</text>')
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

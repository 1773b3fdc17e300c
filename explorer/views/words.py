"""Words on the screen: counts, sizes, names of steps, meanings of signs."""

from collections.abc import Mapping, Sequence

from explorer_widgets.schema import Change, HullKind, LegendItem
from explorer_widgets.theme import HULLS

OUTPUT = "out"
"""The sign of outputs if a circuit has several: they must not disappear inside a match."""
MISSED_FOLD = "≠"
LOST, NEAR_MISS = HULLS["lost"].sign, HULLS["near-miss"].sign
CHANGE_TEXTS: Mapping[Change, str] = {
    "added": "created by this step",
    "removed": "removed by this step",
    "changed": "changed by this step",
}
HULL_TEXTS: Mapping[HullKind, str] = {
    "match": "match that was applied",
    "winner": "match that won a conflict",
    "lost": "match that lost a conflict",
    "near-miss": "near miss",
}
BADGE_TEXTS: Mapping[str, str] = {
    LOST: "lost a conflict",
    NEAR_MISS: "near miss",
    MISSED_FOLD: "nearly folded with another",
    OUTPUT: "output",
}


def legend_items(*entries: tuple[bool, str, str, str, str]) -> list[LegendItem]:
    """Return the entries that occur, each of whether it does, its channel, role, sign and text."""
    return [
        {"channel": channel, "role": role, "sign": sign, "text": text}  # pyright: ignore[reportReturnType]
        for occurs, channel, role, sign, text in entries
        if occurs
    ]


BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def plural(count: int, word: str = "layer", many: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1), plural(5725), plural(2, "match", "matches")
    ('1 layer', '5,725 layers', '2 matches')
    """
    return f"{count:,} {word if count == 1 else many or word + 's'}"


def bytes_text(count: float) -> str:
    """Return a number of bytes with a suitable unit.

    >>> bytes_text(512), bytes_text(1000), bytes_text(1536), bytes_text(3 * 2**20)
    ('512 B', '1,000 B', '1.5 KiB', '3 MiB')
    """
    for unit in BYTE_UNITS[:-1]:
        if count < 1024:
            return f"{_digits(count)} {unit}"
        count /= 1024
    return f"{_digits(count)} {BYTE_UNITS[-1]}"


def number_text(count: float) -> str:
    """Return a large number with a suitable prefix.

    >>> number_text(512), number_text(15_360), number_text(840_860_672)
    ('512', '15.4 thousand', '841 million')
    """
    for unit in ("", " thousand", " million", " billion"):
        if count < 999.5:
            return f"{count:.3g}{unit}"
        count /= 1000
    return f"{_digits(count)} trillion"


def _digits(count: float) -> str:
    """Three digits, or all of an integer with more: 1,000, not 1e+03."""
    return f"{count:.3g}" if abs(count) < 999.5 else f"{count:,.0f}"


def time_text(milliseconds: float) -> str:
    """Return a time with a suitable unit.

    >>> time_text(0.0123), time_text(4.5), time_text(1234.5), time_text(1_234_500)
    ('12.3 µs', '4.5 ms', '1.23 s', '1,234 s')
    """
    if milliseconds < 1:
        return f"{_digits(milliseconds * 1000)} µs"
    return f"{_digits(milliseconds)} ms" if milliseconds < 1000 else f"{_digits(milliseconds / 1000)} s"


def list_text(items: Sequence[object], limit: int = 12) -> str:
    """Return a list in one line; a long one is cut, with the total count.

    >>> list_text([1, 2, 3]), list_text(range(9), limit=2)
    ('1, 2, 3', '0, 1 ... (9 in all)')
    """
    if len(items) <= limit:
        return ", ".join(map(str, items))
    return ", ".join(map(str, items[:limit])) + f" ... ({len(items):,} in all)"


def ordinal(number: int) -> str:
    """Return an ordinal number.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 22, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '22nd', '113th']
    """
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def scope_text(variables: int) -> str:
    """Return the variables of a scope, which is given as bits.

    >>> scope_text(0b1), scope_text(0b1111), scope_text(0b101), scope_text(0)
    ('x0', '{0..3}', '{0,2}', '{}')
    """
    found = [variable for variable, bit in enumerate(reversed(f"{variables:b}")) if bit == "1"]
    if len(found) == 1:
        return f"x{found[0]}"
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{{{found[0]}..{found[-1]}}}"
    return f"{{{','.join(map(str, found))}}}"

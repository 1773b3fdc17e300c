"""Pictures and bars as PNG, without a browser, for saved notebooks and for export."""

import struct

from explorer.packages import require
from explorer.views import Picture, bars_svg, static_svg
from explorer_widgets.encode import Png
from explorer_widgets.schema import BarsView

DENSITY = 2
"""Pixels of the image per CSS pixel, in each direction."""
FONT = "Inter"
"""Installed with the extra `ui`, so that an image is the same on every machine."""
SUBSTITUTES = str.maketrans({"✕": "✗"})
"""For signs that the font lacks."""


def picture_png(picture: Picture) -> Png:
    """Return the picture with its texts and legend, scaled to fit a page. Raises: MissingPackageError."""
    return _png(static_svg(picture, fit=True))


def bars_png(bars: BarsView) -> Png:
    """Return bars with their whiskers and values. Raises: MissingPackageError."""
    return _png(bars_svg(bars))


def _png(svg: str) -> Png:
    require("a PNG", "ui", "resvg_py", "fontpkg_inter")
    import fontpkg_inter
    import resvg_py

    data = resvg_py.svg_to_bytes(
        svg_string=svg.translate(SUBSTITUTES),
        zoom=DENSITY,
        skip_system_fonts=True,
        font_dirs=[str(fontpkg_inter.ROOT)],
        font_family=FONT,
        sans_serif_family=FONT,
    )
    width, height = struct.unpack(">II", data[16:24])  # the header of a PNG
    return Png(data, width // DENSITY, height // DENSITY)

"""Checks the links of the built site: every address is a file of it, and every heading is in that file."""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

ADDRESS = re.compile(r"""<(?:a|link|script|img)\b[^>]*?\b(?:href|src)="([^"]*)\"""")
SCHEME = re.compile(r"[a-z]+:", re.IGNORECASE)


def broken_links(folder: Path) -> Iterator[str]:
    """Return the page and the address of each link without a target."""

    @cache
    def ids(file: Path) -> frozenset[str]:
        return frozenset(map(unescape, re.findall(r'\bid="([^"]*)"', file.read_text(encoding="utf-8"))))

    for page in sorted(folder.rglob("*.html")):
        for address in map(unescape, dict.fromkeys(ADDRESS.findall(page.read_text(encoding="utf-8")))):
            path, _, heading = address.partition("#")
            if SCHEME.match(address) or not address:
                continue
            name = unquote(path.partition("?")[0])
            file = page.parent / name if name else page
            if not file.is_file() or (heading and file.suffix == ".html" and unquote(heading) not in ids(file)):
                yield f"{page.relative_to(folder)}: {address}"

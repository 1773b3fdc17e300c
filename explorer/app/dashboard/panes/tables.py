"""Plain data as HTML: tables, rows of facts, lines of text. All data is escaped."""

from collections.abc import Sequence
from html import escape

import panel as pn

from explorer_widgets.schema import SectionView, TableView
from explorer_widgets.theme import FONT

STYLE = """
:host{font:13px/1.45 FONT;color:inherit;overflow:auto}
table{border-collapse:collapse;font:inherit;color:inherit;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:3px 14px 3px 0;vertical-align:top}
th,td{border-bottom:1px solid color-mix(in srgb,currentColor 22%,transparent)}
thead th{border-bottom:2px solid color-mix(in srgb,currentColor 55%,transparent);font-weight:650}
tbody th{font-weight:500}
caption,h3{text-align:left;font-size:13px;font-weight:650;margin:0;padding:2px 0 4px}
p{margin:2px 0}
.side{display:flex;flex-wrap:wrap;gap:8px 32px;align-items:flex-start}
code,pre{font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{margin:0;white-space:pre-wrap}
.good::before{content:"✓ ";font-weight:700}.bad::before{content:"✕ ";font-weight:700}
""".replace("FONT", FONT)


def html_pane(html: str = "", **params: object) -> pn.pane.HTML:
    """A pane for markup from this module."""
    sizes = {"sizing_mode": "stretch_width", "margin": (2, 10), **params}
    return pn.pane.HTML(html, stylesheets=[STYLE], sanitize_html=False, **sizes)


def table_html(table: TableView, caption: str = "") -> str:
    """A table with row headers in its first column."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table["columns"])
    rows = "".join(f"<tr>{_row(row)}</tr>" for row in table["rows"])
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def section_html(section: SectionView, heading: bool = True) -> str:
    """A heading, rows of (name, value), and lines."""
    title = f"<h3>{escape(section['heading'])}</h3>" if heading and section["heading"] else ""
    rows = "".join(f"<tr>{_row(row)}</tr>" for row in section["rows"])
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    return title + table + lines_html(section["lines"])


def lines_html(lines: Sequence[str]) -> str:
    """One paragraph per line."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def code_html(code: str) -> str:
    """A listing of code."""
    return f'<pre tabindex="0" aria-label="Code">{escape(code)}</pre>'


def _row(row: Sequence[str]) -> str:
    first, *others = row
    return f'<th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in others)

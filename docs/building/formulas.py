"""A Sphinx extension that writes formulas as MathML: no script, no network."""

from docutils.nodes import SkipNode, math, math_block
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.writers.html5 import HTML5Translator


def formula_html(latex: str, display: str) -> str:
    """Convert a formula, `inline` or a `block`. Raises: SphinxError for a command that the converter does not know."""
    html = convert(latex.strip(), display=display)
    if "\\" in html:
        raise SphinxError(f"the formula {latex!r} cannot be shown")
    return html


def _inline(translator: HTML5Translator, node: math) -> None:
    translator.body.append(formula_html(node.astext(), "inline"))
    raise SkipNode


def _block(translator: HTML5Translator, node: math_block) -> None:
    translator.body.append(f'<div class="formula" tabindex="0">{formula_html(node.astext(), "block")}</div>')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer, which `docs/conf.py` chooses."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))  # pyright: ignore[reportArgumentType]
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The text of a lesson as HTML: markdown, formulas as MathML, code in colours. Nothing of it needs a script."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer

from explorer.errors import FileFormatError

LEFT_OVER = re.compile(r"\\[A-Za-z]+")
"""A command of LaTeX that the converter did not know stays in its result."""


def markdown_html(text: str) -> str:
    """Markdown as HTML; markup in it is shown as text, links to lessons lead to their pages.

    Raises: FileFormatError for a formula that cannot be converted.
    """
    return _reader().render(text)


def code_html(code: str) -> str:
    """Python in colours, by classes that `CODE_STYLE` knows."""
    return highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n")


def formula_html(latex: str, options: Mapping[str, Any]) -> str:
    """A formula as MathML. Raises: FileFormatError."""
    block = bool(options.get("display_mode"))
    try:
        made = convert(latex.strip(), display="block" if block else "inline")
    except Exception as error:
        raise FileFormatError(f"the formula {latex!r} cannot be shown: {type(error).__name__}: {error}") from error
    unknown = LEFT_OVER.findall(made)
    if unknown:
        raise FileFormatError(f"the formula {latex!r} cannot be shown: {', '.join(unknown)} is not known")
    return made


def plain_text(markdown: str) -> str:
    """Markdown without its marks, for a title or a list."""
    return re.sub(r"[*`$]|\[([^\]]*)\]\([^)]*\)", lambda found: found[1] or "", markdown).strip()


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Between dollars with a space inside of them stands no formula, but money: as in Jupyter.
    reader.use(dollarmath_plugin, double_inline=True, allow_space=False, renderer=formula_html)
    reader.add_render_rule("link_open", _link)
    reader.add_render_rule("fence", _fence)
    return reader


def _link(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    """A link to another lesson is one to its page; others open as they are."""
    address = str(tokens[at].attrs.get("href", ""))
    if "://" not in address:
        tokens[at].attrs["href"] = re.sub(r"\.ipynb(?=$|#)", ".html", address)
    return self.renderToken(tokens, at, options, env)


def _fence(self: Any, tokens: Sequence[Any], at: int, options: Any, env: Any) -> str:
    token = tokens[at]
    if token.info.strip() in ("python", "py"):
        return f'<pre class="code">{code_html(token.content)}</pre>\n'
    return f'<pre class="code">{escape(token.content)}</pre>\n'


_LIGHT = {"k": "#0b5a9e", "s": "#9a3412", "m": "#6b21a8", "c": "#5b6470", "f": "#8a2d6d", "d": "#7a4f00"}
_DARK = {"k": "#7cc0ff", "s": "#ffb38a", "m": "#d3b0ff", "c": "#a9b1bb", "f": "#f2a7d3", "d": "#f0cf7a"}


def _code_rules(colours: Mapping[str, str]) -> str:
    """Colours of code, 4.5:1 or more on the ground of a cell."""
    names = {
        "k": ".k,.kn,.kc,.kd,.kr,.ow",
        "s": ".s,.s1,.s2,.sa,.sd,.se,.si,.sb",
        "m": ".mi,.mf,.mh,.mb,.mo",
        "c": ".c,.c1,.ch,.cm",
        "f": ".nf,.nc,.fm",
        "d": ".nd",
    }
    return "".join(
        "".join(f".code {name}," for name in chosen.split(","))[:-1] + f"{{color:{colours[kind]}}}"
        for kind, chosen in names.items()
    )


_IN_THE_DARK = f"@media (prefers-color-scheme:dark){{{_code_rules(_DARK)}}}"
CODE_STYLE = f"{_code_rules(_LIGHT)}.code .c1{{font-style:italic}}{_IN_THE_DARK}"

"""The look of the page: its themes, its header, and its head, which sets the theme before anything is drawn."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Template
from panel.custom import ReactiveESM
from panel_material_ui.base import BASE_TEMPLATE

from explorer_widgets.theme import DARK, FONT, LIGHT

# Buttons and fields look like those of the graph.
RADIUS = 6
BUTTON = {"textTransform": "none", "borderRadius": RADIUS, "minHeight": 30, "fontWeight": 400}
# What would move without an end stands still for readers who ask for less motion.
STILL = {"@media (prefers-reduced-motion: reduce)": {"animation": "none !important"}}


def _components(roles: Mapping[str, str]) -> dict[str, Any]:
    outlined = {"color": roles["fg"], "borderColor": roles["control"], "backgroundColor": roles["panel"]}
    return {
        "MuiButton": {"styleOverrides": {"root": BUTTON, "sizeSmall": {"fontSize": 13}, "outlined": outlined}},
        "MuiToggleButton": {
            "styleOverrides": {"root": {**BUTTON, "color": "inherit", "padding": "4px 12px", "fontSize": 13}}
        },
        "MuiOutlinedInput": {"styleOverrides": {"root": {"borderRadius": RADIUS}}},
        "MuiLinearProgress": {"styleOverrides": {"bar1": STILL, "bar2": STILL}},
        "MuiSkeleton": {"styleOverrides": {"root": STILL}},
        # Menus are the lists of selects: an option, not a menu item, belongs to a list box.
        "MuiMenuItem": {"defaultProps": {"role": "option"}},
    }


THEMES = {
    name: {
        "typography": {"fontFamily": FONT, "fontSize": 13, "button": {"fontSize": 13}},
        "palette": {"primary": {"main": roles["accent"], "contrastText": roles["bg"]}},
        "components": _components(roles),
    }
    for name, roles in (("light", LIGHT), ("dark", DARK))
}
# With these two class names a Page does not restyle the controls in its header.
HEADER_STYLE = {
    ".MuiAppBar-root": {
        "bgcolor": "primary.contrastText",
        "color": "primary.main",
        "boxShadow": "none",
        "borderBottom": "1px solid",
        "borderColor": "divider",
    },
    ".MuiAppBar-root .title": {"color": "text.primary", "fontSize": "1.05rem", "whiteSpace": "nowrap"},
    ".MuiAppBar-root a": {"minHeight": 24},
    ".MuiAppBar-root .MuiToolbar-root > .MuiBox-root": {"overflowX": "auto", "paddingTop": "8px"},
    "@media (max-width: 700px)": {".MuiAppBar-root a:has(.title)": {"display": "none !important"}},
    # A Page reads `busy_indicator=None` as its default, a bar without a name that is always visible.
    ".MuiAppBar-root > .MuiLinearProgress-root": {"display": "none"},
}

# `host.js` stores the choice of the reader, under this name, and follows the system until there is one.
HEAD = """
<script>
{
  let chosen = null;
  try { chosen = localStorage.getItem("circuit-explorer-theme"); } catch { /* storage is forbidden */ }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
</script>
<style>
html[data-theme] { color-scheme: light; background: #ffffff; color: #16191d; }
html[data-theme=dark] { color-scheme: dark; background: #121212; color: #eceef1; }
/* It covers the page, which starts in the light theme. */
html[data-theme] #loader { background: inherit; }
html[data-theme] body { background: inherit; }
</style>
"""

MODULES = """
<script>
// The browser imports modules of this server itself and caches their compiled code; Panel's polyfill parses copies.
{
  const polyfill = window.importShim;
  const load = (name, ...more) =>
    name.startsWith("./") ? import(new URL(name, document.baseURI)) : polyfill(name, ...more);
  window.importShim = Object.assign(load, polyfill);
  for (const name of {{ modules | tojson }}) load(name);
}
</script>
"""


def page_template(components: Sequence[type[ReactiveESM]]) -> Template:
    """Return the template of a page with this head, which starts to load the modules of these components."""
    text = f"{{% extends base_template %}}{{% block postamble %}}{HEAD}{MODULES}{{{{ super() }}}}{{% endblock %}}"
    modules = [component._render_esm(server=True) for component in components]
    return BASE_TEMPLATE.environment.from_string(text, globals={"base_template": BASE_TEMPLATE, "modules": modules})

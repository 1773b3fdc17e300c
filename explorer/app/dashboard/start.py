"""The head of the page: it sets the theme before anything is drawn, so that a loading page is not white in the dark."""

from jinja2 import Template
from panel.io.resources import BASE_TEMPLATE

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


def page_template() -> Template:
    """Return the template of a page with this head."""
    text = f"{{% extends base_template %}}{{% block postamble %}}{HEAD}{{{{ super() }}}}{{% endblock %}}"
    return BASE_TEMPLATE.environment.from_string(text, globals={"base_template": BASE_TEMPLATE})

"""Settings of Sphinx for the site; `make site` prepares its sources and runs it (`docs/building/`)."""

import explorer

project = "Circuit Explorer"
version = release = explorer.__version__
copyright = "Circuit Explorer contributors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",  # without napoleon: our docstrings have no sections, and it splits them at colons
    "sphinx_copybutton",
    "docs.building.formulas",
    "docs.building.glossary",
    "docs.building.names",
]
suppress_warnings = ["mystnb.unknown_mime_type"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_allow_space = False
nb_execution_mode = "off"  # docs/building/lessons.py runs them, with the recorder of their pictures

html_math_renderer = "mathml"
html_theme = "furo"
html_title = project
html_css_files = ["site.css", "cards.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a browser refuses from disk
html_theme_options = {"navigation_with_keys": False}  # Left and Right step the pictures

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
nitpicky = True

"""Draw pictures of plain data in Jupyter, in the dashboard and in a stand-alone page.

Importing this loads no host: `explorer_widgets.jupyter` needs anywidget, `explorer_widgets.dashboard` needs panel, and
`explorer_widgets.page` needs nothing.
"""

from explorer_widgets.page import page_html as page_html

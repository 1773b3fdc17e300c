"""Draw pictures of plain data in Jupyter, in the dashboard and in a stand-alone page.

Importing this loads no host: `widgets.jupyter` needs anywidget, `widgets.dashboard` panel, `widgets.page` nothing.
"""

from widgets.page import page_html as page_html

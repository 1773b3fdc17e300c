"""The hosts and the drawing: one picture of plain data in Jupyter, in the dashboard and in a page of its own.

Importing this loads no host: `widgets.jupyter` needs anywidget, `widgets.dashboard` panel, `widgets.page` nothing.
"""

from widgets.page import page_html

__all__ = ["page_html"]

"""The dashboard for Panel's own command: `panel serve explorer/app/dashboard`."""

import panel as pn

from explorer.app.dashboard.page import make_page
from explorer.app.session.library import Library

pn.extension()
make_page(Library()).servable()

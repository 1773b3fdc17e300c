"""The dashboard for Panel's own command: `panel serve explorer/app/dashboard`."""

import panel as pn

from explorer.app.dashboard.page import make_page, new_library

pn.extension()
make_page(new_library()).servable()

"""The gate for `panel serve explorer/app/dashboard`: Bokeh executes this file before it makes the server."""

import bokeh.server.server

from explorer.app.dashboard.gate import GuardedTornado

bokeh.server.server.BokehTornado = GuardedTornado  # pyright: ignore[reportPrivateImportUsage] (as Panel does)

"""The gate and the log for `panel serve explorer/app/dashboard`: Bokeh executes this before it makes the server."""

import bokeh.server.server

from explorer.app.dashboard.gate import GuardedTornado, limit_logs

bokeh.server.server.BokehTornado = GuardedTornado  # pyright: ignore[reportPrivateImportUsage] (as Panel does)
limit_logs()

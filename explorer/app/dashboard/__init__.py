"""The dashboard: page, panes, background jobs, server; `main.py` is for `panel serve explorer/app/dashboard`."""

from explorer.packages import UI, require

require("the dashboard", "ui", *UI)

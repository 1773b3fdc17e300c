"""The course as HTML pages: run the notebooks, convert them, record what their widgets display."""

from explorer.packages import COURSE, require

require("the course", "ui", *COURSE)

"""The course as HTML pages: run the notebooks, convert them, record what their widgets display."""

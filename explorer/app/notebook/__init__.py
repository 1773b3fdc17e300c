"""`explorer.show` and `explorer.ask`, and what a saved notebook displays without a kernel."""

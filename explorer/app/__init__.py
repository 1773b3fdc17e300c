"""The application: commands, dashboard, notebook views, training.

Import names from the modules that define them, so that `circuit-explorer --help` loads neither torch nor numpy.
"""

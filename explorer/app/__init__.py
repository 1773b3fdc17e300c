"""The application: command line, data sets, training, checkpoints.

Names are imported from the files themselves, so that `circuit-explorer --help` loads neither torch nor numpy.
"""

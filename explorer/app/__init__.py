"""The application: command line, data sets, training, checkpoints."""

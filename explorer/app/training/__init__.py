"""Jobs of `train` and `evaluate`: a circuit, data, where training starts, and checkpoints."""

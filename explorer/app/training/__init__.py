"""Training a circuit on images: data sets, the training loop, checkpoints."""

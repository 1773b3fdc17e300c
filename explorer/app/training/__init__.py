"""Training a circuit on images: data sets, the training loop, evaluation, checkpoints; in one process or several."""

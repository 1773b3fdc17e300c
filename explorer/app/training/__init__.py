"""What `train` and `evaluate` are asked for, checkpoints, and what distributed processes do when one is lost."""

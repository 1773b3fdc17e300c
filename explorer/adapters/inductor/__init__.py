"""The adapter of Inductor, the compiler behind `torch.compile`."""

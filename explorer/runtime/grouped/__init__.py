"""Kernel calls in groups, which PyTorch evaluates: one batched operator for all calls of a group."""

"""Units in groups, which PyTorch evaluates: one batched operator for all units of a group."""

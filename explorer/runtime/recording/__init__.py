"""Recording what passes do to kernel calls: `explorer.record(circuit, level="kernels")`."""

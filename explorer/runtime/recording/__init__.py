"""Recording what passes do to units: `explorer.record(circuit, level="kernels")`."""

"""Recording how a tensor graph is rewritten."""

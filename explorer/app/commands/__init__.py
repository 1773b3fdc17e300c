"""The commands of `circuit-explorer`, one per file."""

"""The commands of `circuit-explorer`, one file each."""

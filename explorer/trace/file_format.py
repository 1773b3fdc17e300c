"""The name and version of trace files."""

FORMAT = "circuit-explorer trace"
VERSION = 1

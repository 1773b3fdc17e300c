"""The name and version of trace files."""

TRACE_FORMAT = "circuit-explorer trace"
VERSION = 2

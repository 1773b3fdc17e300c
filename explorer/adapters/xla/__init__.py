"""Watching XLA: dumps of HLO text, and the log of its fusion passes, as a trace."""

from explorer.adapters.xla.recording import watch_xla as watch_xla

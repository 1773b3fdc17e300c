"""Watching the compilers that people use: `explorer.watch` and `explorer.watching`."""

from explorer.adapters.watching import record_watched as record_watched, watch as watch, watching as watching

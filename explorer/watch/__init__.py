"""Watching the compilers that people use: `explorer.watch` and `explorer.watching`."""

from explorer.watch.watching import watch as watch, watching as watching

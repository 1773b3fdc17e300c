"""Circuit Explorer: a compiler for probabilistic circuits that you can watch."""

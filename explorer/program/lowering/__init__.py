"""From a tensor graph to a program."""

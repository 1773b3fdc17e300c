"""Recording what passes do to a program."""

"""Execution of programs, and the modules that run them."""

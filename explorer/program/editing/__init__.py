"""Changing a program: what a rule asks for, and the driver that does it and reports it."""

"""Lifetimes of the buffers of a program, and their memory."""

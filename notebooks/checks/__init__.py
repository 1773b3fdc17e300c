"""Checks of the exercises: one module per lesson."""

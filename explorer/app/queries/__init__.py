"""Queries of a circuit, for the commands and the dashboard: variables by name, kinds of queries, and what they find."""

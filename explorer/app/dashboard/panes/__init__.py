"""The panes of the dashboard: small views over one session, each in a file of its own.

A tool of the drawer is a subclass of `Tool`; to add one, write it and name it in `tools.py`.
"""

"""The panes of the dashboard: small views of one session, one per file.

A tool of the drawer is a subclass of `Tool`; to add one, write it and add it to `tools.py`.
"""

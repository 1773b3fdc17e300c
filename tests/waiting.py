"""How long tests wait for what does come."""

PATIENCE = 300
"""Seconds until a test gives up on a thread, process or message. Only a defect takes so long."""

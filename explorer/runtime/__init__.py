"""How circuits run fast."""

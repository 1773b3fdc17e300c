"""Programs: instructions, buffers, text and invariants."""
